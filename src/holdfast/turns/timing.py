"""Running a tool within its time: then it is cancelled, has a moment to end, and is given up."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from holdfast.clock import Clock

T = TypeVar("T")


class OutOfTime(Exception):
    """It took longer than it may; what became of it nobody knows."""


async def within(clock: Clock, seconds: float, grace: float, work: Coroutine[Any, Any, T]) -> T:
    """Return what `work` gives in time, or in the moment after it was told to end; else raise `OutOfTime`.

    Cancelled itself, it passes that on and still returns what the work does. What ignores both is left
    behind: nobody waits for it any more.
    """
    task = asyncio.ensure_future(work)
    if not await _done(clock, task, seconds):
        task.cancel()
        if not await _done(clock, task, grace):
            raise OutOfTime
        if task.cancelled():
            raise OutOfTime
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
    await clock.sleep(seconds)
