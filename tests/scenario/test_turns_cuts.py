"""What ends a run from outside: a stop, a drain, a loss; each settled as the rule says, in the ledger."""

import asyncio
from collections.abc import Sequence

import pytest

from holdfast.agents import Message, Replied
from holdfast.errors import DiskFull
from holdfast.model import CallState, EffectClass, StopKind, TurnState
from tests.support.ledger import Ledger, key
from tests.support.stage import Deed, Stage, hangs, says, soon, wants

GRACE = 5_000
REASON = "restart_timeout"


async def returns_late() -> str:
    return "half of it"


async def never_ends() -> str:
    await asyncio.Event().wait()
    return "never"


async def test_a_stop_ends_a_turn_whose_model_still_thinks(ledger: Ledger) -> None:
    await ledger.say()
    async with Stage(ledger, hangs, says("next")) as stage:
        await soon(stage.model.asked.wait())
        await ledger.store.stop(key(), StopKind.STOP, None)
        await stage.quiet()
        turn = await stage.turn()
        assert (turn.state, turn.why) == (TurnState.CANCELLED, StopKind.STOP)
        assert await stage.told() == []
        await ledger.say("and now?")
        await stage.leave_after_answer("next")
        assert (await stage.turn()).session == turn.session


@pytest.mark.guards("R7.4")
async def test_a_tool_that_ends_in_time_after_a_stop_keeps_its_result(ledger: Ledger) -> None:
    deed = Deed(when_cancelled=returns_late)
    await ledger.say()
    async with Stage(ledger, wants("deed"), tools=[deed]) as stage:
        await soon(deed.running.wait())
        await ledger.store.stop(key(), StopKind.STOP, None)
        await stage.quiet()
        assert await stage.results() == [(CallState.DONE, "half of it")]
        assert (await stage.turn()).state is TurnState.CANCELLED


async def test_a_tool_that_is_cancelled_by_a_stop_is_unknown(ledger: Ledger) -> None:
    deed = Deed()
    await ledger.say()
    async with Stage(ledger, wants("deed"), tools=[deed]) as stage:
        await soon(deed.running.wait())
        await ledger.store.stop(key(), StopKind.STOP, None)
        await stage.quiet()
        assert deed.cancelled
        assert [state for state, _ in await stage.results()] == [CallState.UNKNOWN]


@pytest.mark.guards("R7.4")
async def test_a_tool_that_will_not_end_is_unknown_after_its_grace(ledger: Ledger) -> None:
    deed = Deed(when_cancelled=never_ends)
    await ledger.say()
    async with Stage(ledger, wants("deed"), tools=[deed]) as stage:
        await soon(deed.running.wait())
        await ledger.store.stop(key(), StopKind.STOP, None)
        await stage.clock.nap(GRACE / 1000)
        ledger.clock.advance(GRACE - 1)
        assert (await stage.turn()).state is TurnState.RUNNING
        ledger.clock.advance(1)
        await stage.quiet()
        assert [state for state, _ in await stage.results()] == [CallState.UNKNOWN]
        assert (await stage.turn()).state is TurnState.CANCELLED


async def test_a_new_beginning_ends_the_running_turn_and_its_session(ledger: Ledger) -> None:
    await ledger.say()
    async with Stage(ledger, hangs) as stage:
        await soon(stage.model.asked.wait())
        await ledger.store.stop(key(), StopKind.NEW, None)
        await stage.quiet()
        turn = await stage.turn()
        assert (turn.state, turn.why) == (TurnState.CANCELLED, StopKind.NEW)
        assert (await ledger.store.session(turn.session)).ended_at is not None


async def test_a_stop_asked_while_the_model_answers_keeps_its_tools_from_running(ledger: Ledger) -> None:
    deed = Deed(held=False)
    await ledger.say()
    stage = Stage(ledger, wants("deed"), tools=[deed])
    stage.store.before["record"] = lambda: ledger.store.stop(key(), StopKind.STOP, None)
    await stage.run()
    assert deed.runs == []
    assert (await stage.turn()).state is TurnState.CANCELLED


