"""Running a tool within its time: then it is cancelled, has a moment to end, and is given up."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from holdfast.clock import Clock

T = TypeVar("T")


class OutOfTime(Exception):
    """It took longer than it may; what became of it nobody knows."""


class LastHeard:
    """When something was heard last of a tool that runs."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.heard = clock.monotonic()

    def hear(self) -> None:
        self.heard = self._clock.monotonic()


async def within(
    clock: Clock, seconds: float, grace: float, work: Coroutine[Any, Any, T], life: LastHeard | None = None
) -> T:
    """Return what `work` gives in time, or in the moment after it was told to end; else raise `OutOfTime`.

    With a `life`, its time begins anew whenever something is heard of it. Cancelled itself, it passes that on
    and still returns what the work does. What ignores both is left behind: nobody waits for it any more.
    """
    life = life or LastHeard(clock)
    task = asyncio.ensure_future(work)
    since = life.heard
    while not await _done(clock, task, seconds - (clock.monotonic() - since)):
        if life.heard == since:
            task.cancel()
            if not await _done(clock, task, grace) or task.cancelled():
                raise OutOfTime
            break
        since = life.heard
    return task.result()


async def _done(clock: Clock, task: asyncio.Future[Any], seconds: float) -> bool:
    """Wait that long for the end of the task; a cancellation goes to the task, and is waited out with it."""
    timer = asyncio.ensure_future(_sleep(clock, seconds))
    try:
        await asyncio.wait([task, timer], return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        task.cancel()
        # Whoever cancelled us gives us only so long, and then cancels or leaves us as well.
        await asyncio.wait([task])
        return True
    finally:
        timer.cancel()
    return task.done()


async def _sleep(clock: Clock, seconds: float) -> None:
    await clock.sleep(max(0.0, seconds))
