"""The life of one simulated process: everything it does is known by it, and ends with it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from contextvars import Context, ContextVar, copy_context
from inspect import CORO_CREATED, getcoroutinestate, iscoroutine
from typing import Any, Protocol


class Killed(SystemExit):
    """The process is dead. A `SystemExit`, because tasks swallow other exceptions that end a process."""


class Owned(Protocol):
    """A task, as far as its burial needs it."""

    def get_coro(self) -> Any: ...

    def done(self) -> bool: ...


class Life:
    """One run of a process: alive until `end`, after which every port of it refuses.

    `finally` blocks of coroutines that a kill has dropped still run when these are thrown away. Since each
    port asks `check` first, they can do nothing any more.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.alive = True
        self.orderly = False
        """It ended by itself, as it was asked to."""
        self.on_end: list[Callable[[], None]] = []
        """What the operating system does when a process dies: connections drop, locks are let go."""
        self._tasks: list[Owned] = []
        self._context = copy_context()
        self._context.run(LIFE.set, self)

    @property
    def context(self) -> Context:
        """A context whose tasks and timers belong to this process."""
        return self._context.copy()

    def own(self, task: Owned) -> None:
        """A task was started by this process."""
        self._tasks.append(task)

    def check(self) -> None:
        """Go on only in a living process; asked by every port before it does anything."""
        if not self.alive:
            raise Killed(f"process {self.number} is dead")

    def end(self) -> None:
        """Die at this instant; nothing of this process runs any more."""
        if self.alive:
            self.alive = False
            for act in self.on_end:
                act()

    def kill(self) -> None:
        """Die here, in the middle of a step."""
        self.end()
        self.check()

    def bury(self) -> None:
        """Throw the coroutines of a dead process away, so that nothing is left to be collected later."""
        with warnings.catch_warnings():
            # A coroutine that another was to await and never did is no mistake of the dead.
            warnings.simplefilter("ignore", RuntimeWarning)
            self._throw_away()

    def _throw_away(self) -> None:
        for task in self._tasks:
            task._log_destroy_pending = False  # type: ignore[attr-defined]  # else its death is logged
            if not task.done():
                self._context.copy().run(_close, task.get_coro())
        self._tasks.clear()


def _close(coroutine: Coroutine[Any, Any, Any]) -> None:
    unstarted = list(_unstarted(coroutine))
    # One that waits in its `finally` refuses the first time: it stands there again, and is closed again.
    for _ in range(10):
        with suppress(BaseException):
            coroutine.close()
            break
    for inner in unstarted:
        inner.close()


def _unstarted(coroutine: Any) -> Iterator[Coroutine[Any, Any, Any]]:
    """Coroutines it was given and has not begun: thrown away unclosed, each would be taken for a mistake."""
    while coroutine is not None:
        frame = getattr(coroutine, "cr_frame", None)
        for value in frame.f_locals.values() if frame else ():
            if iscoroutine(value) and getcoroutinestate(value) == CORO_CREATED:
                yield value
        coroutine = getattr(coroutine, "cr_await", None)


LIFE: ContextVar[Life | None] = ContextVar("LIFE", default=None)
"""The process on whose behalf code runs; None for the world around it."""
