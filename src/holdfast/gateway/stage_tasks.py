"""Keep the stages at work: a fault in one stage is reported and ends neither it nor another."""

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
"""How soon a stage begins again after a fault: for ever, ever less often."""

Work = Callable[[], Coroutine[Any, Any, None]]

log = logging.getLogger(__name__)


def to_log(stage: str, fault: BaseException) -> None:
    """Log a stage's fault with its traceback."""
    log.error("%s failed: %r", stage, fault, exc_info=fault)


class StageTasks:
    """The tasks of the stages, in the order they were started."""

    def __init__(self, clock: Clock, rng: Rng, report: Report = to_log) -> None:
        self._clock = clock
        self._rng = rng
        self._report = report
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self.lost: asyncio.Future[StoreFault] = asyncio.get_running_loop().create_future()
        """Done when the ledger can keep nothing any more: a sync failed, or its writer thread has ended.
        Only a restart of the process helps."""

    def start(self, name: str, work: Work) -> None:
        """Run a stage until it is stopped."""
        self._tasks[name] = asyncio.create_task(self._keep(name, work), name=name)

    def cancel(self) -> None:
        """Cancel every stage without waiting."""
        for task in self._tasks.values():
            task.cancel()

    async def stop(self) -> None:
        """Cancel every stage and wait until all have ended."""
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
            except Exception as fault:  # noqa: BLE001 - the boundary of a stage: reported, then begun again
                self._report(name, fault)
            long_run = self._clock.monotonic() - began > PATIENCE.most / SECOND
            failures = 1 if long_run else failures + 1
            await self._clock.sleep(delay(failures, PATIENCE, self._rng.random()) / SECOND)
