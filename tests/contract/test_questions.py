"""Questions to people: asked with their message, answered once, by the one who was asked, while they last."""

from typing import Any

import pytest

from holdfast.errors import ConstraintBroken, StaleWrite, WrongState
from holdfast.model import (
    OPEN_ENDED,
    AskedBy,
    CallId,
    CallState,
    Claimed,
    InboxKind,
    InboxState,
    OwedKind,
    Position,
    QuestionId,
    QuestionKind,
    QuestionRecord,
    QuestionState,
    Returned,
    Said,
    StopKind,
    Tail,
    TurnId,
    TurnState,
)
from holdfast.policy.recovery.notes import Dropped
from holdfast.policy.settings import HOUR, MINUTE
from tests.support.judging import rule
from tests.support.ledger import (
    ANN,
    BOB,
    Ledger,
    answers,
    asks,
    key,
    never_asked,
    owed,
    planned,
    result,
)

Q1 = QuestionId("q1")
NO_ANSWER = "no answer: the person has not answered in time."


async def asked(ledger: Ledger, **more: Any) -> Claimed:
    """A turn that waits for Ann's answer."""
    claimed = await ledger.begin()
    await ledger.ask(claimed.fence, **more)
    return claimed


async def question(ledger: Ledger, claimed: Claimed, number: int = 0) -> QuestionRecord:
    return (await ledger.store.journal(claimed.turn.id, 1)).questions[number]


async def unanswered_call(ledger: Ledger, claimed: Claimed) -> tuple[CallState, str]:
    """How the call that asked was settled, and what the model will read of it."""
    (found,) = (await ledger.store.journal(claimed.turn.id, 1)).calls
    entries = await ledger.store.transcript(claimed.session.id)
    (text,) = [one.body.text for one in entries if isinstance(one.body, Returned)]
    return found.state, text


async def told(ledger: Ledger) -> list[str]:
    return [part.text for part in await ledger.outbox() if part.kind is OwedKind.NOTICE]


async def test_a_question_and_the_message_that_carries_it_are_one_commit(ledger: Ledger) -> None:
    claimed = await asked(ledger, options=("a", "b"))
    record = await question(ledger, claimed)
    assert (record.kind, record.call, record.state, record.asked_of, record.options) == (
        QuestionKind.CLARIFY,
        "c1",
        QuestionState.OPEN,
        ANN,
        ("a", "b"),
    )
    (sent,) = await ledger.outbox()
    assert (sent.kind, sent.turn) == (OwedKind.QUESTION, claimed.turn.id)


async def test_how_questions_were_closed_and_by_whom_is_seen_in_the_order_they_were_asked(
    ledger: Ledger,
) -> None:
    first = await asked(ledger)
    await ledger.store.answer(Q1, await ledger.word("red"), "red", ANN)
    answered_at = ledger.clock.now()
    again = await ledger.claim(never_asked)
    ledger.clock.advance(MINUTE)
    await ledger.append(again.fence, result("c1"))
    await ledger.start(again.fence, "c0")
    await ledger.append(again.fence, ask=(ledger.question("q0", "c0"),))
    one, two = await ledger.store.questions((first.turn.id,))
    assert (one.id, one.answer, one.answered_by, one.closed_at) == ("q1", "red", ANN, answered_at)
    assert (two.id, two.state, two.answered_by, two.closed_at) == ("q0", QuestionState.OPEN, None, None)
    assert await ledger.store.questions(()) == ()


async def test_the_run_that_goes_on_knows_when_its_question_was_closed(ledger: Ledger) -> None:
    await asked(ledger)
    ledger.clock.advance(MINUTE)
    await ledger.store.answer(Q1, await ledger.word("red"), "red", ANN)
    claimed = await ledger.claim(never_asked)
    assert claimed.journal.questions[0].closed_at == ledger.clock.now()


