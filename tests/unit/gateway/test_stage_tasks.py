"""Keeping the stages at work."""

import pytest

from holdfast.errors import StoreClosed, StoreFault, SyncFailed
from holdfast.gateway.stage_tasks import StageTasks
from holdfast.testing import ManualClock, SeededRng
from tests.support.loops import on_a_loop


@pytest.mark.parametrize("fault", [SyncFailed("no room to sync"), StoreClosed("the writer has ended")])
@on_a_loop
async def test_a_ledger_that_keeps_nothing_any_more_ends_the_whole_gateway(fault: StoreFault) -> None:
    async def stage() -> None:
        raise fault

    crew = StageTasks(ManualClock(), SeededRng(1))
    crew.start("a stage", stage)
    assert await crew.lost is fault
