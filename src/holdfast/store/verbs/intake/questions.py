"""Questions to people: the person who was asked answers once, before the session ends."""

from __future__ import annotations

from functools import partial

from holdfast.errors import WrongState
from holdfast.model import (
    ChatAddress,
    InboxState,
    Owed,
    PersonId,
    Position,
    QuestionId,
    QuestionKind,
    QuestionRecord,
    QuestionState,
    SessionId,
    TurnId,
    TurnState,
)
from holdfast.model.states import SILENT
from holdfast.policy.delivery.parts import Longest, usual
from holdfast.policy.intake.parse_input import APPROVED_ALWAYS
from holdfast.policy.recovery.notes import Dropped
from holdfast.policy.recovery.outcome import after_silence
from holdfast.policy.settings import RecoverySettings
from holdfast.policy.turn.calls import is_yes
from holdfast.store.contract import ExpiredQuestion
from holdfast.store.contract.work import AS_USUAL
from holdfast.store.verbs import rows
from holdfast.store.verbs.delivery.outbox_insert import owe_all
from holdfast.store.verbs.set_aside import rows_apart, set_row_aside
from holdfast.store.verbs.turn.endings import end_turn, leave_unanswered, owe_partial, release
from holdfast.store.verbs.tx import PartUndone, Read, Row, Tx

from .allowed_calls import store_rule
from .intake import refresh_conversation, row_is_not

CONTINUE = "continue"
"""The answer to the gateway's own question that resumes interrupted work; any other answer drops it."""

_DROPS = {
    QuestionState.ANSWERED: Dropped.SAID,
    QuestionState.SET_ASIDE: Dropped.WROTE_ELSE,
    QuestionState.EXPIRED: Dropped.UNANSWERED,
    QuestionState.UNDELIVERABLE: Dropped.UNANSWERED,
}


def questions(read: Read, turns: tuple[TurnId, ...]) -> tuple[QuestionRecord, ...]:
    found = [row for turn in turns for row in read.all("questions_of_turn", turn=turn)]
    return tuple(sorted(rows.readable(rows.question, found), key=lambda one: (one.asked_at or 0, one.id)))


def owner_questions(read: Read, chat: ChatAddress, limit: int = 50) -> tuple[QuestionRecord, ...]:
    found = read.all("owner_questions", chat=chat, limit=limit)
    return tuple(reversed(rows.readable(rows.question, found)))


def answer(
    tx: Tx,
    question: QuestionId,
    by: Position,
    answer: str,
    person: PersonId,
    owe: tuple[Owed, ...] = (),
    owner: bool = False,
    longest: Longest = usual,
) -> None:
    if tx.one("state_of_row", position=by) != (InboxState.WAITING,):
        raise row_is_not(tx, by, InboxState.WAITING)
    row = tx.one(
        "answer_question",
        id=question,
        by=by,
        answer=answer,
        person=person,
        owner=owner,
        allows=is_yes(answer),
        always=answer == APPROVED_ALWAYS,
        now=tx.now,
    )
    if row is None:
        raise _closed(tx, question)
    place = tx.one("answer_row", position=by, question=question, now=tx.now)
    assert place is not None
    # An answer may come from another conversation (a group, say), which has one waiting row less now.
    refresh_conversation(tx, place[0])
    tx.event("answered", f"question:{question}", by=by)
    owe_all(tx, owe)
    turn, session, kind = row
    if kind == QuestionKind.APPROVAL and answer == APPROVED_ALWAYS:
        store_rule(tx, question, person)
    tx.run("answer_is_progress", turn=turn, now=tx.now, mark=tx.mark)
    if kind == QuestionKind.CONTINUE and answer == CONTINUE:
        tx.run("consent", turn=turn)
        _wake(tx, TurnId(turn), SessionId(session), anyway=True)
    else:
        _go_on(tx, TurnId(turn), SessionId(session), kind, QuestionState.ANSWERED, longest)


def say_continue(tx: Tx, turn: TurnId, session: SessionId, by: Position | None) -> None:
    """Consent to interrupted work for a person, also when they say so without answering the question."""
    tx.run("consent", turn=turn)
    tx.run("answer_is_progress", turn=turn, now=tx.now, mark=tx.mark)
    for (question,) in tx.all("answer_continue", turn=turn, answer=CONTINUE, by=by, now=tx.now):
        tx.event("answered", f"question:{question}", by=by)
    tx.event("consented", f"turn:{turn}", by=by)
    _wake(tx, turn, session, anyway=True)
    tx.changed("recovery")


def set_aside_by(tx: Tx, question: QuestionId, by: Position, person: PersonId) -> None:
    """Close what a person was asked in that turn, because they wrote something else; bind their row to it."""
    for (beside,) in tx.all("set_aside_beside", id=question, person=person, now=tx.now):
        tx.event(QuestionState.SET_ASIDE, f"question:{beside}", by=by)
    tx.run("bind_row", position=by, question=question)
    _close(tx, question, QuestionState.SET_ASIDE)


def set_question_aside(tx: Tx, question: QuestionId, longest: Longest = usual) -> None:
    _close(tx, question, QuestionState.SET_ASIDE, longest)


def question_undeliverable(tx: Tx, question: QuestionId) -> None:
    _close(tx, question, QuestionState.UNDELIVERABLE)


