"""One row per thing the API can do; the routes are made from these, and so is what describes them."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import field
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from holdfast.app.local import BadRequest, Verb
from holdfast.app.shown import Json
from holdfast.records import dataclass

from .faults import Fault, answer_to

LONGEST_BODY = 1_100_000
"""Bytes of a request as JSON; a message may have a million characters at the most."""

Run = Callable[..., Coroutine[Any, Any, Json]]
Handler = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Way:
    """One method on one path: what it is given, by name and type (`?`: may be left out), and what it does.

    Types are those of the local API: text, texts, number, flag.
    """

    method: str
    path: str
    words: str
    """What it does, in a sentence."""
    run: Run | None = None
    """Called with everything that was given; its answer is the body."""
    handler: Handler | None = None
    """For what is not JSON in and JSON out."""
    query: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, str] | None = None
    status: int = 200
    answer: Json = field(default_factory=dict)
    """The schema of the answer."""
    media_type: str = "application/json"
    takes: str | None = None
    """The media type of a body that is not JSON."""
    refuses: tuple[str, ...] = ()
    """Codes of faults that are its own, beyond those that every way has."""

    @property
    def names(self) -> dict[str, str]:
        """What stands in the path, with its type."""
        parts = [part[1:-1] for part in self.path.split("/") if part.startswith("{")]
        return {name.partition(":")[0]: "number" if ":int" in name else "text" for name in parts}

    def route(self) -> Route:
        return Route(self.path, self._answer, methods=[self.method])

    async def _answer(self, request: Request) -> Response:
        try:
            if self.handler is not None:
                return await self.handler(request)
            assert self.run is not None
            return JSONResponse(await self.run(**await self._given(request)), self.status)
        except ClientDisconnect:
            return Response(status_code=400)
        except Exception as fault:  # noqa: BLE001 - the boundary to whoever asks: the fault is the answer
            return answer_to(fault)

    async def _given(self, request: Request) -> Json:
        asked = given_in_url(request, {**self.names, **self.query})
        if self.body is not None:
            said = await json_of(request, LONGEST_BODY)
            Verb(self.body).check(said)
            asked |= said
        return {name: value for name, value in asked.items() if value is not None}


def given_in_url(request: Request, kinds: Mapping[str, str]) -> Json:
    """What path and query say, read as what they are to be; anything else is a bad request."""
    given: Json = dict(request.path_params)
    for name, value in request.query_params.multi_items():
        if name in given:
            raise BadRequest(f"{name} is given twice")
        given[name] = value
    read = {name: _read(kinds.get(name, "text").rstrip("?"), value) for name, value in given.items()}
    Verb(kinds).check(read)
    return read


def _read(kind: str, value: object) -> object:
    if not isinstance(value, str):
        return value
    if kind == "number" and value.isascii() and value.isdigit() and len(value) < 20:
        return int(value)
    if kind == "flag":
        return {"true": True, "false": False}.get(value, value)
    return value


async def bytes_of(request: Request, most: int) -> bytes:
    """The body, as long as it is not too large; nothing more of it is read then."""
    length = request.headers.get("content-length", "0")
    found = bytearray()
    if not length.isdigit() or int(length) <= most:
        async for chunk in request.stream():
            found += chunk
            if len(found) > most:
                break
        else:
            return bytes(found)
    raise Fault("too_large", f"a body here has at most {most} bytes", {"Connection": "close"})


async def json_of(request: Request, most: int) -> Json:
    body = await bytes_of(request, most)
    try:
        found = json.loads(body)
        # What is half of a character cannot be kept.
        json.dumps(found, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise BadRequest("the body is one JSON object") from None
    if not isinstance(found, dict):
        raise BadRequest("the body is one JSON object")
    return found
