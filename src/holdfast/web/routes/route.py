"""One row per thing the API can do: the routes are made from these rows, and so is what describes them.

Most of them are a verb of the local API under a path: what it is given, how that is checked and what it does
stands there.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from holdfast.api.arguments import Operation, check
from holdfast.api.to_json import Json
from holdfast.errors import BadRequest
from holdfast.records import dataclass
from holdfast.web.errors import HttpError, answer_to

LONGEST_BODY = 4_500_000
"""Bytes of a request as JSON: a message of a million characters may take four times as many."""
_PATIENCE = 8
"""How many times too large a body may be before the connection is cut in the middle of it."""
_CUT_OFF = "the gateway stops; whether this was kept is not known, and the same event_id again keeps it once"
_LONGEST_KIND = 60
_WANTED = "the body is to be one JSON object"
_IN_BODY = ("POST", "PATCH", "PUT")

_KINDS_IN_PATH = {"chat": "chat"}
"""Of what a handler finds in the path, unless it is any text."""

Handler = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class ApiRoute:
    """One method on one path."""

    method: str
    path: str
    words: str
    """What it does, in a sentence."""
    verb: Operation | None = None
    """What is asked of the gateway, with what stands in path, query and body; its answer is ours."""
    handler: Handler | None = None
    """For what is more than JSON in and JSON out."""
    names: Mapping[str, str] = field(default_factory=dict)
    """What stands in the path under another name than the verb knows."""
    without: tuple[str, ...] = ()
    """Arguments of the verb that nobody is asked for here."""
    query: Mapping[str, str] = field(default_factory=dict)
    """What a handler reads from the query, by name and type."""
    status: int = 200
    answer: str = "Object"
    """The name of the answer's schema, or its media type when it is not JSON."""
    takes: str | None = None
    """The media type of a body that is not JSON."""
    is_open: bool = False
    """Whether nobody needs to be signed in."""

    @property
    def in_path(self) -> dict[str, str]:
        """What stands in the path, with its type."""
        parts = [part[1:-1] for part in self.path.split("/") if part.startswith("{")]
        return {name: self._kind(name) for name in parts}

    @property
    def in_query(self) -> dict[str, str]:
        return dict(self.query) if self.method in _IN_BODY or self.verb is None else self._rest()

    @property
    def in_body(self) -> dict[str, str] | None:
        """The members of a body that is JSON; None when there is none."""
        return self._rest() if self.method in _IN_BODY and self.verb is not None else None

    def _kind(self, name: str) -> str:
        known = self.verb.arguments if self.verb is not None else _KINDS_IN_PATH
        return known.get(self.names.get(name, name), "text").rstrip("?")

    def _rest(self) -> dict[str, str]:
        assert self.verb is not None
        here = {self.names.get(name, name) for name in self.in_path} | set(self.without)
        return {name: kind for name, kind in self.verb.arguments.items() if name not in here}

    def route(self) -> Route:
        return Route(self.path, self._answer, methods=[self.method])

    async def _answer(self, request: Request) -> Response:
        try:
            if self.handler is not None:
                return await self.handler(request)
            assert self.verb is not None
            return JSONResponse(await self.verb.run(await self._given(request)), self.status)
        except ClientDisconnect:
            return Response(status_code=400)
        except asyncio.CancelledError:
            # By nobody but a stop that has waited long enough, and it waits no more.
            return answer_to(HttpError("try_again", _CUT_OFF))
        except Exception as fault:  # noqa: BLE001 - the boundary to whoever asks: the fault is the answer
            return answer_to(fault)

    async def _given(self, request: Request) -> Json:
        asked = self.given_in_url(request)
        if self.in_body is not None:
            said = await json_of(request, LONGEST_BODY)
            check(self.in_body, said)
            asked |= said
        return {self.names.get(name, name): value for name, value in asked.items()}

    def given_in_url(self, request: Request) -> Json:
        """What path and query say, read as what they are to be; anything else is a bad request."""
        kinds = {**self.in_path, **self.in_query}
        given: Json = dict(request.path_params)
        for name, value in request.query_params.multi_items():
            if name in given:
                raise BadRequest(f"{name} is given twice")
            given[name] = value
        read = {name: _read(kinds.get(name, "text").rstrip("?"), value) for name, value in given.items()}
        check(kinds, read)
        return read


def _read(kind: str, value: object) -> object:
    if not isinstance(value, str):
        return value
    if kind in ("number", "count") and value.isascii() and value.isdigit() and len(value) < 20:
        return int(value)
    if kind == "flag":
        return {"true": True, "false": False}.get(value, value)
    return value


async def bytes_of(request: Request, most: int) -> bytes:
    """The body, as long as it is not too large.

    What is too large is read to its end, and kept nowhere: who is still sending would not hear our answer.
    """
    found, length = bytearray(), 0
    async for chunk in request.stream():
        length += len(chunk)
        if length <= most:
            found += chunk
        elif length > _PATIENCE * most:
            break
    if length > most:
        words = f"a body here has at most {most} bytes; nothing of this one was kept"
        raise HttpError("too_large", words, {"Connection": "close"})
    return bytes(found)


async def json_of(request: Request, most: int) -> Json:
    """The body as one JSON object; no body at all is an empty one."""
    body = await bytes_of(request, most)
    try:
        found = json.loads(body or b"{}")
        # What is half of a character cannot be kept.
        json.dumps(found, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as fault:
        kind = request.headers.get("content-type", "no type").partition(";")[0][:_LONGEST_KIND]
        raise BadRequest(f"{_WANTED}; this ({kind}) is not JSON: {_why(fault)}") from None
    if not isinstance(found, dict):
        raise BadRequest(f"{_WANTED}; this is {'a list' if isinstance(found, list) else 'a bare value'}")
    return found


def _why(fault: Exception) -> str:
    if isinstance(fault, json.JSONDecodeError):
        return f"{fault.msg}, line {fault.lineno}, column {fault.colno}"
    if isinstance(fault, UnicodeError):
        return "not all of it is UTF-8 text"
    return "it is nested too deeply"
