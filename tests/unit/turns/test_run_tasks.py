import asyncio

from holdfast.testing import ManualClock
from holdfast.turns.cut import LOST, STOP
from holdfast.turns.run_tasks import RunTasks
from tests.support.loops import on_a_loop


@on_a_loop
async def test_what_was_about_to_begin_when_a_cut_is_carried_out_does_not_begin() -> None:
    begun = []

    async def effect() -> None:
        begun.append("an effect")

    hands = RunTasks(ManualClock())
    task = hands.begin(effect)
    hands.carrying_out(STOP)
    await asyncio.wait([task])
    assert begun == []


@on_a_loop
async def test_what_tidies_up_after_a_cut_is_left_to_it_whatever_cuts_follow() -> None:
    loop = asyncio.get_running_loop()
    begun, tidying, tidied = loop.create_future(), loop.create_future(), loop.create_future()

    async def effect() -> None:
        try:
            begun.set_result(None)
            await loop.create_future()
        finally:
            tidying.set_result(None)
            await tidied

    hands = RunTasks(ManualClock())
    task = hands.begin(effect)
    await begun
    hands.carrying_out(STOP)
    hands.cancel()
    await tidying
    hands.carrying_out(LOST)
    hands.cancel()
    tidied.set_result(None)
    await asyncio.wait([task])
    assert not tidied.cancelled()
