"""The life of one simulated process: everything it does belongs to it, and ends with it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Coroutine, Iterator, MutableSequence
from contextlib import suppress
from contextvars import Context, ContextVar, copy_context
from inspect import CORO_CREATED, getcoroutinestate, isasyncgen, iscoroutine
from typing import Any, Protocol


class Killed(SystemExit):
    """The process is dead. A `SystemExit`, because tasks swallow other exceptions that end a process."""


class Owned(Protocol):
    """A task, as far as `bury` needs it."""

    def get_coro(self) -> Any: ...

    def done(self) -> bool: ...


class ProcessLife:
    """One run of a process: alive until `end`, after which all its ports refuse.

    `finally` blocks of coroutines that a kill has dropped still run when these are thrown away. Each port
    calls `check` first, so they can do nothing any more.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.alive = True
        self.orderly = False
        """Whether it ended by itself, on request."""
        self.on_end: list[Callable[[], None]] = []
        """What the operating system does when a process dies: connections drop, locks are released."""
        self._tasks: list[Owned] = []
        self._context = copy_context()
        self._context.run(LIFE.set, self)

    @property
    def context(self) -> Context:
        """A context whose tasks and timers belong to this process."""
        return self._context.copy()

    def own(self, task: Owned) -> None:
        """This process started the task."""
        self._tasks.append(task)

    def check(self) -> None:
        """Go on only in a living process; every port calls this first."""
        if not self.alive:
            raise Killed(f"process {self.number} is dead")

    def end(self) -> None:
        """Die at this instant; no code of this process runs any more."""
        if self.alive:
            self.alive = False
            for act in self.on_end:
                act()

    def kill(self) -> None:
        """Die here, in the middle of a step."""
        self.end()
        self.check()

    def bury(self) -> None:
        """Throw the coroutines of a dead process away, so that the garbage collector finds none later."""
        throw_away(self._tasks, self._context)


def throw_away(tasks: MutableSequence[Any], context: Context) -> None:
    """Close the coroutines of these tasks and drop them."""
    with warnings.catch_warnings():
        # A coroutine that another was to await and never did is no fault of the dead process.
        warnings.simplefilter("ignore", RuntimeWarning)
        for task in tasks:
            task._log_destroy_pending = False  # Otherwise asyncio logs its death.
            if not task.done():
                context.copy().run(_close, task.get_coro())
        tasks.clear()


def _close(coroutine: Coroutine[Any, Any, Any]) -> None:
    unstarted, followed = list(_unstarted(coroutine)), list(_in_generators(coroutine))
    # A coroutine that waits in its `finally` refuses the first time and is closed again.
    for each in (coroutine, *followed):
        for _ in range(10):
            with suppress(BaseException):
                each.close()
                break
    for inner in unstarted:
        inner.close()


def _in_generators(coroutine: Any) -> Iterator[Coroutine[Any, Any, Any]]:
    """Coroutines that its generators wait for: they end with the first close and leave the generators."""
    while coroutine is not None:
        frame = getattr(coroutine, "cr_frame", None) or getattr(coroutine, "ag_frame", None)
        for value in frame.f_locals.values() if frame else ():
            if isasyncgen(value) and value is not coroutine:
                yield from _in_generators(value)
        coroutine = getattr(coroutine, "cr_await", None) or getattr(coroutine, "ag_await", None)
        if iscoroutine(coroutine):
            yield coroutine


def _unstarted(coroutine: Any) -> Iterator[Coroutine[Any, Any, Any]]:
    """Coroutines that it got and never started: without a close, Python would warn about each."""
    while coroutine is not None:
        frame = getattr(coroutine, "cr_frame", None)
        for value in frame.f_locals.values() if frame else ():
            if iscoroutine(value) and getcoroutinestate(value) == CORO_CREATED:
                yield value
        coroutine = getattr(coroutine, "cr_await", None)


LIFE: ContextVar[ProcessLife | None] = ContextVar("LIFE", default=None)
"""The process whose code runs; None for the world around it."""