@pytest.mark.guards("R13")
async def test_a_button_of_a_closed_question_says_how_to_those_it_was_for_and_nothing_to_others(
    ledger: Ledger,
) -> None:
    await asked(ledger, options=("a", "b"))
    await ledger.say("a", pressed=Q1)
    await ledger.say("b", pressed=Q1)
    assert "already has an answer" in (await ledger.outbox())[-1].text
    await ledger.say("b", chat="elsewhere", sender=BOB, pressed=Q1)
    assert "That question is closed" in (await ledger.outbox("elsewhere"))[-1].text


async def test_a_waiting_turn_holds_its_session(ledger: Ledger) -> None:
    await asked(ledger)
    await ledger.say("something else", sender=BOB)
    async with ledger.unchanged():
        assert await ledger.try_claim() is None


async def test_an_answer_is_taken_once_and_queues_its_turn(ledger: Ledger) -> None:
    claimed = await asked(ledger)
    ledger.clock.advance(MINUTE)
    reply, second = await ledger.word("the red one"), await ledger.word("no, the blue one")
    await ledger.store.answer(Q1, reply, "red", ANN, (owed("thanks"),))
    record = await question(ledger, claimed)
    assert (record.state, record.answer) == (QuestionState.ANSWERED, "red")
    row = await ledger.store.row(reply)
    assert (row.state, row.question, row.turn) == (InboxState.ANSWERED, Q1, None)
    turn = await ledger.turn(claimed.session.id)
    assert (turn.state, turn.progress_at) == (TurnState.QUEUED, ledger.clock.now())

    async with ledger.refused(WrongState):
        await ledger.store.answer(Q1, second, "blue", ANN, (owed("thanks again"),))
    again = await ledger.claim(never_asked)
    assert (again.turn.id, again.journal.questions[0].answer) == (claimed.turn.id, "red")
    assert not again.resumed, "waiting for a person is no interruption"
    assert (await ledger.store.row(second)).state is InboxState.WAITING


async def test_the_same_answer_works_after_a_restart(ledger: Ledger) -> None:
    claimed = await asked(ledger)
    await ledger.crash()
    assert await ledger.store.interrupt_orphans() == 0
    await ledger.store.answer(Q1, await ledger.word("red"), "red", ANN)
    assert (await ledger.claim(never_asked)).turn.id == claimed.turn.id


