"""A model or a machine at fault: tried again within bounds, told once, and nothing done twice."""

import asyncio
from collections.abc import Sequence
from typing import cast

import pytest

from holdfast.agents import Message, ModelError, Replied
from holdfast.errors import DiskFull, StoreUnavailable, SyncFailed
from holdfast.model import CallState, OwedKind, TurnState
from holdfast.policy.settings import HOUR, ToolSettings, TurnSettings
from tests.support.ledger import Ledger
from tests.support.stage import Deed, Line, Stage, says, soon, wants

BUSY = ModelError("the provider is busy", transient=True)


async def test_a_model_that_may_answer_later_is_asked_again(ledger: Ledger) -> None:
    await ledger.say()
    async with Stage(ledger, BUSY, BUSY, says("at last")) as stage:
        for waiting in (1.0, 2.0):
            await stage.clock.nap(waiting)
            ledger.clock.advance(int(waiting * 1000))
        await stage.leave_after_answer("at last")
        assert len(stage.model.shown) == 3


async def test_a_model_gets_the_time_its_provider_asks_for(ledger: Ledger) -> None:
    await ledger.say()
    slow_down = ModelError("slow down", transient=True, retry_after=90)
    async with Stage(ledger, slow_down, says("at last")) as stage:
        await stage.clock.nap(90)
        ledger.clock.advance(90_000)
        await stage.leave_after_answer("at last")


async def test_a_model_that_never_answers_fails_the_turn_after_four_tries_and_is_told_once(
    ledger: Ledger,
) -> None:
    await ledger.say()
    async with Stage(ledger, *[BUSY] * 9) as stage:
        for waiting in (1.0, 2.0, 4.0):
            await stage.clock.nap(waiting)
            ledger.clock.advance(int(waiting * 1000))
        await stage.quiet()
        assert len(stage.model.shown) == 4
        (part,) = await ledger.outbox()
        assert part.kind is OwedKind.NOTICE
        assert "the provider is busy" in part.text
        turn = await stage.turn()
        assert (turn.state, turn.why) == (TurnState.FAILED, "model_failed")


async def test_a_model_that_refuses_fails_the_turn_at_once(ledger: Ledger) -> None:
    await ledger.say()
    stage = Stage(ledger, ModelError("no such model"), says("not asked again"))
    await stage.run()
    assert len(stage.model.shown) == 1
    (told,) = await stage.told()
    assert "no such model" in told


@pytest.mark.parametrize("fault", [ZeroDivisionError("by zero"), asyncio.CancelledError()])
async def test_a_model_that_breaks_fails_the_turn_in_words_and_is_reported(
    ledger: Ledger, fault: BaseException
) -> None:
    async def breaks(_: Sequence[Message]) -> Replied:
        raise fault

    await ledger.say()
    stage = Stage(ledger, breaks)
    await stage.run()
    (told,) = await stage.told()
    assert "by zero" not in told
    assert (await stage.turn()).why == "model_broke"
    assert len(stage.reports) == 1


async def test_a_model_that_gives_no_reply_at_all_fails_the_turn(ledger: Ledger) -> None:
    async def gives(_: Sequence[Message]) -> Replied:
        return cast("Replied", "just text")

    await ledger.say()
    stage = Stage(ledger, gives)
    await stage.run()
    assert (await stage.turn()).why == "model_broke"


@pytest.mark.guards("R2.4")
async def test_a_resumed_turn_that_fails_is_told_once_and_never_run_again(ledger: Ledger) -> None:
    await ledger.begin()
    await ledger.recover()
    stage = Stage(ledger, ModelError("no such model"))
    await stage.run()
    assert len(await stage.told()) == 1
    await ledger.recover()
    await Stage(ledger).run()
    assert (await stage.turn()).state is TurnState.FAILED
    assert len(await stage.told()) == 1


@pytest.mark.parametrize("fault", [DiskFull("no room"), StoreUnavailable("locked")])
async def test_a_result_the_disk_would_not_take_is_kept_and_its_effect_not_repeated(
    ledger: Ledger, fault: Exception
) -> None:
    deed = Deed()
    await ledger.say()
    async with Stage(ledger, wants("deed"), says(), tools=[deed]) as stage:
        await soon(deed.running.wait())
        stage.store.faults["record"] = [fault, fault]
        deed.release.set()
        for waiting in (1.0, 2.0):
            await stage.clock.nap(waiting)
            assert len(stage.model.shown) == 1
            ledger.clock.advance(int(waiting * 1000))
        await stage.leave_after_answer("the answer")
        assert len(deed.runs) == 1
        assert await stage.results() == [(CallState.DONE, "deed is done")]
        assert len(stage.reports) == 2


@pytest.mark.guards("R7.1", "R16")
async def test_no_tool_runs_while_its_start_cannot_be_committed(ledger: Ledger) -> None:
    deed = Deed(held=False)
    await ledger.say()
    stage = Stage(ledger, wants("deed"), says(), tools=[deed])
    stage.store.faults["record"] = [DiskFull("no room")]
    async with stage:
        await stage.clock.nap(1.0)
        assert deed.runs == []
        ledger.clock.advance(1_000)
        await stage.leave_after_answer("the answer")
        assert len(deed.runs) == 1