async def test_a_stop_asked_before_the_answer_is_committed_wins(ledger: Ledger) -> None:
    await ledger.say()
    stage = Stage(ledger, says("too late"))
    stage.store.before["finish"] = lambda: ledger.store.stop(key(), StopKind.STOP, None)
    await stage.run()
    assert await stage.told() == ["too late\n\n[Stopped here.]"]
    assert (await stage.turn()).state is TurnState.CANCELLED


async def test_a_stop_asked_before_the_pool_knows_the_run_is_seen(ledger: Ledger) -> None:
    async def stop() -> None:
        await ledger.store.stop(key(), StopKind.STOP, None)
        # By now whoever watches for stops has looked, and has not found it among those that run.
        await ledger.store.sessions()

    await ledger.say()
    stage = Stage(ledger, hangs)
    stage.store.after["claim_ready"] = stop
    async with stage:
        await soon(stage.store.reach("finish").wait())
        await stage.quiet()
        assert (await stage.turn()).state is TurnState.CANCELLED


@pytest.mark.guards("R3.2", "A3")
async def test_a_drain_marks_a_turn_before_its_tool_is_cancelled(ledger: Ledger) -> None:
    found: list[TurnState] = []

    async def looks() -> str:
        found.append((await stage.turn()).state)
        return "too late to count"

    deed = Deed(when_cancelled=looks)
    await ledger.say()
    async with Stage(ledger, wants("deed"), tools=[deed]) as stage:
        await soon(deed.running.wait())
        await soon(stage.pool.cut(REASON))
        turn = await stage.turn()
        assert found == [TurnState.INTERRUPTED]
        assert (turn.interruption, turn.interruptions) == (REASON, 1)
        assert await stage.results() == []


@pytest.mark.guards("R3.2")
async def test_a_drain_puts_back_a_turn_in_which_nothing_has_begun(ledger: Ledger) -> None:
    held = asyncio.Event()
    await ledger.complete("before")
    await ledger.say()
    stage = Stage(ledger)
    stage.store.before["transcript"] = held.wait
    async with stage:
        await soon(stage.store.reach("transcript").wait())
        cutting = asyncio.ensure_future(stage.pool.cut(REASON))
        held.set()
        await soon(cutting)
        turn = await stage.turn()
        assert (turn.state, turn.interruptions) == (TurnState.QUEUED, 0)
        assert (await ledger.store.session(turn.session)).strikes == 0
        assert stage.model.shown == []


async def test_a_turn_that_waits_for_its_model_has_begun(ledger: Ledger) -> None:
    await ledger.say()
    async with Stage(ledger, hangs) as stage:
        await soon(stage.model.asked.wait())
        await soon(stage.pool.cut(REASON))
        assert (await stage.turn()).state is TurnState.INTERRUPTED


@pytest.mark.guards("R3.2", "B2")
async def test_what_a_turn_had_produced_when_it_was_cut_is_kept(ledger: Ledger) -> None:
    """The last result waits for the next step's commit; a drain in between must not lose it."""
    quick, slow = Deed("quick", EffectClass.EFFECT), Deed("slow", EffectClass.READ)
    await ledger.say()
    async with Stage(ledger, wants("quick", "slow"), tools=[quick, slow]) as stage:
        await soon(slow.running.wait())
        stage.store.faults["record"] = [DiskFull("no room")]
        quick.release.set()
        await stage.clock.nap(1.0)
        await soon(stage.pool.cut(REASON))
        assert await stage.results() == [(CallState.DONE, "quick is done")]
        assert (await stage.turn()).state is TurnState.INTERRUPTED


async def test_a_turn_is_marked_also_when_what_it_produced_cannot_be_kept(ledger: Ledger) -> None:
    quick, slow = Deed("quick"), Deed("slow", EffectClass.READ)
    await ledger.say()
    async with Stage(ledger, wants("quick", "slow"), tools=[quick, slow]) as stage:
        await soon(slow.running.wait())
        stage.store.faults["record"] = [DiskFull("no room")] * 2
        quick.release.set()
        await stage.clock.nap(1.0)
        await soon(stage.pool.cut(REASON))
        assert await stage.results() == []
        assert (await stage.turn()).state is TurnState.INTERRUPTED


