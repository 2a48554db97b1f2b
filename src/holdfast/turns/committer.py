"""Commits the steps of a run: retries while the machine is at fault, and never writes a step twice."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from itertools import count
from typing import TypeVar

from holdfast.clock import Rng
from holdfast.errors import Report, StoreClosed, StoreFault, SyncFailed
from holdfast.model import Fence, Tail
from holdfast.policy.delivery.retry import delay
from holdfast.policy.settings import TurnSettings
from holdfast.policy.turn.progress import is_progress
from holdfast.store import Step, Store

from .cut import STOP
from .display.port import RunDisplayPort
from .draft import Draft
from .progress_timer import ProgressTimer
from .run_tasks import RunTasks

T = TypeVar("T")


class Committer:
    """Commits the draft of a run. A fault of the machine loses nothing: the draft keeps what is unsaved."""

    def __init__(
        self,
        store: Store,
        fence: Fence,
        draft: Draft,
        run_tasks: RunTasks,
        progress_timer: ProgressTimer,
        display: RunDisplayPort,
        rng: Rng,
        settings: TurnSettings,
        report: Report,
    ) -> None:
        self._store = store
        self._fence = fence
        self._draft = draft
        self._run_tasks = run_tasks
        self._progress_timer = progress_timer
        self._display = display
        self._rng = rng
        self._settings = settings
        self._report = report

    async def save(self) -> None:
        """Commit everything unsaved in one commit; do nothing if all is saved."""
        if self._draft.is_saved:
            return
        recorded = await self.surely(lambda: self._store.record(self._fence, self._draft.unsaved))
        self._draft.saved(recorded)
        self._display.over()
        if any(is_progress(entry.body) for entry in recorded.entries):
            self._progress_timer.recorded()
        if recorded.stop is not None:
            self._run_tasks.cut(STOP)

    async def begin_reply(self) -> None:
        """Commit that a reply with effects begins. Until the reply is recorded, its outcome is unknown."""
        step = Step(tail=Tail.REPLYING)
        recorded = await self.surely(lambda: self._store.record(self._fence, step))
        self._draft.replying = True
        if recorded.stop is not None:
            self._run_tasks.cut(STOP)

    async def surely(self, verb: Callable[[], Awaitable[T]]) -> T:
        """Retry until the write succeeds; only a cut or a fault that never heals ends the retries."""
        for attempt in count(1):
            try:
                return await verb()
            except (SyncFailed, StoreClosed):
                raise
            except StoreFault as fault:
                self._report(f"writing turn {self._fence.turn}, try {attempt}", fault)
            await self._run_tasks.rest(delay(attempt, self._settings.retry, self._rng.random()))
        raise AssertionError("counting never ends")

    async def once(self, verb: Callable[[], Awaitable[object]]) -> None:
        """Try once, when there is no time to retry; a fault is only reported."""
        try:
            await verb()
        except StoreFault as fault:
            self._report(f"writing turn {self._fence.turn} before its end", fault)
