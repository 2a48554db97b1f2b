"""A message that arrives is admitted in the commit that keeps it, and told only what is true then."""

from typing import Any

import pytest

from holdfast.model import (
    Accepted,
    Batch,
    BusyMode,
    ChatSettings,
    Claimed,
    InboxKind,
    InboxState,
    OwedKind,
    Partial,
    QuestionId,
    QuestionKind,
    QuestionState,
    StopKind,
    TurnState,
    partial_key,
)
from holdfast.policy.intake.admission import Drain, Refusal
from holdfast.policy.recovery.notes import Dropped
from holdfast.policy.settings import DAY, HOUR, MINUTE, QueueSettings
from holdfast.policy.turn.partials import CUT_OFF_HERE, stopped_reply
from holdfast.store import AS_CONFIGURED, ArrivalSettings, Edit
from tests.support.ledger import ACCOUNT, ANN, BOB, Ledger, address, asks, key, never_asked, planned

Q1 = QuestionId("q1")


async def arrive(
    ledger: Ledger, text: str = "hello", settings: ArrivalSettings = AS_CONFIGURED, **more: Any
) -> Accepted:
    (accepted,) = await ledger.store.accept(Batch(ACCOUNT, (ledger.message(text, **more),)), settings)
    return accepted


async def state_of(ledger: Ledger, accepted: Accepted) -> InboxState:
    return (await ledger.store.row(accepted.position)).state


async def told(ledger: Ledger, chat: str = "c1") -> list[str]:
    return [one.text for one in await ledger.outbox(chat) if one.kind is OwedKind.NOTICE]


async def asked(ledger: Ledger, **more: Any) -> Claimed:
    claimed = await ledger.begin()
    await ledger.ask(claimed.fence, **more)
    return claimed


async def question_state(ledger: Ledger, claimed: Claimed, id: str = "q1") -> QuestionState:
    journal = await ledger.store.journal(claimed.turn.id, claimed.fence.generation)
    (found,) = [one for one in journal.questions if one.id == id]
    return found.state


# Waiting, and what is said about it


async def test_a_message_to_an_idle_chat_waits_and_is_told_nothing(ledger: Ledger) -> None:
    accepted = await arrive(ledger)
    assert accepted.words is None
    assert await told(ledger) == []
    assert (await ledger.claim()).cause.position == accepted.position


async def test_a_message_during_a_turn_is_told_once_that_it_is_queued(ledger: Ledger) -> None:
    await ledger.begin()
    accepted = await arrive(ledger, event_id="x", message_id="m7")
    (notice,) = await ledger.outbox()
    assert (notice.kind, notice.dedupe, notice.reply_to) == (
        OwedKind.NOTICE,
        f"ack:{accepted.position}",
        "m7",
    )
    assert accepted.words == notice.text
    assert notice.text.startswith("Queued")
    async with ledger.unchanged():
        again = await arrive(ledger, event_id="x", message_id="m7")
    assert again == Accepted("x", accepted.position, fresh=False)


@pytest.mark.parametrize("drain", list(Drain))
async def test_during_a_drain_it_is_told_when_it_comes(ledger: Ledger, drain: Drain) -> None:
    accepted = await arrive(ledger, settings=ArrivalSettings(draining=drain))
    assert await told(ledger) == [accepted.words]
    assert await state_of(ledger, accepted) is InboxState.WAITING


async def test_a_full_queue_refuses_in_words_and_takes_nothing(ledger: Ledger) -> None:
    settings = ArrivalSettings(QueueSettings(most=2))
    await ledger.begin()
    kept = [await arrive(ledger, settings=settings) for _ in range(2)]
    refused = await arrive(ledger, settings=settings)
    row = await ledger.store.row(refused.position)
    assert (row.state, row.reason) == (InboxState.REFUSED, Refusal.QUEUE_FULL)
    assert (await told(ledger))[-1] == refused.words
    waiting = await ledger.store.waiting(key())
    assert [row.position for row in waiting] == [one.position for one in kept]


async def test_a_batch_fills_the_queue_row_by_row(ledger: Ledger) -> None:
    batch = Batch(ACCOUNT, tuple(ledger.message(f"{n}") for n in range(4)))
    accepted = await ledger.store.accept(batch, ArrivalSettings(QueueSettings(most=3)))
    states = [await state_of(ledger, one) for one in accepted]
    assert states == [*[InboxState.WAITING] * 3, InboxState.REFUSED]


