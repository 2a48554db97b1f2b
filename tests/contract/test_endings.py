"""How a turn stops running: calls settled, replies owed and strikes counted in the same commit."""

import pytest

from holdfast.errors import StopAsked, WrongState
from holdfast.model import (
    CallId,
    CallState,
    Claimed,
    EffectClass,
    InboxState,
    Partial,
    Returned,
    StopKind,
    Tail,
    TurnState,
)
from holdfast.policy.settings import MINUTE
from tests.support.ledger import Ledger, answers, key, owed, result
from tests.support.strike_rules import RunEnd, after_claim, after_end

ENDS = (TurnState.DONE, TurnState.FAILED, TurnState.CANCELLED)


@pytest.mark.parametrize("state", ENDS)
async def test_the_end_and_what_is_owed_for_it_are_one_commit(ledger: Ledger, state: TurnState) -> None:
    claimed = await ledger.begin()
    ledger.clock.advance(MINUTE)
    await ledger.store.finish(
        claimed.fence, state, (answers("bye"),), (owed("reply", "one", "two"),), "a reason", Tail.ANSWER
    )
    turn = await ledger.turn(claimed.session.id)
    assert (turn.state, turn.ended_at, turn.why, turn.tail, turn.owner) == (
        state,
        ledger.clock.now(),
        "a reason",
        Tail.ANSWER,
        None,
    )
    assert (await ledger.store.transcript(claimed.session.id))[-1].body == answers("bye")
    sent = await ledger.outbox()
    assert [(part.text, part.turn, part.session) for part in sent] == [
        ("one", turn.id, claimed.session.id),
        ("two", turn.id, claimed.session.id),
    ]


@pytest.mark.parametrize("state", sorted(set(TurnState) - set(ENDS)))
async def test_a_running_turn_ends_in_no_other_way(ledger: Ledger, state: TurnState) -> None:
    claimed = await ledger.begin()
    async with ledger.refused(WrongState):
        await ledger.store.finish(claimed.fence, state)


async def test_only_a_completed_turn_counts_for_the_age_of_the_session(ledger: Ledger) -> None:
    for state in (TurnState.FAILED, TurnState.CANCELLED):
        claimed = await ledger.begin()
        await ledger.finish(claimed.fence, state)
        assert (await ledger.store.session(claimed.session.id)).completed_at is None
    claimed = await ledger.complete()
    assert (await ledger.store.session(claimed.session.id)).completed_at == ledger.clock.now()


async def begin_calls(ledger: Ledger) -> Claimed:
    """A turn with a call settled, one started and one planned."""
    claimed = await ledger.begin()
    await ledger.start(claimed.fence, "settled", "started")
    await ledger.start(claimed.fence, "planned", start=False)
    await ledger.append(claimed.fence, result("settled"))
    return claimed


async def outcomes(ledger: Ledger, claimed: Claimed) -> dict[str, CallState]:
    """What the transcript says of each call; each is there once, as the journal has it."""
    journal = await ledger.store.journal(claimed.turn.id, 0)
    entries = await ledger.store.transcript(claimed.session.id)
    returned = [entry.body for entry in entries if isinstance(entry.body, Returned)]
    found = {str(body.call): body.state for body in returned}
    assert len(found) == len(returned)
    assert found == {str(call.id): call.state for call in journal.calls}
    return found


SETTLED = {"settled": CallState.DONE, "started": CallState.UNKNOWN, "planned": CallState.SKIPPED}


@pytest.mark.parametrize("state", ENDS)
async def test_finishing_settles_every_call_in_the_same_commit(ledger: Ledger, state: TurnState) -> None:
    claimed = await begin_calls(ledger)
    await ledger.store.finish(claimed.fence, state)
    assert await outcomes(ledger, claimed) == SETTLED


