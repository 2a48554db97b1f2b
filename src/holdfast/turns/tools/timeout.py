"""Run a tool within its time. After that it is cancelled, has a moment to end, and is given up."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from holdfast.clock import Clock

T = TypeVar("T")


class OutOfTime(Exception):
    """The tool took too long; its outcome is not known."""


class SignOfLife:
    """The time of the last sign of life of a running tool."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.at = clock.monotonic()

    def note(self) -> None:
        self.at = self._clock.monotonic()


async def within(
    clock: Clock, seconds: float, grace: float, work: Coroutine[Any, Any, T], life: SignOfLife | None = None
) -> T:
    """Return the result of `work` in time, or in the grace after its cancel; else raise `OutOfTime`.

    With `life`, the time starts again at each sign of life. If this call is cancelled itself, it cancels the
    work and still returns its result. Work that ignores the cancel is left behind.
    """
    life = life or SignOfLife(clock)
    task = asyncio.ensure_future(work)
    since = life.at
    while not await _done(clock, task, seconds - (clock.monotonic() - since)):
        if life.at == since:
            task.cancel()
            if not await _done(clock, task, grace) or task.cancelled():
                raise OutOfTime
            break
        since = life.at
    return task.result()


async def _done(clock: Clock, task: asyncio.Future[Any], seconds: float) -> bool:
    """Wait that long for the end of the task. A cancel of this call goes on to the task, and waits for it."""
    timer = asyncio.ensure_future(_sleep(clock, seconds))
    try:
        await asyncio.wait([task, timer], return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        task.cancel()
        # No limit here: the canceller limits this wait itself.
        await asyncio.wait([task])
        return True
    finally:
        timer.cancel()
    return task.done()


async def _sleep(clock: Clock, seconds: float) -> None:
    await clock.sleep(max(0.0, seconds))