async def test_an_answer_the_disk_would_not_take_is_owed_once_there_is_room(ledger: Ledger) -> None:
    await ledger.say()
    stage = Stage(ledger, says("forty-two"))
    stage.store.faults["finish"] = [DiskFull("no room")]
    async with stage:
        await stage.clock.nap(1.0)
        assert await stage.told() == []
        ledger.clock.advance(1_000)
        await stage.leave_after_answer("forty-two")
        assert len(stage.model.shown) == 1


async def test_a_disk_that_is_full_for_an_hour_fails_no_turn(ledger: Ledger) -> None:
    await ledger.say()
    stage = Stage(ledger, says("forty-two"))
    stage.store.faults["finish"] = [DiskFull("no room")] * 70
    async with stage:
        for n in range(70):
            nap = await stage.clock.nap(min(2.0**n, 60))
            ledger.clock.advance(int(nap * 1000))
        await stage.leave_after_answer("forty-two")


async def test_a_claim_that_fails_is_tried_again(ledger: Ledger) -> None:
    await ledger.say()
    stage = Stage(ledger, says("forty-two"))
    stage.store.faults["claim_ready"] = [StoreUnavailable("locked")]
    async with stage:
        ledger.clock.advance(int(1000 * await stage.clock.nap(0.1, 1.0)))
        await stage.leave_after_answer("forty-two")


async def test_a_failed_sync_ends_the_pool(ledger: Ledger) -> None:
    await ledger.say()
    stage = Stage(ledger)
    stage.store.faults["claim_ready"] = [SyncFailed("what the disk holds is unknown")]
    with pytest.raises(SyncFailed):
        await soon(stage.pool.work())


@pytest.mark.guards("R12", "C23", "H6", "O9")
async def test_a_turn_without_progress_is_ended_as_failed_and_told_once(ledger: Ledger) -> None:
    deed = Deed()
    patient = TurnSettings(tools=ToolSettings(timeout=HOUR))
    await ledger.say()
    async with Stage(ledger, wants("deed"), tools=[deed], settings=patient) as stage:
        await soon(deed.running.wait())
        await stage.clock.nap(1800)
        ledger.clock.advance(1800_000 - 1)
        assert (await stage.turn()).state is TurnState.RUNNING
        ledger.clock.advance(1)
        await stage.quiet()
        turn = await stage.turn()
        assert (turn.state, turn.why) == (TurnState.FAILED, "no_progress")
        assert [state for state, _ in await stage.results()] == [CallState.UNKNOWN]
        (told,) = await stage.told()
        assert "30 minutes" in told


async def never(_: Sequence[Message]) -> Replied:
    await asyncio.Event().wait()
    raise AssertionError


LATER: Line = ModelError("come back in an hour", transient=True, retry_after=3600)


@pytest.mark.parametrize("line", [never, LATER], ids=["hangs", "wants to be asked much later"])
async def test_a_model_without_progress_ends_the_turn_as_failed(ledger: Ledger, line: Line) -> None:
    await ledger.say()
    async with Stage(ledger, line) as stage:
        await stage.clock.nap(1800)
        ledger.clock.advance(1800_000)
        await stage.quiet()
        assert (await stage.turn()).why == "no_progress"


@pytest.mark.guards("R12", "O9")
async def test_output_of_a_tool_keeps_its_turn_alive_and_is_journaled_now_and_then(ledger: Ledger) -> None:
    deed = Deed()
    await ledger.say()
    async with Stage(ledger, wants("deed"), says(), tools=[deed]) as stage:
        await soon(deed.running.wait())
        for times in range(1, 81):
            ledger.clock.advance(29_000)
            deed.runs[0].progress()
            ledger.clock.advance(1_000)
            deed.runs[0].progress()
            deed.runs[0].progress()
            await stage.store.logged("progress", times)
            assert (await stage.turn()).progress_at == ledger.clock.now()
        deed.release.set()
        await stage.leave_after_answer("the answer")


@pytest.mark.guards("R12")
async def test_a_tool_that_is_over_keeps_no_turn_alive(ledger: Ledger) -> None:
    deed = Deed(held=False)
    await ledger.say()
    async with Stage(ledger, wants("deed"), never, tools=[deed]) as stage:
        while len(stage.model.shown) < 2:
            stage.model.asked.clear()
            await soon(stage.model.asked.wait())
        await stage.clock.nap(1800)
        ledger.clock.advance(1799_000)
        deed.runs[0].progress()
        deed.runs[0].output("nobody asked")
        ledger.clock.advance(1_000)
        await stage.quiet()
        assert (await stage.turn()).why == "no_progress"


async def test_a_clock_set_forward_makes_no_turn_stuck(ledger: Ledger) -> None:
    await ledger.say()
    async with Stage(ledger, BUSY, says("at last")) as stage:
        await stage.clock.nap(1.0)
        ledger.clock.jump(7200_000)
        ledger.clock.advance(1_000)
        await stage.leave_after_answer("at last")


async def test_a_resumed_turn_has_the_whole_time_again(ledger: Ledger) -> None:
    await ledger.begin()
    ledger.clock.advance(1799_000)
    await ledger.recover()
    deed = Deed()
    async with Stage(ledger, wants("deed"), says(), tools=[deed]) as stage:
        await soon(deed.running.wait())
        ledger.clock.advance(1799_000)
        deed.release.set()
        await stage.leave_after_answer("the answer")
