"""Sequences that once broke a promise, each found by somebody who tried to."""

import pytest

from holdfast.errors import StopAsked, WrongState
from holdfast.model import (
    Batch,
    CallId,
    CallState,
    InboxState,
    Noted,
    QuestionId,
    Replied,
    Returned,
    Said,
    StopKind,
    Stopped,
    StopReason,
    Tail,
    ToolCall,
    TurnState,
    Undone,
)
from holdfast.policy.settings import HOUR, MINUTE
from holdfast.store import Edit, StopOutcome
from holdfast.testing import SeededIds
from tests.support.judging import rule
from tests.support.ledger import ACCOUNT, ANN, Ledger, address, answers, asks, key, owed, planned, result

HALF = "half a face: \ud83d."


async def test_half_a_character_in_a_message_holds_up_nobody(ledger: Ledger) -> None:
    position = await ledger.say(HALF)
    assert (await ledger.store.row(position)).text == "half a face: \ufffd."
    assert (await ledger.claim()).cause.position == position


async def test_half_a_character_in_a_result_or_a_reply_is_replaced_and_the_rest_is_kept(
    ledger: Ledger,
) -> None:
    claimed = await ledger.begin()
    await ledger.start(claimed.fence, "c1")
    await ledger.append(claimed.fence, Returned(CallId("c1"), CallState.DONE, HALF))
    await ledger.store.finish(claimed.fence, TurnState.DONE, (answers(HALF),), (owed("reply", HALF),))
    assert [part.text for part in await ledger.outbox()] == ["half a face: \ufffd."]


async def test_half_a_character_in_the_name_of_an_event_holds_up_nobody(ledger: Ledger) -> None:
    odd = "event \ud83d"
    batch = Batch(ACCOUNT, (ledger.message(event_id=odd),), refused=((odd + "2", "not allowed"),))
    (first,) = await ledger.store.accept(batch)
    (again,) = await ledger.store.accept(batch)
    assert (first.fresh, again.fresh, again.position) == (True, False, first.position)


async def test_a_time_no_ledger_can_hold_counts_as_absent(ledger: Ledger) -> None:
    position = await ledger.say(sent_at=2**70)
    assert (await ledger.store.row(position)).sent_at is None


async def test_what_is_written_after_a_stop_was_asked_is_not_swallowed_by_the_turn_that_ends(
    ledger: Ledger,
) -> None:
    claimed = await ledger.begin()
    stop = await ledger.store.stop(key(), StopKind.NEW, None)
    assert stop.outcome is StopOutcome.ASKED
    later = await ledger.say("something else")
    async with ledger.refused(StopAsked):
        await ledger.append(claimed.fence, Said("something else", ANN), consume=(later,))
    await ledger.finish(claimed.fence, TurnState.CANCELLED)
    assert (await ledger.claim()).cause.position == later