async def test_an_answer_that_is_there_when_the_drain_ends_is_given(ledger: Ledger) -> None:
    async def answers(_: Sequence[Message]) -> Replied:
        cutting.append(asyncio.ensure_future(stage.pool.cut(REASON)))
        return says("just in time")

    cutting: list[asyncio.Task[None]] = []
    await ledger.say()
    async with Stage(ledger, answers) as stage:
        await soon(stage.model.asked.wait())
        await soon(asyncio.shield(cutting[0])) if cutting else await stage.quiet()
        await stage.quiet()
        assert await stage.told() == ["just in time"]
        assert (await stage.turn()).interruptions == 0


@pytest.mark.guards("R3.2")
async def test_a_mark_that_fails_keeps_no_other_turn_from_being_marked(ledger: Ledger) -> None:
    for chat in ("c1", "c2", "c3"):
        await ledger.say(chat=chat)
    async with Stage(ledger, hangs, hangs, hangs) as stage:
        while len(stage.model.shown) < 3:
            stage.model.asked.clear()
            await soon(stage.model.asked.wait())
        stage.store.faults["interrupt"] = [DiskFull("no room")]
        await soon(stage.pool.cut(REASON))
        states = [(await stage.turn(chat)).state for chat in ("c1", "c2", "c3")]
        assert states.count(TurnState.INTERRUPTED) == 2
        assert [type(fault) for _, fault in stage.reports] == [DiskFull]
        assert stage.pool.running() == ()


async def test_the_end_of_a_drain_does_not_wait_for_the_grace_of_a_stop(ledger: Ledger) -> None:
    deed = Deed(when_cancelled=never_ends)
    await ledger.say()
    async with Stage(ledger, wants("deed"), tools=[deed]) as stage:
        await soon(deed.running.wait())
        await ledger.store.stop(key(), StopKind.STOP, None)
        await stage.clock.nap(GRACE / 1000)
        cutting = asyncio.ensure_future(stage.pool.cut(REASON))
        await stage.clock.nap(GRACE / 1000)
        turn = await stage.turn()
        assert (turn.state, turn.stop) == (TurnState.INTERRUPTED, StopKind.STOP)
        ledger.clock.advance(2 * GRACE)
        await soon(cutting)


async def test_a_tool_that_will_not_end_does_not_hold_up_the_end_of_a_drain(ledger: Ledger) -> None:
    deed = Deed(when_cancelled=never_ends)
    await ledger.say()
    async with Stage(ledger, wants("deed"), tools=[deed]) as stage:
        await soon(deed.running.wait())
        cutting = asyncio.ensure_future(stage.pool.cut(REASON))
        await stage.clock.nap(GRACE / 1000)
        ledger.clock.advance(2 * GRACE)
        await soon(cutting)
        assert stage.pool.running() == ()
        assert (await stage.turn()).state is TurnState.INTERRUPTED


@pytest.mark.guards("R2.3", "R10.5", "H2", "O13")
async def test_a_turn_taken_over_ends_without_a_write(ledger: Ledger) -> None:
    deed = Deed(when_cancelled=returns_late)
    await ledger.say()
    async with Stage(ledger, wants("deed"), says("stale"), tools=[deed]) as stage:
        await soon(deed.running.wait())
        stage.pool.stop_claiming()
        await ledger.store.interrupt(await stage.fence(), "restart_interrupted")
        await ledger.settle("resume")
        again = await ledger.claim()
        async with ledger.unchanged():
            deed.release.set()
            await stage.quiet()
        assert (await stage.turn()).generation == again.fence.generation


async def test_a_stop_is_carried_out_when_the_disk_has_room_again(ledger: Ledger) -> None:
    deed = Deed()
    await ledger.say()
    async with Stage(ledger, wants("deed"), tools=[deed]) as stage:
        await soon(deed.running.wait())
        stage.store.faults["finish"] = [DiskFull("no room")]
        await ledger.store.stop(key(), StopKind.STOP, None)
        await stage.clock.nap(1.0)
        ledger.clock.advance(1_000)
        await stage.quiet()
        assert (await stage.turn()).state is TurnState.CANCELLED
