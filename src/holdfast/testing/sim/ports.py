"""Time, chance and waiting inside the simulation."""

from __future__ import annotations

import asyncio
import random
import types
from collections.abc import Generator

from .life import ProcessLife
from .loop import SimLoop

EPOCH = 1_800_000_000_000
"""Wall time at which every world begins."""


class SeededRng(random.Random):
    """Chance that is the same for the same words, whatever hashes strings."""

    def __init__(self, *words: object) -> None:
        super().__init__(":".join(map(str, words)))


class WallClock:
    """The machine's clock; it can be set, which moves no timer."""

    def __init__(self, loop: SimLoop) -> None:
        self._loop = loop
        self._set = 0
        self.jumps: list[tuple[float, int]] = []
        """When it was set, on the loop's own time, and by how much."""
        self.boots = 1
        """How often the machine was started."""

    def now(self) -> int:
        return EPOCH + self._set + round(self._loop.time() * 1_000)

    @property
    def set_ahead(self) -> int:
        """Milliseconds by which the clock was set forwards, all in all."""
        return sum(by for _, by in self.jumps if by > 0)

    def jump(self, milliseconds: int) -> None:
        """Set the wall clock forwards or back; no time has passed."""
        self._set += milliseconds
        self.jumps.append((self._loop.time(), milliseconds))


class WorldClock:
    """The clock of whoever stands outside all processes."""

    def __init__(self, loop: SimLoop, wall: WallClock) -> None:
        self._loop = loop
        self._wall = wall

    def now(self) -> int:
        return self._wall.now()

    def monotonic(self) -> float:
        return self._loop.time()

    def uptime(self) -> tuple[str, int]:
        return f"boot-{self._wall.boots}", round(self._loop.time() * 1_000)

    async def sleep(self, seconds: float) -> None:
        await pause(self._loop, seconds)


class SimClock(WorldClock):
    """A process's clock: the loop's time for waiting, the machine's for what is written down."""

    def __init__(self, loop: SimLoop, wall: WallClock, life: ProcessLife) -> None:
        super().__init__(loop, wall)
        self._life = life

    async def sleep(self, seconds: float) -> None:
        self._life.check()
        await super().sleep(seconds)


async def pause(loop: SimLoop, seconds: float) -> None:
    """Wait on the loop's own time."""
    wake: asyncio.Future[None] = loop.create_future()
    timer = loop.call_later(max(seconds, 0.0), _wake, wake)
    try:
        await wake
    finally:
        timer.cancel()


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


@types.coroutine
def yield_once() -> Generator[None, None, None]:
    """Let others take their steps."""
    yield
