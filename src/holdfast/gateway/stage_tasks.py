"""Keeping the stages at work: a fault in one is reported and does not end it, nor any other."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from holdfast.clock import Clock, Rng
from holdfast.errors import Report, StoreClosed, StoreFault, SyncFailed
from holdfast.policy.delivery.retry import delay
from holdfast.policy.settings import MINUTE, SECOND, RetrySettings

PATIENCE = RetrySettings(first=SECOND // 5, most=MINUTE)
"""How soon a stage that broke begins again: for ever, ever less often."""

Work = Callable[[], Coroutine[Any, Any, None]]

log = logging.getLogger(__name__)


def to_log(stage: str, fault: BaseException) -> None:
    """Write a stage's fault down, with where it happened."""
    log.error("%s broke and begins again: %r", stage, fault, exc_info=fault)


class StageTasks:
    """The tasks of the stages, in the order they were started."""

    def __init__(self, clock: Clock, rng: Rng, report: Report = to_log) -> None:
        self._clock = clock
        self._rng = rng
        self._report = report
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self.lost: asyncio.Future[StoreFault] = asyncio.get_running_loop().create_future()
        """Done when the ledger can no longer keep anything: a sync failed, or its writer has ended under us.
        Only a fresh start helps."""

    def start(self, name: str, work: Work) -> None:
        """Let a stage work until it is stopped."""
        self._tasks[name] = asyncio.create_task(self._keep(name, work), name=name)

    def cancel(self) -> None:
        """Cancel every stage; nobody waits for them."""
        for task in self._tasks.values():
            task.cancel()

    async def stop(self) -> None:
        """Cancel every stage and wait for their ends."""
        self.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _keep(self, name: str, work: Work) -> None:
        failures = 0
        while True:
            began = self._clock.monotonic()
            try:
                return await work()
            except (StoreClosed, SyncFailed) as fault:
                if not self.lost.done():
                    self.lost.set_result(fault)
                return None
            except Exception as fault:  # noqa: BLE001 - the boundary of a stage: reported, and begun again
                self._report(name, fault)
            long_run = self._clock.monotonic() - began > PATIENCE.most / SECOND
            failures = 1 if long_run else failures + 1
            await self._clock.sleep(delay(failures, PATIENCE, self._rng.random()) / SECOND)
