"""One row for each operation of the API; the routes and their description are made from these rows.

Most rows are a verb of the local API under a path. The local API defines its arguments, its checks and its
effect.
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
"""The most bytes of a JSON request: a message of a million characters can need four million bytes."""
_READ_AT_MOST = 8
"""A body larger than this many times the limit is not read to its end: the gateway cuts the connection."""
_STOPPING = "the gateway is stopping and may not have kept this; the same event_id again keeps it once"
_LONGEST_KIND = 60
_WANTED = "the body must be one JSON object"
_IN_BODY = ("POST", "PATCH", "PUT")

_KINDS_IN_PATH = {"chat": "chat"}
"""The kinds of a handler's path arguments that are not plain text."""

Handler = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class ApiRoute:
    """One method on one path."""

    method: str
    path: str
    words: str
    """One sentence for the description: what it does."""
    verb: Operation | None = None
    """The verb that this route runs, with the arguments from path, query and body."""
    handler: Handler | None = None
    """Instead of a verb, for a route that takes or gives more than JSON."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Names in the path that differ from the verb's argument, with that argument."""
    without: tuple[str, ...] = ()
    """Arguments of the verb that this route does not take."""
    query: Mapping[str, str] = field(default_factory=dict)
    """A handler's arguments in the query, by name and kind."""
    status: int = 200
    answer: str = "Object"
    """The name of the answer's schema, or its media type when it is not JSON."""
    takes: str | None = None
    """The media type of a body that is not JSON."""
    is_open: bool = False
    """Whether it works without a sign-in."""

    @property
    def in_path(self) -> dict[str, str]:
        """The arguments in the path, with their kinds."""
        parts = [part[1:-1] for part in self.path.split("/") if part.startswith("{")]
        return {name: self._kind(name) for name in parts}

    @property
    def in_query(self) -> dict[str, str]:
        return dict(self.query) if self.method in _IN_BODY or self.verb is None else self._rest()

    @property
    def in_body(self) -> dict[str, str] | None:
        """The members of a JSON body; None for a route without one."""
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
            return JSONResponse(await self.verb.run(await self._arguments(request)), self.status)
        except ClientDisconnect:
            return Response(status_code=400)
        except asyncio.CancelledError:
            # Only a stop cancels a request, after it has waited its time for the answer.
            return answer_to(HttpError("try_again", _STOPPING))
        except Exception as fault:  # noqa: BLE001 - the boundary to the client: the fault is the answer
            return answer_to(fault)

    async def _arguments(self, request: Request) -> Json:
        asked = self.given_in_url(request)
        if self.in_body is not None:
            said = await json_of(request, LONGEST_BODY)
            check(self.in_body, said)
            asked |= said
        return {self.names.get(name, name): value for name, value in asked.items()}

    def given_in_url(self, request: Request) -> Json:
        """The arguments from path and query in their kinds; raises `BadRequest` for anything else."""
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
    """The body; raises `HttpError` if it is too large.

    A body that is too large is read to its end and not kept: a client that still sends would miss the answer.
    """
    found, length = bytearray(), 0
    async for chunk in request.stream():
        length += len(chunk)
        if length <= most:
            found += chunk
        elif length > _READ_AT_MOST * most:
            break
    if length > most:
        words = f"the body is too large: at most {most} bytes are allowed; nothing of it was kept"
        raise HttpError("too_large", words, {"Connection": "close"})
    return bytes(found)


async def json_of(request: Request, most: int) -> Json:
    """The body as one JSON object; an empty body counts as an empty object."""
    body = await bytes_of(request, most)
    try:
        found = json.loads(body or b"{}")
        # A text with half of a surrogate pair cannot be stored.
        json.dumps(found, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as fault:
        kind = request.headers.get("content-type", "no type").partition(";")[0][:_LONGEST_KIND]
        raise BadRequest(f"{_WANTED}; this ({kind}) is not JSON: {_parse_error(fault)}") from None
    if not isinstance(found, dict):
        raise BadRequest(f"{_WANTED}; this is {'a list' if isinstance(found, list) else 'a bare value'}")
    return found


def _parse_error(fault: Exception) -> str:
    if isinstance(fault, json.JSONDecodeError):
        return f"{fault.msg}, line {fault.lineno}, column {fault.colno}"
    if isinstance(fault, UnicodeError):
        return "not all of it is UTF-8 text"
    return "it is nested too deeply"
