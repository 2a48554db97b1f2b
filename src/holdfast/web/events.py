"""Server-sent events: what is followed, written as a browser reads it, until either side ends it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing

from starlette.responses import StreamingResponse

from holdfast.clock import Clock
from holdfast.records import dataclass

QUIET = 15.0
"""Seconds of silence after which a comment shows that somebody is there."""
_QUIET_LINE = ": still here\n\n"
_AGAIN = "retry: 1000\n\n"


@dataclass(frozen=True, slots=True)
class Event:
    """One event; `id` is what the browser gives back when it comes again."""

    name: str
    data: object
    id: str | None = None

    def written(self) -> str:
        head = f"id: {self.id}\n" if self.id is not None else ""
        data = json.dumps(self.data, separators=(",", ":"))
        return f"{head}event: {self.name}\ndata: {data}\n\n"


class Streams:
    """All open streams of one server; closing ends each of them, so that a stop waits for none."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._closed = asyncio.Event()

    def close(self) -> None:
        self._closed.set()

    def answer(self, *sources: AsyncGenerator[Event, None]) -> StreamingResponse:
        """What all of these give, as it comes."""
        headers = {"X-Accel-Buffering": "no"}
        return StreamingResponse(self._lines(sources), headers=headers, media_type="text/event-stream")

    async def _lines(self, sources: tuple[AsyncGenerator[Event, None], ...]) -> AsyncGenerator[str, None]:
        yield _AGAIN
        async with aclosing(self._merged(sources)) as events:
            async for event in events:
                yield _QUIET_LINE if event is None else event.written()

    async def _merged(
        self, sources: tuple[AsyncGenerator[Event, None], ...]
    ) -> AsyncGenerator[Event | None, None]:
        """Whatever comes next from any of them, and None after a silence; ends when the server closes."""
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
                for event in _come(coming):
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


def _come(coming: dict[asyncio.Task[Event], AsyncGenerator[Event, None]]) -> Iterator[Event]:
    """Take what has come, and ask for the next; a source whose fault ends it ends the stream."""
    for task in [task for task in coming if task.done()]:
        source = coming.pop(task)
        event = task.result()
        coming[asyncio.create_task(_next(source))] = source
        yield event


async def _next(source: AsyncGenerator[Event, None]) -> Event:
    return await anext(source)