@pytest.mark.parametrize("kind", [InboxKind.MESSAGE, InboxKind.COMMAND])
async def test_what_is_too_long_is_refused_and_a_beginning_of_it_kept(
    ledger: Ledger, kind: InboxKind
) -> None:
    settings = ArrivalSettings(QueueSettings(longest=10))
    fits = await arrive(ledger, "x" * 10, settings)
    assert await state_of(ledger, fits) is InboxState.WAITING
    refused = await arrive(ledger, "/help me " + "y" * 10, settings, kind=kind)
    row = await ledger.store.row(refused.position)
    assert (row.state, row.reason, row.text) == (InboxState.REFUSED, Refusal.TOO_LONG, "/help me y")
    assert "10" in (refused.words or "")
    assert await ledger.store.commands() == ()


# Busy modes


async def test_interrupt_asks_the_running_turn_to_stop_and_waits(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    seen = ledger.store.version("stops")
    accepted = await arrive(ledger, settings=ArrivalSettings(busy=BusyMode.INTERRUPT))
    assert (await ledger.turn(claimed.session.id)).stop is StopKind.INTERRUPT
    assert ledger.store.version("stops") > seen
    assert await ledger.store.stops() == (claimed.turn.id,)
    await ledger.finish(claimed.fence, TurnState.CANCELLED)
    following = await ledger.claim()
    assert (following.cause.position, following.session.id) == (accepted.position, claimed.session.id)


async def test_interrupt_with_nothing_running_stops_nothing(ledger: Ledger) -> None:
    claimed = await asked(ledger)
    accepted = await arrive(ledger, sender=BOB, settings=ArrivalSettings(busy=BusyMode.INTERRUPT))
    assert (await ledger.turn(claimed.session.id)).state is TurnState.WAITING
    assert await state_of(ledger, accepted) is InboxState.WAITING


async def test_what_the_chat_chose_outranks_the_default(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.store.configure_chat(address(), ChatSettings(busy=BusyMode.STEER))
    accepted = await arrive(ledger, settings=ArrivalSettings(busy=BusyMode.INTERRUPT))
    assert (await ledger.turn(claimed.session.id)).stop is None
    assert (accepted.words or "").startswith("Kept.")


# Old messages


async def test_an_old_message_is_offered_and_the_first_of_them_told(ledger: Ledger) -> None:
    old = ledger.clock.now() - 2 * DAY
    offered = [await arrive(ledger, f"{n}", sent_at=old) for n in range(3)]
    assert {await state_of(ledger, one) for one in offered} == {InboxState.OFFERED}
    assert len(await told(ledger)) == 1
    assert await ledger.try_claim() is None
    assert all(one.words for one in offered)
    await arrive(ledger, "elsewhere", chat="c2", sent_at=old)
    assert len(await told(ledger, "c2")) == 1
    await ledger.store.take_up(offered[0].position)
    assert (await ledger.claim()).cause.position == offered[0].position


# Questions


async def test_a_fitting_message_answers_the_open_question(ledger: Ledger) -> None:
    claimed = await asked(ledger, options=("red", "blue"))
    accepted = await arrive(ledger, "2")
    row = await ledger.store.row(accepted.position)
    assert (row.state, row.question) == (InboxState.ANSWERED, Q1)
    again = await ledger.claim(never_asked)
    assert (again.turn.id, again.journal.questions[0].answer) == (claimed.turn.id, "blue")
    assert again.take == ()


async def test_an_answer_is_taken_while_the_turn_still_runs(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.append(claimed.fence, asks("c1"), plan=(planned("c1"),), ask=(ledger.question(),))
    await arrive(ledger, "red")
    assert await question_state(ledger, claimed) is QuestionState.ANSWERED
    assert (await ledger.turn(claimed.session.id)).state is TurnState.RUNNING


async def test_somebody_elses_message_waits_and_is_told_what_is_waited_for(ledger: Ledger) -> None:
    claimed = await asked(ledger)
    accepted = await arrive(ledger, "red", sender=BOB)
    assert await state_of(ledger, accepted) is InboxState.WAITING
    assert "which one?" in (accepted.words or "")
    assert await question_state(ledger, claimed) is QuestionState.OPEN


async def test_a_message_sent_before_the_question_does_not_answer_it(ledger: Ledger) -> None:
    claimed = await asked(ledger)
    accepted = await arrive(ledger, "red", sent_at=ledger.clock.now() - MINUTE)
    assert await state_of(ledger, accepted) is InboxState.WAITING
    assert await question_state(ledger, claimed) is QuestionState.OPEN


async def test_a_message_that_fits_not_sets_the_question_aside_and_joins_its_turn(ledger: Ledger) -> None:
    claimed = await asked(ledger, options=("red", "blue"))
    await arrive(ledger, "somebody else waits longer", sender=BOB)
    accepted = await arrive(ledger, "let us talk about lunch")
    later = await arrive(ledger, "and drinks")
    row = await ledger.store.row(accepted.position)
    assert (row.state, row.question) == (InboxState.WAITING, Q1)
    assert await question_state(ledger, claimed) is QuestionState.SET_ASIDE
    again = await ledger.claim(never_asked)
    assert (again.turn.id, again.take) == (claimed.turn.id, (accepted.position,))
    assert await state_of(ledger, later) is InboxState.WAITING


async def test_all_that_one_person_was_asked_in_a_turn_is_set_aside_together(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    calls = ("c1", "c2", "c3")
    given = (ANN, ANN, BOB)
    questions = tuple(
        ledger.question(f"q{n}", call, options=("a", "b"), asked_of=person)
        for n, (call, person) in enumerate(zip(calls, given, strict=True), start=1)
    )
    await ledger.append(claimed.fence, asks(*calls), plan=tuple(map(planned, calls)), ask=questions)
    await ledger.store.wait(claimed.fence)
    await arrive(ledger, "neither")
    states = [await question_state(ledger, claimed, f"q{n}") for n in (1, 2, 3)]
    assert states == [QuestionState.SET_ASIDE, QuestionState.SET_ASIDE, QuestionState.OPEN]
    assert (await ledger.turn(claimed.session.id)).state is TurnState.WAITING


async def test_of_two_questions_the_one_is_answered_that_the_text_fits(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    questions = (
        ledger.question("q1", "c1", options=("red", "blue")),
        ledger.question("q2", "c2", options=("round", "square")),
    )
    await ledger.append(claimed.fence, asks("c1", "c2"), plan=(planned("c1"), planned("c2")), ask=questions)
    await ledger.store.wait(claimed.fence)
    await arrive(ledger, "square")
    assert await question_state(ledger, claimed, "q2") is QuestionState.ANSWERED
    assert await question_state(ledger, claimed, "q1") is QuestionState.OPEN


async def test_a_question_past_its_time_is_no_longer_answered(ledger: Ledger) -> None:
    claimed = await asked(ledger)
    ledger.clock.advance(HOUR)
    accepted = await arrive(ledger, "red")
    assert await state_of(ledger, accepted) is InboxState.WAITING
    assert await question_state(ledger, claimed) is QuestionState.OPEN, "its expiry is another verb's"


@pytest.mark.parametrize("command", ["/stop", "/new"])
async def test_what_follows_a_stop_that_is_not_carried_out_yet_is_no_answer(
    ledger: Ledger, command: str
) -> None:
    await asked(ledger)
    stop = await ledger.command(command)
    after = await arrive(ledger, "something new")
    await ledger.store.stop(key(), StopKind(command[1:]), stop)
    assert (await ledger.claim()).cause.position == after.position


async def test_another_command_in_line_changes_nothing_about_an_answer(ledger: Ledger) -> None:
    await asked(ledger)
    await ledger.command("/status")
    assert await state_of(ledger, await arrive(ledger, "red")) is InboxState.ANSWERED


# Buttons


async def test_a_press_answers_its_question_and_a_second_one_is_told_it_is_closed(ledger: Ledger) -> None:
    await asked(ledger, options=("red", "blue"))
    assert await state_of(ledger, await arrive(ledger, "red", pressed=Q1)) is InboxState.ANSWERED
    late = await arrive(ledger, "blue", pressed=Q1)
    row = await ledger.store.row(late.position)
    assert (row.state, row.reason) == (InboxState.REFUSED, Refusal.QUESTION_CLOSED)
    assert await told(ledger) == [late.words]


async def test_a_press_by_somebody_else_is_refused(ledger: Ledger) -> None:
    claimed = await asked(ledger, options=("red", "blue"))
    pressed = await arrive(ledger, "red", pressed=Q1, sender=BOB)
    assert (await ledger.store.row(pressed.position)).reason == Refusal.NOT_ASKED
    assert await question_state(ledger, claimed) is QuestionState.OPEN


@pytest.mark.parametrize(
    ("asked_of", "reason"), [(ANN, None), (BOB, Refusal.QUESTION_CLOSED), (None, Refusal.QUESTION_CLOSED)]
)
async def test_from_another_chat_only_who_was_asked_can_answer(
    ledger: Ledger, asked_of: object, reason: Refusal | None
) -> None:
    await asked(ledger, options=("red", "blue"), asked_of=asked_of)
    pressed = await arrive(ledger, "red", pressed=Q1, chat="c2")
    assert (await ledger.store.row(pressed.position)).reason == reason


async def test_a_press_for_an_ended_conversation_is_told_it_is_closed(ledger: Ledger) -> None:
    await asked(ledger, options=("red", "blue"))
    await ledger.store.stop(key(), StopKind.NEW, None)
    pressed = await arrive(ledger, "red", pressed=Q1)
    assert (await ledger.store.row(pressed.position)).reason == Refusal.QUESTION_CLOSED


# Continue or drop


async def cut_off(ledger: Ledger) -> Claimed:
    claimed = await ledger.begin("the work")
    await ledger.crash()
    await ledger.store.interrupt_orphans()
    question = ledger.question("q1", None, kind=QuestionKind.CONTINUE, options=("continue", "drop"))
    await ledger.settle("chat_says_ask", ask=question)
    return claimed


async def test_continue_lets_the_work_go_on(ledger: Ledger) -> None:
    claimed = await cut_off(ledger)
    accepted = await arrive(ledger, "yes")
    assert await state_of(ledger, accepted) is InboxState.ANSWERED
    assert (await ledger.claim()).turn.id == claimed.turn.id


async def test_any_other_message_drops_the_work_and_is_the_next_turn(ledger: Ledger) -> None:
    claimed = await cut_off(ledger)
    accepted = await arrive(ledger, "what is the weather?")
    turn = await ledger.turn(claimed.session.id)
    assert (turn.state, turn.why) == (TurnState.CANCELLED, Dropped.WROTE_ELSE)
    following = await ledger.claim(never_asked)
    assert (following.cause.position, following.session.id) == (accepted.position, claimed.session.id)
    assert await told(ledger) == [accepted.words]


@pytest.mark.guards("R6.4", "R24.3")
@pytest.mark.parametrize("how", ["drop", "what is the weather?", "no word for an hour"])
async def test_a_chat_keeps_what_it_saw_of_a_reply_when_the_work_is_dropped(ledger: Ledger, how: str) -> None:
    await ledger.say("the work", message_id="m1")
    claimed = await ledger.claim()
    await ledger.store.progress(claimed.fence, (Partial("half an answer", after=claimed.turn.last_seq),))
    await ledger.crash()
    await ledger.store.interrupt_orphans()
    question = ledger.question("q1", None, kind=QuestionKind.CONTINUE, options=("continue", "drop"))
    await ledger.settle("chat_says_ask", ask=question)
    if how == "no word for an hour":
        ledger.clock.advance(HOUR)
        await ledger.expired()
    else:
        await arrive(ledger, how)
    assert (await ledger.turn(claimed.session.id)).state is TurnState.CANCELLED
    (kept,) = [part for part in await ledger.outbox() if part.dedupe == partial_key(claimed.turn.id)]
    assert kept.text == stopped_reply("half an answer", CUT_OFF_HERE)
    assert (kept.reply_to, kept.session, kept.turn) == ("m1", claimed.session.id, claimed.turn.id)


async def test_an_edit_after_a_set_aside_is_what_the_turn_takes(ledger: Ledger) -> None:
    await asked(ledger, options=("red", "blue"))
    accepted = await arrive(ledger, "neither", message_id="m1")
    await ledger.store.revise(Edit(address(), "m1", "both"))
    again = await ledger.claim(never_asked)
    assert again.take == (accepted.position,)
    assert (await ledger.store.row(accepted.position)).text == "both"