@pytest.mark.parametrize("kind", list(StopKind))
async def test_stopping_what_nobody_runs_settles_every_call(ledger: Ledger, kind: StopKind) -> None:
    claimed = await begin_calls(ledger)
    await ledger.store.interrupt(claimed.fence, "restart_timeout")
    await ledger.store.stop(key(), kind, None)
    assert await outcomes(ledger, claimed) == SETTLED


@pytest.mark.parametrize("name", ["stop_asked", "answered", "too_old", "too_many_strikes", "suspended"])
async def test_recovery_settles_every_call_of_what_it_ends(ledger: Ledger, name: str) -> None:
    claimed = await begin_calls(ledger)
    await ledger.recover(name)
    assert await outcomes(ledger, claimed) == SETTLED


async def test_a_cut_off_turn_keeps_its_calls_as_they_stand(ledger: Ledger) -> None:
    claimed = await begin_calls(ledger)
    await ledger.store.interrupt(claimed.fence, "restart_timeout")
    await ledger.settle("resume")
    again = await ledger.claim()
    assert [call.state for call in again.journal.calls] == [
        CallState.DONE,
        CallState.STARTED,
        CallState.PLANNED,
    ]


async def test_a_result_given_with_the_end_is_the_one_that_counts(ledger: Ledger) -> None:
    claimed = await begin_calls(ledger)
    await ledger.store.finish(claimed.fence, TurnState.CANCELLED, (result("started", CallState.FAILED),))
    assert await outcomes(ledger, claimed) == SETTLED | {"started": CallState.FAILED}


async def test_a_result_that_is_refused_keeps_the_turn_running(ledger: Ledger) -> None:
    claimed = await begin_calls(ledger)
    async with ledger.refused(WrongState):
        await ledger.store.finish(claimed.fence, TurnState.DONE, (result("settled"),), (owed("reply"),))
    await ledger.finish(claimed.fence)


@pytest.mark.parametrize("productive", [False, True])
@pytest.mark.parametrize("how", list(RunEnd))
async def test_strikes_follow_the_rule_however_a_run_ends(
    ledger: Ledger, how: RunEnd, productive: bool
) -> None:
    session = await ledger.die(1)
    await ledger.settle("resume")
    claimed = await ledger.claim()
    strikes = after_claim(1)
    assert claimed.session.strikes == strikes
    if productive:
        await ledger.start(claimed.fence, "c1", effect=EffectClass.READ)
    fence = claimed.fence
    match how:
        case RunEnd.DONE | RunEnd.FAILED | RunEnd.CANCELLED:
            await ledger.finish(fence, TurnState(how))
        case RunEnd.WAITING:
            await ledger.ask(fence, call="asked")
        case RunEnd.UNBEGUN:
            await ledger.store.put_back(fence)
        case RunEnd.DRAINED:
            await ledger.store.interrupt(fence, "restart_timeout")
        case RunEnd.DIED:
            await ledger.crash()
            await ledger.store.interrupt_orphans()
    assert (await ledger.store.session(session)).strikes == after_end(strikes, how, productive)


@pytest.mark.guards("R8.1", "R8.6")
@pytest.mark.parametrize(
    ("shown", "strikes"),
    [(Partial("half of an ans"), 0), (Partial("1 of 3 files", CallId("c1")), 1), (Partial(""), 1)],
    ids=["reply", "output", "nothing"],
)
async def test_a_drain_after_the_first_words_of_a_reply_leaves_no_strike(
    ledger: Ledger, shown: Partial, strikes: int
) -> None:
    claimed = await ledger.begin()
    await ledger.store.progress(claimed.fence, (shown,))
    await ledger.store.interrupt(claimed.fence, "restart_timeout")
    assert (await ledger.store.session(claimed.session.id)).strikes == strikes


async def test_a_new_message_takes_no_strike_back(ledger: Ledger) -> None:
    session = await ledger.die(2)
    await ledger.say("please")
    assert (await ledger.store.session(session)).strikes == 2


