"""The Bot API over HTTP, on a port of this machine."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from inspect import isawaitable

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from .core import Asked, BotApi
from .errors import ApiError, not_found, too_many
from .faults import Broken, CutAfter, Effect, Flood, LostAnswer, LostRequest, NoRanges, Slow
from .methods import METHODS, SAYING
from .params import Params, params_of

_BROKEN = {
    500: "Internal Server Error",
    502: "Bad Gateway",
    503: "Service Unavailable",
    504: "Gateway Timeout",
}
_RANGE = re.compile(r"bytes=([0-9]+)-([0-9]*)")
_WAITING = 128


class Wires:
    """The connections that are open, so that one can be cut."""

    def __init__(self) -> None:
        self._open: dict[object, asyncio.Transport] = {}

    def add(self, transport: asyncio.Transport) -> None:
        self._open[tuple(transport.get_extra_info("peername"))] = transport

    def remove(self, transport: asyncio.Transport) -> None:
        self._open = {who: one for who, one in self._open.items() if one is not transport}

    def of(self, scope: Scope) -> asyncio.Transport | None:
        """None if it is gone already."""
        return self._open.get(tuple(scope["client"]))

    def cut_all(self) -> None:
        for transport in list(self._open.values()):
            transport.abort()


class _Cut(Response):
    """No answer: the connection is gone, after the first bytes of one if there are any."""

    def __init__(self, wires: Wires, begun: bytes = b"", of: int = 0) -> None:
        super().__init__()
        self._wires, self._begun, self._of = wires, begun, of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        wire = self._wires.of(scope)
        if wire is None:
            return
        if self._of:
            headers = [(b"content-length", str(self._of).encode())]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": self._begun, "more_body": True})
            wire.close()
        else:
            wire.abort()
        while (await receive())["type"] != "http.disconnect":
            pass


def application(api: BotApi, wires: Wires, more: tuple[Route, ...] = ()) -> Starlette:
    """The API as an application; wires have to be those it is served on."""
    door = _Door(api, wires)
    return Starlette(
        routes=[
            Route("/bot{token}/{method}", door.call, methods=["GET", "POST"]),
            Route("/file/bot{token}/{path:path}", door.download),
            *more,
        ]
    )


class _Door:
    def __init__(self, api: BotApi, wires: Wires) -> None:
        self._api = api
        self._wires = wires

    async def call(self, request: Request) -> Response:
        """One request of the bot, and whatever shall happen to it."""
        name = str(request.path_params["method"])
        try:
            params = await params_of(request)
        except ApiError as error:
            return _refusal(error)
        sizes = {field: len(upload.content) for field, upload in params.files.items()}
        asked = self._api.begin(name, params.values, sizes)
        effect = self._api.faults.hits(name, params.optional("chat_id"))
        if isinstance(effect, LostRequest):
            self._api.end(asked, "lost request", 0)
            return _Cut(self._wires)
        answer = await self._answer(request, asked, params, effect)
        outcome = "lost answer" if isinstance(effect, LostAnswer) else "answered"
        if isinstance(effect, Slow):
            await self._api.clock.sleep(effect.seconds)
        self._api.end(asked, outcome, asked.code, asked.words, asked.result)
        return _Cut(self._wires) if isinstance(effect, LostAnswer) else answer

    async def _answer(
        self, request: Request, asked: Asked, params: Params, effect: Effect | None
    ) -> JSONResponse:
        try:
            self._api.check(str(request.path_params["token"]))
            asked.result = await self._done(asked, params, effect)
        except ApiError as error:
            asked.code, asked.words = error.code, error.words
            return _refusal(error)
        asked.code = 200
        return JSONResponse({"ok": True, "result": asked.result})

    async def _done(self, asked: Asked, params: Params, effect: Effect | None) -> object:
        name = asked.method.lower()
        method = METHODS.get(name)
        if method is None:
            raise ApiError(404, "Not Found: method not found")
        if isinstance(effect, Flood):
            raise too_many(effect.seconds)
        if isinstance(effect, Broken):
            raise ApiError(effect.code, _BROKEN.get(effect.code, "Internal Server Error"))
        if name in SAYING:
            wait = self._api.limits.wait(self._api.now, params.number("chat_id"))
            if wait:
                raise too_many(wait)
        with self._api.on_behalf_of(asked):
            result = method(self._api, params)
        return await result if isawaitable(result) else result

    async def download(self, request: Request) -> Response:
        """A file by the path that `getFile` gave, all of it or the range that is asked for."""
        path = str(request.path_params["path"])
        asked = self._api.begin("download", {"path": path, "range": request.headers.get("range", "")}, {})
        effect = self._api.faults.hits("download", None)
        if isinstance(effect, LostRequest):
            self._api.end(asked, "lost request", 0)
            return _Cut(self._wires)
        try:
            self._api.check(str(request.path_params["token"]))
            content = self._content(path)
        except ApiError as error:
            self._api.end(asked, "answered", error.code, error.words)
            return _refusal(error)
        if isinstance(effect, CutAfter):
            self._api.end(asked, "lost answer", 200)
            return _Cut(self._wires, content[: effect.size], len(content))
        wanted = "" if isinstance(effect, NoRanges) else request.headers.get("range", "")
        answer = _ranged(content, wanted)
        self._api.end(asked, "answered", answer.status_code)
        return answer

    def _content(self, path: str) -> bytes:
        file_id, until = self._api.links.get(path, ("", 0))
        if self._api.now >= until:
            raise not_found()
        return self._api.world.files[file_id].content


def _refusal(error: ApiError) -> JSONResponse:
    answer: dict[str, object] = {"ok": False, "error_code": error.code, "description": error.words}
    if error.parameters:
        answer["parameters"] = error.parameters
    return JSONResponse(answer, error.code)


def _ranged(content: bytes, wanted: str) -> Response:
    found = _RANGE.fullmatch(wanted)
    if found is None:
        return Response(content, media_type="application/octet-stream", headers={"Accept-Ranges": "bytes"})
    first, last = int(found[1]), int(found[2] or len(content) - 1)
    if first >= len(content):
        return Response(status_code=416, headers={"Content-Range": f"bytes */{len(content)}"})
    last = min(last, len(content) - 1)
    headers = {"Content-Range": f"bytes {first}-{last}/{len(content)}", "Accept-Ranges": "bytes"}
    return Response(content[first : last + 1], 206, headers, "application/octet-stream")


class _Server(uvicorn.Server):
    """Leaves signals to the process it runs in."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def serving(
    api: BotApi, port: int = 0, more: tuple[Route, ...] = (), host: str = "127.0.0.1"
) -> AsyncIterator[str]:
    """Serve it in this loop, webhook delivery included; gives the address that a client is told."""
    wires = Wires()

    class Wired(H11Protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as there
            wires.add(transport)
            super().connection_made(transport)

        def connection_lost(self, exc: Exception | None) -> None:
            wires.remove(self.transport)
            super().connection_lost(exc)

    with socket.create_server((host, port), backlog=_WAITING) as listening:
        server = _Server(
            uvicorn.Config(
                application(api, wires, more),
                http=Wired,
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="critical",
                access_log=False,
                timeout_graceful_shutdown=1,
            )
        )
        tasks = [
            asyncio.ensure_future(server.serve([listening])),
            asyncio.ensure_future(api.deliverer.work()),
        ]
        try:
            yield f"http://{host}:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            # Nobody shall be told that another bot took over: they only lose the connection.
            wires.cut_all()
            api.updates.stop_polling("the end of the server")
            tasks[1].cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
