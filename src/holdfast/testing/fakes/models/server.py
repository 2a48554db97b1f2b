"""The server: both protocols on one port of this machine, with faults on demand."""

from __future__ import annotations

import asyncio
import json
import socket
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import replace
from types import TracebackType
from typing import Self

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from holdfast.clock import Clock, SystemClock
from holdfast.records import dataclass

from .anthropic import ANTHROPIC
from .conversation import Call, Json, ModelAnswer, Protocol, RequestRefused, tokens
from .faults import STATUSES, FaultKind, ModelFault
from .openai import OPENAI
from .script import Brain, Scripted

_KEPT = 1_000
_BEFORE_THE_BREAK = 2
"""Pieces of an answer before it breaks off."""


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """The options of the server."""

    brain: Brain = Scripted()
    key: str | None = None
    """The key that callers must send, if any."""
    models: tuple[str, ...] | None = None
    """The known models; None: any model."""
    context: int = 1_000_000
    """Tokens that one request may have."""
    pace: float = 0.0
    """Seconds between two pieces of an answer."""


class ModelServer:
    """Serves on a port of this machine inside `async with`; `faults` hit the next requests, in order."""

    def __init__(
        self, serving: ServeOptions | None = None, port: int = 0, clock: Clock | None = None
    ) -> None:
        self.serving = serving or ServeOptions()
        self.faults: deque[ModelFault] = deque()
        self.requests: deque[Json] = deque(maxlen=_KEPT)
        """All requests, newest last, also the refused ones."""
        self.asked = asyncio.Event()
        """Set whenever a request comes."""
        self.answered = 0
        """Answers that went out completely."""
        self._clock = clock or SystemClock()
        self._port = port
        self._running: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        """The address for the messages protocol; the other protocol adds `/v1`."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def openai_url(self) -> str:
        return f"{self.url}/v1"

    async def __aenter__(self) -> Self:
        listening = socket.create_server(("127.0.0.1", self._port))
        self._port = listening.getsockname()[1]
        config = uvicorn.Config(
            self.application(), log_level="critical", lifespan="off", timeout_graceful_shutdown=1
        )
        self._server = uvicorn.Server(config)
        # The server leaves the signals of this process alone.
        self._running = asyncio.ensure_future(self._server._serve([listening]))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._running is not None
        self._server.should_exit = True
        await self._running

    def application(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/v1/chat/completions", self._completions, methods=["POST"]),
                Route("/v1/messages", self._messages, methods=["POST"]),
                Route("/v1/models", self._models),
                Route("/faults", self._take_faults, methods=["POST"]),
                Route("/requests", self._show_requests),
            ]
        )

    async def _models(self, request: Request) -> Response:
        names = self.serving.models or ("scripted",)
        return JSONResponse({"object": "list", "data": [{"id": name, "object": "model"} for name in names]})

    async def _take_faults(self, request: Request) -> Response:
        """Take faults from outside this process: a list of kinds, or of objects that also have `seconds`."""
        for one in await request.json():
            self.faults.append(
                ModelFault(FaultKind(one))
                if isinstance(one, str)
                else ModelFault(FaultKind(one["kind"]), one["seconds"])
            )
        return JSONResponse({"waiting": len(self.faults)})

    async def _show_requests(self, request: Request) -> Response:
        return JSONResponse({"requests": list(self.requests), "answered": self.answered})

    async def _completions(self, request: Request) -> Response:
        return await self._serve(OPENAI, await request.json(), _key(request))

    async def _messages(self, request: Request) -> Response:
        return await self._serve(
            ANTHROPIC, await request.json(), request.headers.get("x-api-key") or _key(request)
        )

    async def _serve(self, protocol: Protocol, body: Json, key: str) -> Response:
        self.requests.append(body)
        self.asked.set()
        fault = self.faults.popleft() if self.faults else None
        if fault is not None and fault.kind in STATUSES:
            status, code, words = STATUSES[fault.kind]
            return _refusal(protocol, words.format(key=key), code, status, fault)
        try:
            answer = self._answer(protocol, body, key, fault)
        except RequestRefused as refused:
            return _refusal(protocol, str(refused), refused.code, refused.status)
        return _Streamed(self._events(protocol, body, answer, fault), fault, self._clock)

    def _answer(self, protocol: Protocol, body: Json, key: str, fault: ModelFault | None) -> ModelAnswer:
        serving, used = self.serving, tokens(body)
        if serving.key is not None and key != serving.key:
            raise RequestRefused(f"Incorrect API key provided: {key}.", "invalid_api_key", 401)
        if serving.models is not None and body.get("model") not in serving.models:
            raise RequestRefused(f"The model `{body.get('model')}` does not exist.", "model_not_found", 404)
        if used > serving.context or (fault is not None and fault.kind is FaultKind.OVERFLOW):
            words = f"prompt is too long: {used} tokens > {serving.context} maximum context length"
            raise RequestRefused(words, protocol.overflow)
        return _spoilt(serving.brain(protocol.read(body)), fault)

    async def _events(
        self, protocol: Protocol, body: Json, answer: ModelAnswer, fault: ModelFault | None
    ) -> AsyncIterator[str]:
        """The stream as it goes out; raises `_Broken` where it breaks off."""
        kind = fault.kind if fault else None
        left = _BEFORE_THE_BREAK
        if kind is FaultKind.CUT_EARLY:
            raise _Broken
        for event in protocol.events(answer, body, tokens(body), kind):
            if event is not None:
                yield protocol.sse(event)
                if self.serving.pace:
                    await self._clock.sleep(self.serving.pace)
                continue
            left -= 1
            if left == 0 and kind is FaultKind.CUT:
                raise _Broken
            if left == 0 and kind is FaultKind.ERROR_INSIDE:
                yield _error_inside(protocol)
                return
        if kind is not FaultKind.UNMARKED:
            yield protocol.end
        self.answered += 1


def _key(request: Request) -> str:
    return request.headers.get("authorization", "").removeprefix("Bearer ")


def _error_inside(protocol: Protocol) -> str:
    event = protocol.error("Overloaded", "overloaded_error")
    return f"event: error\ndata: {json.dumps(event)}\n\n"


def _spoilt(answer: ModelAnswer, fault: ModelFault | None) -> ModelAnswer:
    if fault is None:
        return answer
    if fault.kind is FaultKind.EMPTY:
        return ModelAnswer()
    if fault.kind is FaultKind.MALFORMED:
        return replace(answer, calls=tuple(Call(one.tool, one.arguments[:-1] + ',"') for one in answer.calls))
    return answer


def _refusal(
    protocol: Protocol, words: str, code: str | None, status: int, fault: ModelFault | None = None
) -> Response:
    headers = {"retry-after": f"{fault.seconds:g}"} if fault and fault.kind is FaultKind.LIMITED else None
    return JSONResponse(protocol.error(words, code), status, headers)


class _Broken(Exception):
    """The connection breaks here."""


class _Streamed(Response):
    """A stream of events that may hang, be slow, or break off without an end."""

    def __init__(self, events: AsyncIterator[str], fault: ModelFault | None, clock: Clock) -> None:
        super().__init__(media_type="text/event-stream")
        self._events = events
        self._fault = fault
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        kind = self._fault.kind if self._fault else None
        if kind is FaultKind.HANG:
            while (await receive())["type"] != "http.disconnect":
                continue
            return
        if kind is FaultKind.SLOW and self._fault is not None:
            await self._clock.sleep(self._fault.seconds)
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        try:
            async for piece in self._events:
                await send({"type": "http.response.body", "body": piece.encode(), "more_body": True})
        except _Broken:
            return  # No final chunk: the server closes the connection in the middle.
        await send({"type": "http.response.body", "body": b""})