async def test_what_an_earlier_run_produced_does_not_excuse_a_later_one(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.append(claimed.fence, answers("partly"))
    await ledger.recover()
    again = await ledger.claim()
    await ledger.store.interrupt(again.fence, "restart_timeout")
    assert (await ledger.store.session(claimed.session.id)).strikes == 2


async def test_an_interruption_is_recorded_with_its_reason_time_and_count(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    ledger.clock.advance(MINUTE)
    await ledger.store.interrupt(claimed.fence, "a_reason_of_a_newer_version")
    turn = await ledger.turn(claimed.session.id)
    assert (turn.state, turn.interruption, turn.interrupted_at, turn.interruptions, turn.owner) == (
        TurnState.INTERRUPTED,
        "a_reason_of_a_newer_version",
        ledger.clock.now(),
        1,
        None,
    )
    assert await ledger.try_claim() is None


async def test_reading_claiming_or_resuming_does_not_end_an_interruption(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.store.interrupt(claimed.fence, "shutdown_timeout")
    await ledger.store.stale_turns()
    await ledger.settle("resume")
    again = await ledger.claim()
    assert (again.turn.interruption, again.turn.interruptions) == ("shutdown_timeout", 1)
    await ledger.finish(again.fence)
    assert (await ledger.turn(claimed.session.id)).state is TurnState.DONE
    assert await ledger.store.stale_turns() == ()


async def test_a_turn_put_back_carries_no_mark(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.store.put_back(claimed.fence)
    turn = await ledger.turn(claimed.session.id)
    assert (turn.state, turn.interruptions, turn.interruption) == (TurnState.QUEUED, 0, None)
    assert await ledger.store.stale_turns() == ()
    await ledger.crash()
    await ledger.store.interrupt_orphans()
    assert (await ledger.claim()).turn.id == claimed.turn.id


async def test_a_turn_waits_only_while_its_question_is_open(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    async with ledger.refused(WrongState):
        await ledger.store.wait(claimed.fence)
    await ledger.ask(claimed.fence)
    turn = await ledger.turn(claimed.session.id)
    assert (turn.state, turn.tail, turn.owner) == (TurnState.WAITING, Tail.QUESTION, None)


@pytest.mark.parametrize("kind", list(StopKind))
async def test_a_stopped_turn_can_only_be_cancelled_or_cut(ledger: Ledger, kind: StopKind) -> None:
    claimed = await ledger.begin()
    await ledger.start(claimed.fence, "c1")
    await ledger.append(claimed.fence, ask=(ledger.question(),))
    await ledger.store.stop(key(), kind, None)
    for state in (TurnState.DONE, TurnState.FAILED):
        async with ledger.refused(StopAsked):
            await ledger.finish(claimed.fence, state, owed("reply"))
    async with ledger.refused(StopAsked):
        await ledger.store.wait(claimed.fence)
    async with ledger.refused(StopAsked):
        await ledger.store.put_back(claimed.fence)
    await ledger.finish(claimed.fence, TurnState.CANCELLED)
    assert (await ledger.turn(claimed.session.id)).state is TurnState.CANCELLED


async def test_a_stop_asked_before_a_crash_still_holds_after_it(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.store.stop(key(), StopKind.STOP, None)
    await ledger.crash()
    await ledger.store.interrupt_orphans()
    (stale,) = await ledger.store.stale_turns()
    assert (stale.turn, stale.stands.stop) == (claimed.turn.id, StopKind.STOP)


async def test_the_end_of_a_turn_frees_its_conversation(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    waits = await ledger.say("next")
    await ledger.finish(claimed.fence)
    following = await ledger.claim()
    assert (following.cause.position, following.turn.id != claimed.turn.id) == (waits, True)
    assert (await ledger.store.row(waits)).state is InboxState.TAKEN


async def test_calls_of_a_finished_turn_cannot_be_touched(ledger: Ledger) -> None:
    first = await begin_calls(ledger)
    await ledger.finish(first.fence)
    second = await ledger.begin()
    async with ledger.refused(WrongState):
        await ledger.append(second.fence, start=(CallId("planned"),))
