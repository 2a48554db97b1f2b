"""Effects as child tasks of a run, waited for beside whatever may cut it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from holdfast.clock import Clock
from holdfast.policy.settings import SECOND

from .cut import Cut, CutOff

T = TypeVar("T")


def _nothing() -> None:
    """Nothing does."""


class RunTasks:
    """What a run has begun, and what it was asked to break off for.

    Nothing here depends on the order in which a set is walked: who asks looks at its own tasks, in order.
    """

    def __init__(self, clock: Clock, bars: Callable[[], Cut | None] = _nothing) -> None:
        """`bars` says what keeps anything new from beginning just now, though nobody asked for a cut."""
        self._clock = clock
        self._bars = bars
        self._asked: Cut | None = None
        self._under_way: Cut | None = None
        self._signal = _future()
        self._tasks: list[asyncio.Task[Any]] = []

    def cut(self, cut: Cut) -> None:
        """Ask for a cut; one that is not stronger than what is asked for or under way changes nothing."""
        known = self._asked or self._under_way
        if known is not None and cut.kind <= known.kind:
            return
        self._asked = cut
        if not self._signal.done():
            self._signal.set_result(None)

    def carrying_out(self, cut: Cut) -> None:
        """From here on only a stronger cut breaks in, and nothing begins any more."""
        self._under_way = cut
        if self._asked is not None and self._asked.kind <= cut.kind:
            self._asked = None
            self._signal = _future()

    def check(self) -> None:
        """Raise the cut that was asked for, or what bars it, before anything new begins."""
        self._break_off()
        bar = self._bars()
        if bar is not None:
            raise CutOff(bar)

    def _break_off(self) -> None:
        if self._asked is not None:
            raise CutOff(self._asked)

    def begin(self, effect: Callable[[], Coroutine[Any, Any, T]]) -> asyncio.Task[T]:
        """Start an effect; it is cancelled at the latest when the run ends, and perhaps never called."""
        task = asyncio.get_running_loop().create_task(self._unless_cut(effect))
        self._tasks = [other for other in self._tasks if not other.done()]
        self._tasks.append(task)
        return task

    async def _unless_cut(self, effect: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The effect; but one whose turn comes when the run is cut already never begins."""
        if self._under_way is not None:
            raise asyncio.CancelledError
        return await effect()

    async def wait(self, tasks: Sequence[asyncio.Task[Any]], milliseconds: float | None = None) -> None:
        """Return when one of the tasks is done or the time is up; raise `CutOff` when a cut comes first."""
        if any(task.done() for task in tasks):
            return
        self._break_off()
        timer = None if milliseconds is None else self._timer(milliseconds)
        try:
            waited: list[asyncio.Future[Any]] = [*tasks, self._signal]
            await asyncio.wait([*waited, timer] if timer else waited, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if timer:
                timer.cancel()
        if not any(task.done() for task in tasks):
            self._break_off()

    async def rest(self, milliseconds: float) -> None:
        """Let time pass; raise `CutOff` when a cut comes first."""
        await self.wait((), milliseconds)

    async def end(self, milliseconds: float) -> None:
        """Cancel every effect and give them that long to end; one that does not is left behind."""
        self.cancel()
        timer = self._timer(milliseconds)
        try:
            while (left := [task for task in self._tasks if not task.done()]) and not timer.done():
                await asyncio.wait([*left, timer, self._signal], return_when=asyncio.FIRST_COMPLETED)
                self._break_off()
        finally:
            timer.cancel()

    def cancel(self) -> None:
        """Ask every effect to end, without waiting, and once: one that tidies up is left to it."""
        for task in self._tasks:
            if not task.cancelling():
                task.cancel()

    def _timer(self, milliseconds: float) -> asyncio.Task[None]:
        return asyncio.get_running_loop().create_task(_sleep(self._clock, max(0.0, milliseconds)))


async def _sleep(clock: Clock, milliseconds: float) -> None:
    await clock.sleep(milliseconds / SECOND)


def _future() -> asyncio.Future[None]:
    return asyncio.get_running_loop().create_future()