async def test_an_answer_is_accepted_while_the_turn_still_runs(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.start(claimed.fence, "c1")
    await ledger.append(claimed.fence, ask=(ledger.question(),))
    await ledger.store.answer(Q1, await ledger.word("red"), "red", ANN)
    assert (await ledger.turn(claimed.session.id)).state is TurnState.RUNNING
    async with ledger.refused(WrongState):
        await ledger.store.wait(claimed.fence)
    assert (await question(ledger, claimed)).answer == "red"


async def test_only_who_was_asked_can_answer(ledger: Ledger) -> None:
    await asked(ledger)
    reply = await ledger.say("me!", sender=BOB)
    async with ledger.refused(WrongState):
        await ledger.store.answer(Q1, reply, "red", BOB)


async def test_a_question_to_everybody_is_answered_by_anybody(ledger: Ledger) -> None:
    await asked(ledger, asked_of=None)
    await ledger.store.answer(Q1, await ledger.word("me!", sender=BOB), "red", BOB)


async def test_an_answer_needs_a_question_and_a_row_that_waits(ledger: Ledger) -> None:
    claimed = await asked(ledger)
    waits = await ledger.say()
    async with ledger.refused(WrongState):
        await ledger.store.answer(QuestionId("none"), waits, "red", ANN)
    for position in (claimed.turn.cause, Position(99)):
        async with ledger.refused(WrongState):
            await ledger.store.answer(Q1, position, "red", ANN)


@pytest.mark.parametrize("kind", [StopKind.STOP, StopKind.NEW])
async def test_no_answer_is_taken_after_its_turn_was_ended(ledger: Ledger, kind: StopKind) -> None:
    claimed = await asked(ledger)
    await ledger.store.stop(key(), kind, None)
    late = await ledger.say("red")
    async with ledger.refused(WrongState):
        await ledger.store.answer(Q1, late, "red", ANN)
    assert (await question(ledger, claimed)).state is QuestionState.CANCELLED


async def test_no_answer_is_taken_under_an_older_incarnation(ledger: Ledger) -> None:
    claimed = await asked(ledger)
    reply = await ledger.say("red")
    ledger.damage(f"UPDATE sessions SET incarnation = incarnation + 1 WHERE id = '{claimed.session.id}'")
    async with ledger.refused(WrongState):
        await ledger.store.answer(Q1, reply, "red", ANN)


async def test_an_old_yes_never_applies(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.start(claimed.fence, "c1", start=False)
    await ledger.append(
        claimed.fence,
        ask=(
            ledger.question(kind=QuestionKind.APPROVAL, call_hash="h", expires_at=ledger.clock.now() + HOUR),
        ),
    )
    await ledger.store.wait(claimed.fence)
    ledger.clock.advance(HOUR)
    late = await ledger.say("yes")
    async with ledger.refused(WrongState):
        await ledger.store.answer(Q1, late, "yes", ANN)
    assert await ledger.expired() == (Q1,)


async def test_an_approval_is_for_one_call_and_a_clarification_for_none(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.start(claimed.fence, "c1", start=False)
    for ask in (
        ledger.question(kind=QuestionKind.APPROVAL),
        ledger.question(kind=QuestionKind.CLARIFY, call_hash="h"),
        ledger.question(kind=QuestionKind.CONTINUE),
    ):
        async with ledger.refused(ConstraintBroken):
            await ledger.append(claimed.fence, ask=(ask,))


async def test_a_turn_goes_on_when_the_last_of_its_questions_is_closed(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.start(claimed.fence, "c1", "c2")
    await ledger.append(
        claimed.fence, ask=(ledger.question("q1", "c1"), ledger.question("q2", "c2", owed=owed("q2")))
    )
    await ledger.store.wait(claimed.fence)
    ledger.clock.advance(MINUTE)
    await ledger.store.answer(Q1, await ledger.word("one"), "one", ANN)
    turn = await ledger.turn(claimed.session.id)
    assert (turn.state, turn.progress_at) == (TurnState.WAITING, ledger.clock.now())
    await ledger.store.answer(QuestionId("q2"), await ledger.word("two"), "two", ANN)
    assert (await ledger.turn(claimed.session.id)).state is TurnState.QUEUED


async def test_what_ends_with_its_turn_is_not_closed_again_when_its_own_time_is_up(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.start(claimed.fence, "c1")
    await ledger.append(claimed.fence, ask=(ledger.question("q1", "c1"),))
    await ledger.crash()
    await ledger.store.interrupt_orphans()
    sooner = ledger.clock.now() + MINUTE
    shall_i = ledger.question(
        "q2",
        None,
        kind=QuestionKind.CONTINUE,
        options=("continue", "drop"),
        expires_at=sooner,
        owed=owed("q2"),
    )
    await ledger.settle("chat_says_ask", ask=shall_i)
    ledger.clock.advance(2 * HOUR)
    assert await ledger.expired() == (QuestionId("q2"),)
    assert (await ledger.turn(claimed.session.id)).state is TurnState.CANCELLED
    closed = await ledger.store.questions((claimed.turn.id,))
    assert [one.state for one in closed] == [QuestionState.CANCELLED, QuestionState.EXPIRED]


@pytest.mark.guards("R5", "R13")
async def test_a_question_whose_time_is_up_ends_its_turn_and_frees_the_session_once(ledger: Ledger) -> None:
    claimed = await asked(ledger)
    asked_at = ledger.clock.now()
    ledger.clock.advance(HOUR - 1)
    async with ledger.unchanged():
        assert await ledger.expired() == ()
    ledger.clock.advance(1)
    await ledger.crash()
    assert await ledger.expired() == (Q1,)
    turn = await ledger.turn(claimed.session.id)
    assert (turn.state, turn.why) == (TurnState.EXPIRED, "unanswered")
    assert turn.progress_at == asked_at, "silence is no progress"
    assert await unanswered_call(ledger, claimed) == (CallState.FAILED, NO_ANSWER)
    async with ledger.unchanged():
        assert await ledger.expired() == ()
        assert await ledger.try_claim() is None
    assert await told(ledger) == [], "the card says it"
    following = await ledger.begin("the next message")
    assert following.session.id == claimed.session.id
    assert [type(entry.body) for entry in following.entries] == [Said], "and no note"


@pytest.mark.guards("R13")
async def test_a_question_that_never_went_out_ends_its_turn_the_same_way(ledger: Ledger) -> None:
    claimed = await asked(ledger)
    await ledger.store.question_undeliverable(Q1)
    assert (await question(ledger, claimed)).state is QuestionState.UNDELIVERABLE
    turn = await ledger.turn(claimed.session.id)
    assert (turn.state, turn.why) == (TurnState.EXPIRED, "unanswered")
    assert (await unanswered_call(ledger, claimed))[0] is CallState.FAILED
    async with ledger.refused(WrongState):
        await ledger.store.question_undeliverable(Q1)
    late = await ledger.say("late")
    async with ledger.refused(WrongState):
        await ledger.store.answer(Q1, late, "late", ANN)
    assert (await ledger.claim()).turn.id != claimed.turn.id, "what comes next is answered for itself"


@pytest.mark.guards("R13", "R7.4")
async def test_a_question_that_expires_during_its_turn_ends_it_where_it_would_wait(
    ledger: Ledger,
) -> None:
    claimed = await ledger.begin()
    calls = tuple(planned(call) for call in ("c1", "beside", "later"))
    started = (CallId("c1"), CallId("beside"))
    await ledger.append(claimed.fence, asks("c1", "beside", "later"), plan=calls, start=started)
    await ledger.append(claimed.fence, ask=(ledger.question(),))
    ledger.clock.advance(HOUR)
    assert await ledger.expired() == (Q1,)
    assert (await ledger.turn(claimed.session.id)).state is TurnState.RUNNING
    await ledger.append(claimed.fence, result("beside", text="kept"))
    await ledger.store.wait(claimed.fence)
    turn = await ledger.turn(claimed.session.id)
    assert (turn.state, turn.why, turn.owner) == (TurnState.EXPIRED, "unanswered", None)
    states = {call.id: call.state for call in (await ledger.store.journal(turn.id, 1)).calls}
    assert states == {"c1": CallState.FAILED, "beside": CallState.DONE, "later": CallState.SKIPPED}
    session = await ledger.store.session(claimed.session.id)
    assert (session.strikes, session.generation) == (0, claimed.fence.generation + 1)
    assert await ledger.try_claim() is None
    with pytest.raises(StaleWrite):
        await ledger.append(claimed.fence, answers())


async def test_a_turn_that_also_asks_something_else_waits_for_that(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.append(
        claimed.fence, asks("c1", "c2"), plan=(planned("c1"), planned("c2")), start=(CallId("c1"),)
    )
    longer = ledger.clock.now() + 2 * HOUR
    other = ledger.question(
        "q2",
        "c2",
        kind=QuestionKind.APPROVAL,
        call_hash="h",
        expires_at=longer,
        owed=owed("q2", kind=OwedKind.QUESTION),
    )
    await ledger.append(claimed.fence, ask=(ledger.question(), other))
    await ledger.store.wait(claimed.fence)
    ledger.clock.advance(HOUR)
    assert await ledger.expired() == (Q1,)
    assert (await ledger.turn(claimed.session.id)).state is TurnState.WAITING
    await ledger.store.answer(QuestionId("q2"), await ledger.word("yes"), "yes", ANN)
    again = await ledger.claim(never_asked)
    await ledger.store.wait(again.fence)
    assert (await ledger.turn(claimed.session.id)).why == "unanswered"


async def approval(ledger: Ledger) -> Claimed:
    """A turn that waits for Ann's permission, for an hour."""
    claimed = await ledger.begin()
    await ledger.append(claimed.fence, asks("c1"), plan=(planned("c1"),))
    may_i = ledger.question(kind=QuestionKind.APPROVAL, call_hash="h", options=("allow once", "do not"))
    await ledger.append(claimed.fence, ask=(may_i,), tail=Tail.QUESTION)
    await ledger.store.wait(claimed.fence)
    return claimed


@pytest.mark.guards("R5", "R13")
async def test_an_approval_noticed_within_the_window_after_its_expiry_lets_the_turn_go_on(
    ledger: Ledger,
) -> None:
    claimed = await approval(ledger)
    ledger.clock.advance(2 * HOUR)
    assert await ledger.expired() == (Q1,)
    again = await ledger.claim(never_asked)
    assert (again.turn.id, again.resumed) == (claimed.turn.id, False)
    assert again.journal.questions[0].state is QuestionState.EXPIRED
    assert await told(ledger) == []


@pytest.mark.guards("R5", "R13")
@pytest.mark.parametrize("noticed", ["by the look", "by the claim"])
async def test_an_approval_noticed_later_ends_the_turn_and_the_chat_is_told_once(
    ledger: Ledger, noticed: str
) -> None:
    claimed = await approval(ledger)
    ledger.clock.advance(2 * HOUR)
    if noticed == "by the claim":
        await ledger.store.expire_questions()
        await ledger.crash()
    ledger.clock.advance(1)
    await ledger.store.expire_questions()
    assert await ledger.try_claim(never_asked) is None
    turn = await ledger.turn(claimed.session.id)
    assert (turn.state, turn.why) == (TurnState.EXPIRED, "approval_expired")
    (words,) = await told(ledger)
    assert "no answer in time" in words and "/resume" in words
    state, text = await unanswered_call(ledger, claimed)
    assert state is CallState.SKIPPED and "not answered in time" in text
    async with ledger.unchanged():
        await ledger.store.expire_questions()


async def test_an_approval_that_could_not_be_delivered_counts_as_refused(ledger: Ledger) -> None:
    claimed = await approval(ledger)
    await ledger.store.question_undeliverable(Q1)
    assert (await ledger.claim(never_asked)).turn.id == claimed.turn.id


async def test_the_oldest_questions_expire_first_a_batch_at_a_time(ledger: Ledger) -> None:
    for n in range(3):
        claimed = await ledger.begin(chat=f"c{n}")
        sent = owed(f"q{n}", chat=f"c{n}")
        await ledger.ask(claimed.fence, f"q{n}", owed=sent, expires_at=ledger.clock.now() + 3 - n)
    ledger.clock.advance(10)
    assert await ledger.expired(limit=2) == ("q2", "q1")
    assert await ledger.expired(limit=2) == ("q0",)


async def test_a_question_set_aside_lets_the_turn_see_the_message(ledger: Ledger) -> None:
    claimed = await asked(ledger)
    other = await ledger.word("forget it, do this instead")
    await ledger.store.set_question_aside(Q1)
    assert (await question(ledger, claimed)).state is QuestionState.SET_ASIDE
    async with ledger.refused(WrongState):
        await ledger.store.set_question_aside(Q1)
    again = await ledger.claim(never_asked)
    assert again.turn.id == claimed.turn.id
    assert [row.position for row in await ledger.store.waiting(key())] == [other]


async def test_an_answer_to_interrupted_work_is_kept_and_is_progress(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.start(claimed.fence, "c1")
    await ledger.append(claimed.fence, ask=(ledger.question(),))
    await ledger.crash()
    await ledger.store.interrupt_orphans()
    ledger.clock.advance(MINUTE)
    await ledger.store.answer(Q1, await ledger.word("red"), "red", ANN)
    turn = await ledger.turn(claimed.session.id)
    assert (turn.state, turn.progress_at) == (TurnState.INTERRUPTED, ledger.clock.now())
    await ledger.settle("resume")
    assert (await ledger.claim()).journal.questions[0].answer == "red"


async def continue_or_drop(ledger: Ledger) -> Claimed:
    """Work that was cut off, and the gateway's own question about it."""
    claimed = await ledger.begin("the work")
    await ledger.crash()
    await ledger.store.interrupt_orphans()
    await ledger.settle("chat_says_ask", ask=ledger.question(call=None))
    return claimed


async def test_the_gateway_asks_whether_to_go_on_and_the_turn_waits(ledger: Ledger) -> None:
    claimed = await continue_or_drop(ledger)
    assert (await ledger.turn(claimed.session.id)).state is TurnState.WAITING
    record = await question(ledger, claimed)
    assert (record.kind, record.call) == (QuestionKind.CONTINUE, None)
    assert [sent.kind for sent in await ledger.outbox()] == [OwedKind.QUESTION]


async def test_continue_is_consent_to_resume_this_interruption(ledger: Ledger) -> None:
    claimed = await continue_or_drop(ledger)
    ledger.clock.advance(MINUTE)
    await ledger.store.answer(Q1, await ledger.word("yes"), "continue", ANN)
    turn = await ledger.turn(claimed.session.id)
    assert (turn.state, turn.progress_at) == (TurnState.QUEUED, ledger.clock.now())
    seen = []
    again = await ledger.claim(lambda stale, now: (seen.append(stale.stands.consented), rule("resume"))[1])  # type: ignore[func-returns-value]
    assert (again.turn.id, seen) == (claimed.turn.id, [True])
    await ledger.crash()
    await ledger.store.interrupt_orphans()
    (stale,) = await ledger.store.stale_turns()
    assert not stale.stands.consented, "consent was for the interruption before"


@pytest.mark.parametrize(
    ("close", "why"),
    [
        ("answer", Dropped.SAID),
        ("set_aside", Dropped.WROTE_ELSE),
        ("expire", Dropped.UNANSWERED),
        ("undeliverable", Dropped.UNANSWERED),
    ],
)
async def test_anything_but_continue_drops_the_work(ledger: Ledger, close: str, why: Dropped) -> None:
    claimed = await continue_or_drop(ledger)
    before = await ledger.store.session(claimed.session.id)
    match close:
        case "answer":
            await ledger.store.answer(Q1, await ledger.word("drop it"), "drop", ANN)
        case "set_aside":
            await ledger.store.set_question_aside(Q1)
        case "undeliverable":
            await ledger.store.question_undeliverable(Q1)
        case "expire":
            ledger.clock.advance(HOUR)
            await ledger.store.expire_questions()
    turn = await ledger.turn(claimed.session.id)
    assert (turn.state, turn.why) == (TurnState.CANCELLED, why)
    session = await ledger.store.session(claimed.session.id)
    assert (session.generation, session.ended_at) == (before.generation + 1, None)
    following = await ledger.begin("the next message")
    assert (following.session.id, len(following.entries)) == (session.id, 2), "the note, then the message"


async def asked_in_safe_mode(ledger: Ledger, asked_by: AskedBy = AskedBy.SAFE_MODE, **more: Any) -> TurnId:
    """Interrupted work that recovery asks about, and waits."""
    claimed = await ledger.begin()
    await ledger.recover("safe_mode")
    ask = ledger.question(call=None, asked_by=asked_by, **more)
    assert await ledger.settle(asked_by, ask=ask) == (claimed.turn.id,)
    return claimed.turn.id


@pytest.mark.guards("R8.3")
async def test_what_safe_mode_asks_is_withdrawn_with_it_and_the_wait_does_not_age_the_work(
    ledger: Ledger,
) -> None:
    turn = await asked_in_safe_mode(ledger, expires_at=OPEN_ENDED)
    began = ledger.clock.now()
    ledger.clock.advance(5 * HOUR)
    await ledger.crash()
    assert await ledger.expired() == ()
    assert await ledger.store.withdraw_questions() == (Q1,)
    (stale,) = await ledger.store.stale_turns()
    assert (stale.turn, stale.quarantined) == (turn, ledger.clock.now() - began)
    (closed,) = await ledger.store.questions((turn,))
    assert (closed.state, closed.asked_by) == (QuestionState.EXPIRED, AskedBy.SAFE_MODE)
    async with ledger.unchanged():
        assert await ledger.store.withdraw_questions() == ()
    assert await ledger.recover("resume") == (turn,)
    assert (await ledger.claim()).turn.id == turn


@pytest.mark.guards("R8.3")
async def test_a_question_of_safe_mode_is_closed_by_its_answer_alone(ledger: Ledger) -> None:
    turn = await asked_in_safe_mode(ledger, expires_at=OPEN_ENDED)
    async with ledger.refused(WrongState):
        await ledger.store.question_undeliverable(Q1)
    async with ledger.refused(WrongState):
        await ledger.store.set_question_aside(Q1)
    await ledger.store.answer(Q1, await ledger.word("drop"), "drop", ANN)
    (closed,) = await ledger.store.questions((turn,))
    assert closed.state is QuestionState.ANSWERED


@pytest.mark.guards("R8.3", "R6.4")
async def test_a_question_of_a_chat_that_wants_to_be_asked_outlives_its_hour_only_while_it_is_kept(
    ledger: Ledger,
) -> None:
    await asked_in_safe_mode(ledger, AskedBy.CHAT)
    ledger.clock.advance(50 * MINUTE)
    now = ledger.clock.now()
    await ledger.store.keep_asking(now + HOUR // 2, now + HOUR)
    ledger.clock.advance(50 * MINUTE)
    assert await ledger.expired() == ()
    assert await ledger.store.withdraw_questions() == ()
    ledger.clock.advance(10 * MINUTE)
    assert await ledger.expired() == (Q1,)


@pytest.mark.guards("R8.3")
async def test_only_a_persons_message_counts_as_one_that_waits_behind_interrupted_work(
    ledger: Ledger,
) -> None:
    claimed = await ledger.begin()
    await ledger.recover("safe_mode")
    await ledger.say("wake", kind=InboxKind.WAKEUP, incarnation=claimed.session.incarnation)
    assert [one.waiting_sender for one in await ledger.store.stale_turns()] == [None]
    await ledger.say("hello?")
    assert [one.waiting_sender for one in await ledger.store.stale_turns()] == [ANN]


@pytest.mark.guards("R8.1", "R18")
@pytest.mark.parametrize("closed_by", ["answer", "another message"])
async def test_work_dropped_while_its_run_still_asks_gives_the_strike_of_that_run_back(
    ledger: Ledger, closed_by: str
) -> None:
    claimed = await ledger.begin()
    before = (await ledger.store.session(claimed.session.id)).strikes
    await ledger.append(claimed.fence, ask=(ledger.question("q1", None),), tail=Tail.WORK)
    if closed_by == "answer":
        await ledger.store.answer(Q1, await ledger.word("stop"), "stop", ANN)
    else:
        await ledger.store.set_question_aside(Q1)
    assert (await ledger.turn(claimed.session.id)).state is TurnState.CANCELLED
    assert (before, (await ledger.store.session(claimed.session.id)).strikes) == (1, 0)