def withdraw_questions(tx: Tx) -> tuple[QuestionId, ...]:
    return _withdraw(tx, tx.all("withdraw_questions", now=tx.now, only=None))


def withdraw_questions_apart(tx: Tx) -> tuple[QuestionId, ...]:
    """The same, each question apart: a row that cannot be changed does not stop the others."""
    found = tx.all("questions_to_withdraw")
    withdraw = partial(tx.all, "withdraw_questions", now=tx.now)
    return _withdraw(tx, rows_apart(tx, "questions", found, lambda id_: withdraw(only=id_)))


def _withdraw(tx: Tx, withdrawn: list[Row]) -> tuple[QuestionId, ...]:
    for question, turn, session, asked_at in withdrawn:
        tx.event("withdrawn", f"question:{question}")
        # The state table has no direct arrow: the turn is queued first and then goes back to recovery.
        if tx.run("wake_waiting_turn", turn=turn, anyway=True):
            tx.run("give_back_to_recovery", turn=turn, since=asked_at, now=tx.now)
        release(tx, SessionId(session))
    if withdrawn:
        tx.changed("questions")
        tx.changed("recovery")
    return tuple(QuestionId(row[0]) for row in withdrawn)


def keep_asking(tx: Tx, due: int, until: int) -> None:
    tx.run("keep_asking", due=due, until=until, only=None)


def keep_asking_apart(tx: Tx, due: int, until: int) -> None:
    """The same, each question apart."""
    keep = partial(tx.all, "keep_asking", due=due, until=until)
    rows_apart(tx, "questions", tx.all("questions_to_keep", due=due), lambda id_: keep(only=id_))


def expire_questions(
    tx: Tx, limit: int = 100, settings: RecoverySettings = AS_USUAL, longest: Longest = usual
) -> tuple[ExpiredQuestion, ...]:
    due = [(QuestionId(row[0]), TurnId(row[1])) for row in tx.all("questions_due", now=tx.now, limit=limit)]
    # One by one: the end of a question may end its turn, and with it the turn's other questions.
    closed = [each for each in due if _closes(tx, each[0], QuestionState.EXPIRED, longest, settings)]
    return tuple(_expired(tx, question, turn) for question, turn in closed)


def expire_questions_apart(
    tx: Tx, limit: int = 100, settings: RecoverySettings = AS_USUAL, longest: Longest = usual
) -> tuple[ExpiredQuestion, ...]:
    """The same, each question apart: a question that cannot be closed does not stop the others."""

    def expire(question: QuestionId, turn: TurnId) -> list[ExpiredQuestion]:
        closed = _closes(tx, question, QuestionState.EXPIRED, longest, settings)
        return [_expired(tx, question, turn)] if closed else []

    expired: list[ExpiredQuestion] = []
    for question, turn in tx.all("questions_due", now=tx.now, limit=limit):
        try:
            expired += tx.apart(partial(expire, question, turn))
        except PartUndone as undone:
            set_row_aside(tx, "questions", question, undone.fault)
    return tuple(expired)


def _expired(tx: Tx, question: QuestionId, turn: TurnId) -> ExpiredQuestion:
    row = tx.one("state_of_turn", turn=turn)
    assert row is not None
    return ExpiredQuestion(question, turn, TurnState(row[0]), row[1])


def _close(tx: Tx, question: QuestionId, state: QuestionState, longest: Longest = usual) -> None:
    if not _closes(tx, question, state, longest):
        raise _closed(tx, question)


def _closes(
    tx: Tx,
    question: QuestionId,
    state: QuestionState,
    longest: Longest,
    settings: RecoverySettings = AS_USUAL,
) -> bool:
    """Close a question, then let its turn go on or end; False when it is no longer open."""
    row = tx.one("close_question", id=question, state=state, now=tx.now)
    if row is None:
        return False
    tx.event(state, f"question:{question}")
    turn, session, kind, since = TurnId(row[0]), SessionId(row[1]), QuestionKind(row[2]), row[3]
    ends = after_silence(kind, since, tx.now, settings) if state in SILENT else None
    if ends is None:
        _go_on(tx, turn, session, kind, state, longest)
    else:
        leave_unanswered(tx, turn, session, ends)
        tx.changed("questions")
    return True


def _closed(tx: Tx, question: QuestionId) -> WrongState:
    row = tx.one("question_state", id=question)
    return WrongState(f"question {question}", row[0] if row else None, "open to this person now")


def _go_on(
    tx: Tx, turn: TurnId, session: SessionId, kind: str, state: QuestionState, longest: Longest
) -> None:
    """Queue the turn of a model's question; drop the work of a gateway's question that got no yes.

    The chat keeps what it saw of the dropped reply.
    """
    if kind != QuestionKind.CONTINUE:
        _wake(tx, turn, session)
        return
    owe_partial(tx, session, turn, end_turn(tx, session, turn, TurnState.CANCELLED, _DROPS[state]), longest)
    tx.changed("questions")
    tx.run("bump_generation", session=session)
    release(tx, session)


def _wake(tx: Tx, turn: TurnId, session: SessionId, anyway: bool = False) -> None:
    """Queue the turn if it waits; a turn that still runs finds the answer in its journal."""
    if tx.run("wake_waiting_turn", turn=turn, anyway=anyway):
        tx.event("queued", f"turn:{turn}")
    release(tx, session)
    tx.changed("questions")
