"""The scripted model server in a thread of its own, for gateways that are processes."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from holdfast.testing.fakes.models import ModelFault, ModelServer, ServeOptions

LONG = 60.0
"""Seconds after which a request that does not come fails its test; never waited for otherwise."""


class Outside:
    """What a test does with it from its own thread."""

    def __init__(self, serving: ServeOptions) -> None:
        self._serving = serving
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop
        self._end: asyncio.Event
        self.server: ModelServer

    def serve(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        async with ModelServer(self._serving) as self.server:
            self._ready.set()
            await self._end.wait()

    def started(self) -> "Outside":
        assert self._ready.wait(LONG)
        return self

    def end(self) -> None:
        self._loop.call_soon_threadsafe(self._end.set)

    def fault(self, *faults: ModelFault) -> None:
        """Bad answers for the next requests."""
        self._loop.call_soon_threadsafe(self.server.faults.extend, faults)

    def asked(self, times: int) -> None:
        """Wait until it was asked so often."""

        async def until() -> None:
            while len(self.server.requests) < times:
                self.server.asked.clear()
                await self.server.asked.wait()

        asyncio.run_coroutine_threadsafe(asyncio.wait_for(until(), LONG), self._loop).result(LONG)


@contextmanager
def model_server(serving: ServeOptions | None = None) -> Iterator[Outside]:
    outside = Outside(serving or ServeOptions())
    thread = threading.Thread(target=outside.serve)
    thread.start()
    try:
        yield outside.started()
    finally:
        outside.end()
        thread.join(LONG)
