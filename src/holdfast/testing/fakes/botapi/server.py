"""The Bot API over HTTP, on a port of this machine."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from .calls import ApiAnswer, carry_out, content_at, refusal
from .core import BotApi
from .errors import ApiError
from .faults import CutAfter, LostRequest, NoRanges
from .params import params_of

_RANGE = re.compile(r"bytes=([0-9]+)-([0-9]*)")
_WAITING = 128


class Wires:
    """The open connections, so that the server can cut one."""

    def __init__(self) -> None:
        self._open: dict[object, asyncio.Transport] = {}

    def add(self, transport: asyncio.Transport) -> None:
        self._open[tuple(transport.get_extra_info("peername"))] = transport

    def remove(self, transport: asyncio.Transport) -> None:
        self._open = {who: one for who, one in self._open.items() if one is not transport}

    def of(self, scope: Scope) -> asyncio.Transport | None:
        """The connection; None if it is already gone."""
        return self._open.get(tuple(scope["client"]))

    def cut_all(self) -> None:
        for transport in list(self._open.values()):
            transport.abort()


class _Cut(Response):
    """No answer: the connection is cut, after the first bytes of an answer if there are any."""

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
    """The API as an application; `wires` must belong to the server that runs it."""
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
        """Answer one request of the bot, with the planned faults."""
        try:
            params = await params_of(request)
        except ApiError as error:
            return _response(refusal(error))
        path = request.path_params
        answer = await carry_out(self._api, str(path["token"]), str(path["method"]), params)
        return _Cut(self._wires) if answer is None else _response(answer)

    async def download(self, request: Request) -> Response:
        """A file by the path that `getFile` gave: all of it or the requested range."""
        path = str(request.path_params["path"])
        asked = self._api.begin("download", {"path": path, "range": request.headers.get("range", "")}, {})
        effect = self._api.faults.hits("download", None)
        if isinstance(effect, LostRequest):
            self._api.end(asked, "lost request", 0)
            return _Cut(self._wires)
        try:
            content = content_at(self._api, str(request.path_params["token"]), path)
        except ApiError as error:
            self._api.end(asked, "answered", error.code, error.words)
            return _response(refusal(error))
        if isinstance(effect, CutAfter):
            self._api.end(asked, "lost answer", 200)
            return _Cut(self._wires, content[: effect.size], len(content))
        wanted = "" if isinstance(effect, NoRanges) else request.headers.get("range", "")
        answer = _ranged(content, wanted)
        self._api.end(asked, "answered", answer.status_code)
        return answer


def _response(answer: ApiAnswer) -> JSONResponse:
    return JSONResponse(answer.body, answer.code)


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
    """A server that leaves signals to the process it runs in."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def serving(
    api: BotApi, port: int = 0, more: tuple[Route, ...] = (), host: str = "127.0.0.1"
) -> AsyncIterator[str]:
    """Serve the API in this loop, with webhook delivery; yields the address for clients."""
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
            # A poll only loses the connection: it must not read that another bot took over.
            wires.cut_all()
            api.updates.stop_polling("the end of the server")
            tasks[1].cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