async def test_a_stop_closes_the_questions_of_a_running_turn(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.start(claimed.fence, "c1")
    await ledger.append(claimed.fence, ask=(ledger.question(),))
    await ledger.store.stop(key(), StopKind.STOP, None)
    later = await ledger.say("red")
    async with ledger.refused(WrongState):
        await ledger.store.answer(QuestionId("q1"), later, "red", ANN)


async def test_a_reply_that_broke_off_may_plan_and_skip_its_calls_in_one_step(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    broken = Replied("let me", StopReason.LENGTH, (ToolCall(CallId("c1"), "tool_c1", "{"),))
    skipped = Returned(CallId("c1"), CallState.SKIPPED, "broke off")
    await ledger.append(claimed.fence, broken, skipped, plan=(planned("c1"),))
    (call,) = (await ledger.store.journal(claimed.turn.id, 1)).calls
    assert call.state is CallState.SKIPPED


async def test_a_process_that_let_go_of_a_turn_does_not_hold_it(ledger: Ledger) -> None:
    await ledger.begin()
    await ledger.recover()
    again = await ledger.claim()
    await ledger.ask(again.fence)
    reply = await ledger.word("red")
    await ledger.store.answer(QuestionId("q1"), reply, "red", ANN)
    assert await ledger.try_claim(lambda stale, now: rule("platform_down")) is None
    (stale,) = await ledger.store.stale_turns()
    assert stale.stands.last_owner is None


async def test_whoever_finds_only_refused_work_is_told_to_look_again(ledger: Ledger) -> None:
    for n in range(33):
        await ledger.begin(chat=f"refused{n}")
    await ledger.recover()
    ledger.clock.advance(1)
    await ledger.say(chat="patient")
    seen = ledger.store.version("turns")
    assert await ledger.try_claim(lambda stale, now: rule("platform_down")) is None
    assert ledger.store.version("turns") > seen
    assert (await ledger.claim(lambda stale, now: rule("platform_down"))).place.chat == "patient"


async def test_a_cleared_suspect_lets_the_next_one_know(ledger: Ledger) -> None:
    await ledger.die(2)
    await ledger.settle("resume")
    claimed = await ledger.claim()
    seen = ledger.store.version("turns")
    await ledger.store.clear_suspect(claimed.fence)
    assert ledger.store.version("turns") > seen


async def test_time_in_the_quarantine_lane_counts_for_nothing_once_there_is_progress(ledger: Ledger) -> None:
    await ledger.die(2)
    await ledger.settle("quarantine")
    ledger.clock.advance(50 * MINUTE)
    await ledger.settle("resume")
    claimed = await ledger.claim()
    await ledger.append(claimed.fence, Replied("on it", StopReason.CUT), tail=Tail.PARTIAL)
    await ledger.crash()
    await ledger.store.interrupt_orphans()
    (stale,) = await ledger.store.stale_turns()
    assert stale.quarantined == 0


async def test_an_open_question_outweighs_a_newer_one_that_timed_out(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.start(claimed.fence, "c1", "c2")
    await ledger.append(
        claimed.fence,
        ask=(
            ledger.question("q1", "c1", expires_at=ledger.clock.now() + 10 * HOUR),
            ledger.question("q2", "c2", expires_at=ledger.clock.now() + MINUTE),
        ),
        tail=Tail.QUESTION,
    )
    await ledger.crash()
    ledger.clock.advance(HOUR)
    await ledger.store.interrupt_orphans()
    await ledger.store.expire_questions()
    (stale,) = await ledger.store.stale_turns()
    assert stale.stands.question == "open"


async def test_nothing_is_said_about_work_that_was_undone(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.start(claimed.fence, "c1")
    await ledger.append(claimed.fence, result("c1"))
    await ledger.finish(claimed.fence, TurnState.FAILED)
    await ledger.store.mark(claimed.session.id, 1, Undone(1, 3), 3)
    again = await ledger.begin("and now?")
    assert not [entry for entry in again.entries if isinstance(entry.body, Noted)]


async def test_continue_goes_on_although_another_question_is_open(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.append(claimed.fence, asks("c1", "c2"), plan=(planned("c1"), planned("c2")))
    await ledger.append(claimed.fence, start=(CallId("c1"),), ask=(ledger.question("q1", "c1"),))
    await ledger.crash()
    await ledger.store.interrupt_orphans()
    await ledger.settle("chat_says_ask", ask=ledger.question("go on?", None))
    reply = await ledger.word("continue")
    await ledger.store.answer(QuestionId("go on?"), reply, "continue", ANN)
    assert (await ledger.claim()).turn.id == claimed.turn.id


@pytest.mark.parametrize(("text", "state"), [("better", InboxState.OFFERED), (None, InboxState.DROPPED)])
async def test_an_offered_message_is_still_its_senders(
    ledger: Ledger, text: str | None, state: InboxState
) -> None:
    position = await ledger.say("old", message_id="m1")
    await ledger.store.settle_row(position, InboxState.OFFERED)
    assert await ledger.store.revise(Edit(address("c1"), "m1", text)) == position
    row = await ledger.store.row(position)
    assert (row.text, row.state) == (text or "old", state)


async def test_an_answer_from_elsewhere_leaves_nothing_ready_there(ledger: Ledger) -> None:
    claimed = await ledger.begin(chat="c1")
    await ledger.ask(claimed.fence)
    reply = await ledger.say("red", chat="c2")
    await ledger.store.answer(QuestionId("q1"), reply, "red", ANN)
    assert (await ledger.claim()).turn.id == claimed.turn.id
    assert await ledger.try_claim() is None
    assert await ledger.store.verify() == ()


async def test_an_unreadable_stop_is_a_stop_and_can_be_carried_out(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.store.stop(key(), StopKind.STOP, None)
    ledger.damage("UPDATE turns SET stop = 'gibberish'")
    await ledger.finish(claimed.fence, TurnState.CANCELLED)
    assert (await ledger.turn(claimed.session.id)).state is TurnState.CANCELLED


async def test_a_damaged_progress_time_gives_way_to_the_next_progress(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    ledger.damage("UPDATE turns SET progress_at = 999999999999999999")
    await ledger.append(claimed.fence, answers(), tail=Tail.ANSWER)
    assert (await ledger.turn(claimed.session.id)).progress_at == ledger.clock.now()


async def test_a_clock_set_back_between_two_runs_leaves_the_newest_last(ledger: Ledger) -> None:
    await ledger.complete("before")
    await ledger.store.end_instance(Stopped.STOPPED)
    await ledger.crash()
    ledger.clock.jump(-24 * HOUR)
    first = ledger.store.instance
    ledger.ids = SeededIds(ledger.clock, "another process")
    await ledger.crash()
    claimed = await ledger.begin("after")
    assert (await ledger.turn(claimed.session.id)).id == claimed.turn.id
    assert [run.id for run in await ledger.store.instances()][:2] == [ledger.store.instance, first]
    assert (await ledger.store.continuity()).previous_ended == "crashed"
