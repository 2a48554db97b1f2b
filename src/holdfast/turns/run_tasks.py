"""Run effects as child tasks of a run, and wait for them and for a cut at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from holdfast.clock import Clock
from holdfast.policy.settings import SECOND

from .cut import Cut, CutOff

T = TypeVar("T")


def _nothing() -> None:
    """Bar nothing: the default."""


class RunTasks:
    """The tasks that a run has begun, and the cut that was requested.

    Nothing depends on the order of a set: each caller looks at its own tasks, in their order.
    """

    def __init__(self, clock: Clock, bars: Callable[[], Cut | None] = _nothing) -> None:
        """`bars` returns a cut that forbids any new effect now, also without a request for a cut."""
        self._clock = clock
        self._bars = bars
        self._asked: Cut | None = None
        self._under_way: Cut | None = None
        self._signal = _future()
        self._tasks: list[asyncio.Task[Any]] = []

    def cut(self, cut: Cut) -> None:
        """Ask for a cut. It has no effect if an equal or stronger cut is requested or under way."""
        known = self._asked or self._under_way
        if known is not None and cut.kind <= known.kind:
            return
        self._asked = cut
        if not self._signal.done():
            self._signal.set_result(None)

    def carrying_out(self, cut: Cut) -> None:
        """Note that this cut is carried out: only a stronger cut breaks in, and no effect begins any more."""
        self._under_way = cut
        if self._asked is not None and self._asked.kind <= cut.kind:
            self._asked = None
            self._signal = _future()

    def check(self) -> None:
        """Raise the requested cut or the bar, if there is one; to be called before any new effect."""
        self._break_off()
        bar = self._bars()
        if bar is not None:
            raise CutOff(bar)

    def _break_off(self) -> None:
        if self._asked is not None:
            raise CutOff(self._asked)

    def begin(self, effect: Callable[[], Coroutine[Any, Any, T]]) -> asyncio.Task[T]:
        """Start an effect. The end of the run cancels it; a cut may come before it is called at all."""
        task = asyncio.get_running_loop().create_task(self._unless_cut(effect))
        self._tasks = [other for other in self._tasks if not other.done()]
        self._tasks.append(task)
        return task

    async def _unless_cut(self, effect: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run the effect, unless the run is already cut when the task gets its turn."""
        if self._under_way is not None:
            raise asyncio.CancelledError
        return await effect()

    async def wait(self, tasks: Sequence[asyncio.Task[Any]], milliseconds: float | None = None) -> None:
        """Return when a task is done or the time is up; raise `CutOff` when a cut comes first."""
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
        """Sleep; raise `CutOff` when a cut comes first."""
        await self.wait((), milliseconds)

    async def end(self, milliseconds: float) -> None:
        """Cancel every effect and give them that long to end; then leave the rest behind."""
        self.cancel()
        timer = self._timer(milliseconds)
        try:
            while (left := [task for task in self._tasks if not task.done()]) and not timer.done():
                await asyncio.wait([*left, timer, self._signal], return_when=asyncio.FIRST_COMPLETED)
                self._break_off()
        finally:
            timer.cancel()

    def cancel(self) -> None:
        """Cancel every effect once, without waiting: a second cancel would disturb one that cleans up."""
        for task in self._tasks:
            if not task.cancelling():
                task.cancel()

    def _timer(self, milliseconds: float) -> asyncio.Task[None]:
        return asyncio.get_running_loop().create_task(_sleep(self._clock, max(0.0, milliseconds)))


async def _sleep(clock: Clock, milliseconds: float) -> None:
    await clock.sleep(milliseconds / SECOND)


def _future() -> asyncio.Future[None]:
    return asyncio.get_running_loop().create_future()
