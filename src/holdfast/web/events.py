"""Server-sent events, in the form that browsers read, until either side ends the stream."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from holdfast.clock import Clock
from holdfast.records import dataclass

from .errors import HttpError
from .security import SIGNED_IN

QUIET = 15.0
"""After so many silent seconds, the stream sends a comment to show that it is alive."""
MOST_STREAMS = 200
"""The most open streams in one process. The gateway refuses one more and does not close an older one for it:
that reader would come back and in turn cut off another, without end."""
_RETRY_AFTER = 5
_KIND = "text/event-stream"
_QUIET_LINE = ": still here\n\n"
_RETRY_LINE = "retry: 1000\n\n"


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One event; the browser sends its `id` back when it reconnects."""

    name: str
    data: object
    id: str | None = None

    def written(self) -> str:
        head = f"id: {self.id}\n" if self.id is not None else ""
        data = json.dumps(self.data, separators=(",", ":"))
        return f"{head}event: {self.name}\ndata: {data}\n\n"


class Streams:
    """All open streams of one server. Closing ends each of them, so a stop does not wait for any."""

    def __init__(self, clock: Clock, most: int = MOST_STREAMS) -> None:
        self._clock = clock
        self._most = most
        self._closed = asyncio.Event()
        self.count = 0
        """How many streams are open."""

    def close(self) -> None:
        self._closed.set()

    def answer(self, request: Request, *sources: AsyncGenerator[StreamEvent, None]) -> Response:
        """A stream of all these sources' events; raises `HttpError` if the server is full or closing."""
        if self._closed.is_set():
            raise HttpError(
                "try_again", "the gateway is stopping; connect again when it is back", _retry_header()
            )
        if self.count >= self._most:
            words = f"{self._most} event streams are open, which is the most; close some, or try again later"
            raise HttpError("try_again", words, _retry_header())
        if request.method == "HEAD":
            return Response(media_type=_KIND)
        return _Stream(self, self._lines(request.scope[SIGNED_IN], sources))

    async def _lines(
        self, signed_in: Callable[[], bool], sources: tuple[AsyncGenerator[StreamEvent, None], ...]
    ) -> AsyncGenerator[str, None]:
        yield _RETRY_LINE
        async with aclosing(self._merged(sources)) as events:
            async for event in events:
                # A replaced token also ends the streams that were opened with the old one.
                if not signed_in():
                    return
                yield _QUIET_LINE if event is None else event.written()

    async def _merged(
        self, sources: tuple[AsyncGenerator[StreamEvent, None], ...]
    ) -> AsyncGenerator[StreamEvent | None, None]:
        """The next event of any source, or None after a silence; ends when the server closes."""
        over = asyncio.ensure_future(self._closed.wait())
        coming = {asyncio.create_task(_next(source)): source for source in sources}
        try:
            while True:
                quiet = asyncio.ensure_future(self._clock.sleep(QUIET))
                try:
                    await asyncio.wait([over, quiet, *coming], return_when=asyncio.FIRST_COMPLETED)
                finally:
                    quiet.cancel()
                if over.done():
                    return
                for event in _take_events(coming):
                    yield event
                if quiet.done() and not quiet.cancelled():
                    yield None
        finally:
            over.cancel()
            for task in coming:
                task.cancel()
            await asyncio.gather(*coming, return_exceptions=True)
            for source in sources:
                await source.aclose()


class _Stream(StreamingResponse):
    """A stream that counts as open from its start to its end, however it ends."""

    def __init__(self, streams: Streams, lines: AsyncGenerator[str, None]) -> None:
        super().__init__(lines, headers={"X-Accel-Buffering": "no"}, media_type=_KIND)
        self._streams = streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._streams.count += 1
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._streams.count -= 1


def _retry_header() -> dict[str, str]:
    return {"Retry-After": str(_RETRY_AFTER)}


def _take_events(
    coming: dict[asyncio.Task[StreamEvent], AsyncGenerator[StreamEvent, None]],
) -> Iterator[StreamEvent]:
    """Take the events that came and ask for the next. A source that fails ends the stream."""
    for task in [task for task in coming if task.done()]:
        source = coming.pop(task)
        event = task.result()
        coming[asyncio.create_task(_next(source))] = source
        yield event


async def _next(source: AsyncGenerator[StreamEvent, None]) -> StreamEvent:
    return await anext(source)
