"""Claiming: one commit that finds the session, begins a turn or takes it again, and raises its counters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from holdfast.clock import between
from holdfast.model import (
    Body,
    BusyMode,
    ChatAddress,
    ChatSettings,
    Claimed,
    Entry,
    Fence,
    InboxKind,
    InboxRow,
    InboxState,
    Journal,
    Key,
    Noted,
    Owed,
    OwedKind,
    PersonId,
    Position,
    QuestionState,
    Said,
    Session,
    SessionId,
    Tail,
    Turn,
    TurnId,
    TurnState,
    place_at,
)
from holdfast.policy.intake.admission import Refusal
from holdfast.policy.intake.reset import Fresh, SessionFacts, session_for
from holdfast.policy.recovery.notes import Before, NoteFacts, note_for
from holdfast.policy.recovery.outcome import Outcome, after_silence
from holdfast.policy.recovery.strikes import is_suspect
from holdfast.policy.settings import RecoverySettings, ResetSettings
from holdfast.policy.turn.calls import unheeded
from holdfast.policy.turn.transcript_reading import ends_in_results
from holdfast.store.contract import ClaimSettings, Judge
from holdfast.store.contract.work import AS_USUAL
from holdfast.store.verbs import rows
from holdfast.store.verbs.delivery.outbox_insert import owe_all
from holdfast.store.verbs.intake.intake import refresh_conversation
from holdfast.store.verbs.recovery.stale import stale_turn
from holdfast.store.verbs.repair import mend_conversation
from holdfast.store.verbs.set_aside import clear_fault, set_conversation_aside
from holdfast.store.verbs.transcripts import entries_of_turn, journal
from holdfast.store.verbs.tx import PartUndone, Read, Tx

from .endings import end_session, end_turn, leave_unanswered
from .partials import cut_replies
from .steps import append_entries, take_row

_TRIES = 32
"""How many conversations one claim tries while the judge refuses to resume their work."""

_COLLECT_AT_MOST = 50
_EVERYTHING = 2**62


def claim(tx: Tx, settings: ClaimSettings, judge: Judge) -> Claimed | None:
    for _ in range(_TRIES):
        row = tx.one(
            "take_ready_conversation",
            resumes=int(settings.resumes),
            suspect_strikes=settings.recovery.suspect_strikes,
        )
        if row is None:
            return None
        key = Key(row[0])
        try:
            claimed = tx.apart(partial(_claim_at, tx, settings, judge, key, ChatAddress(row[1])))
        except PartUndone as undone:
            if mend_conversation(tx, key):
                refresh_conversation(tx, key)
            else:
                set_conversation_aside(tx, key, undone.fault)
            continue
        if claimed is not None:
            if row[2] is not None:
                clear_fault(tx, key)
            return claimed
        refresh_conversation(tx, key)
    # Other conversations may be ready behind those that were refused: the workers should ask again.
    tx.changed("turns")
    return None


def claim_ready(
    tx: Tx, settings: ClaimSettings, judge: Judge, limit: int, resumes: int
) -> tuple[Claimed, ...]:
    taken: list[Claimed] = []
    while len(taken) < limit:
        again = sum(one.resumed for one in taken)
        claimed = claim(tx, settings if again < resumes else replace(settings, resumes=False), judge)
        if claimed is None:
            break
        taken.append(claimed)
    return tuple(taken)


def _claim_at(
    tx: Tx, settings: ClaimSettings, judge: Judge, key: Key, address: ChatAddress
) -> Claimed | None:
    """Claim the work of this conversation; None if it has none, or if recovery has to decide about it."""
    chat, session, last, longest_fatal = _read_conversation(tx, key, address)
    if session and last and last.ended_at is None:
        begun = _read_begun(tx, settings, session, last, longest_fatal)
        return _claim_again(tx, settings, chat, begun) if _may_go_on(tx, settings, begun, judge) else None
    waiting = _read_waiting(tx, settings, key, chat)
    if not waiting:
        return None
    return _claim_new(tx, settings, key, chat, session, last, waiting, longest_fatal)


class _Chat(NamedTuple):
    """The chat of the conversation, with its settings."""

    address: ChatAddress
    settings: ChatSettings


class _Begun(NamedTuple):
    """An unfinished turn with everything that a claim returns of it, read before the first write."""

    session: Session
    turn: Turn
    cause: InboxRow
    entries: tuple[Entry, ...]
    journal: Journal
    longest_fatal: int = 0
    take: tuple[Position, ...] = ()
    partial: str = ""


def _read_begun(tx: Tx, settings: ClaimSettings, session: Session, turn: Turn, longest_fatal: int) -> _Begun:
    cause = tx.one("row", position=turn.cause)
    assert cause is not None
    entries = entries_of_turn(tx, turn.id)
    recorded = journal(tx, turn.id, session.generation + 1)
    take = _rows_to_take(tx, settings, session.key, turn, recorded)
    partial = cut_replies(tx, (turn.id,)).get(turn.id, "")
    return _Begun(session, turn, rows.inbox_row(cause), entries, recorded, longest_fatal, take, partial)


def _rows_to_take(
    tx: Tx, settings: ClaimSettings, key: Key, turn: Turn, journal: Journal
) -> tuple[Position, ...]:
    """Waiting rows that this turn answers; the others wait until after it."""
    interrupted = turn.is_cut_off
    if not interrupted and all(one.state is not QuestionState.SET_ASIDE for one in journal.questions):
        return ()
    before = _oldest_command(tx, key)
    while True:
        found = tx.all("rows_to_take", key=key, turn=turn.id, interrupted=interrupted, before=before)
        if not _turn_away(tx, settings, found):
            return tuple(Position(position) for position, _ in found)


def _read_waiting(tx: Tx, settings: ClaimSettings, key: Key, chat: _Chat) -> tuple[InboxRow, ...]:
    """The rows that the next turn takes: the oldest one, or in collect mode all of them."""
    busy = chat.settings.busy or settings.busy
    limit = _COLLECT_AT_MOST if busy is BusyMode.COLLECT else 1
    while True:
        found = tuple(rows.inbox_row(row) for row in tx.all("rows_waiting", key=key, limit=limit))
        if not _turn_away(tx, settings, ((row.position, row.sender) for row in found)):
            break
    before = _oldest_command(tx, key) if len(found) > 1 else _EVERYTHING
    return tuple(row for row in found if row.position < before)


def _oldest_command(tx: Tx, key: Key) -> int:
    """The position of the oldest waiting command: rows after it are taken once it is carried out."""
    row = tx.one("oldest_command", key=key)
    return _EVERYTHING if row is None or row[0] is None else int(row[0])


def _turn_away(tx: Tx, settings: ClaimSettings, waiting: Iterable[tuple[Any, Any]]) -> int:
    """Refuse rows whose sender is no longer allowed; returns how many. The claim refreshes the line."""
    away = [position for position, sender in waiting if not settings.allows(PersonId(sender))]
    for position in away:
        tx.one(
            "settle_row", position=position, state=InboxState.REFUSED, reason=Refusal.NOT_ALLOWED, now=tx.now
        )
    return len(away)


def _read_conversation(
    tx: Tx, key: Key, address: ChatAddress
) -> tuple[_Chat, Session | None, Turn | None, int]:
    """The chat's settings, the live session, its newest turn, and the age of its longest fatal run."""
    row = tx.one("conversation_at", key=key, chat=address)
    assert row is not None
    session = rows.session(row[4:17]) if row[4] is not None else None
    last = rows.turn(row[17:37]) if row[17] is not None else None
    elapsed = between(row[38], tx.uptime)
    if last is not None and elapsed is not None:
        # Measured on the machine's own clock, as in recovery: a jump of the wall clock does not age work.
        last = last._replace(progress_at=tx.now - elapsed)
    return _Chat(address, rows.chat_settings(*row[:4])), session, last, row[37] or 0


def _may_go_on(tx: Tx, settings: ClaimSettings, begun: _Begun, judge: Judge) -> bool:
    """Judge interrupted work once more; work that is not to be resumed goes back to recovery.

    Other unfinished work goes on, unless the person who began it is no longer allowed.
    """
    turn, cause = begun.turn, begun.cause
    if not turn.is_cut_off:
        if cause.person is None or settings.allows(cause.person):
            return not _leave_if_late(tx, settings, begun)
        end_turn(tx, begun.session.id, turn.id, TurnState.CANCELLED, Refusal.NOT_ALLOWED)
        tx.run("bump_generation", session=begun.session.id)
        return False
    decision = judge(stale_turn(tx, turn.id), tx.now)
    if decision.outcome is Outcome.RESUME:
        return True
    tx.run("refuse_resume", turn=turn.id)
    tx.event("resume_refused", f"turn:{turn.id}", row=decision.row.name)
    tx.changed("recovery")
    return False


def _leave_if_late(tx: Tx, settings: ClaimSettings, begun: _Begun) -> bool:
    """End a turn that was queued for an expired approval, if that expired too long ago."""
    for question in unheeded(begun.journal):
        since = min(question.expires_at, question.closed_at or question.expires_at)
        row = after_silence(question.kind, since, tx.now, settings.recovery)
        if row is not None:
            return leave_unanswered(tx, begun.turn.id, begun.session.id, row, TurnState.QUEUED)
    return False


def _claim_again(tx: Tx, settings: ClaimSettings, chat: _Chat, begun: _Begun) -> Claimed:
    session, turn = begun.session, begun.turn
    row = tx.one(
        "take_turn_again",
        turn=turn.id,
        generation=session.generation + 1,
        owner=tx.instance,
        suspect=is_suspect(session.strikes, settings.recovery),
        now=tx.now,
    )
    assert row is not None
    tx.run(
        "processes_follow",
        session=session.id,
        turn=turn.id,
        before=turn.generation,
        generation=session.generation + 1,
    )
    resumed = {"resumed": turn.interruptions} if turn.is_cut_off else {}
    tx.event("claimed", f"turn:{turn.id}", generation=row[4], **resumed)
    return _claimed(tx, settings, begun._replace(turn=rows.turn(row)), chat, fresh=False)


def _claim_new(
    tx: Tx,
    settings: ClaimSettings,
    key: Key,
    chat: _Chat,
    session: Session | None,
    last: Turn | None,
    waiting: tuple[InboxRow, ...],
    longest_fatal: int,
) -> Claimed:
    session, fatal = _session_for(tx, settings, key, chat.address, session, waiting[0].kind)
    fresh = fatal is not None
    if fresh:
        # The end of the session before has dropped its wake-ups.
        waiting = _read_waiting(tx, settings, key, chat)
    before = None if fresh else last
    bodies = _opening(tx, settings, before, waiting)
    first_seq = before.last_seq + 1 if before else 1
    born = Turn(
        TurnId(tx.ids.new()),
        session.id,
        Position(waiting[0].position),
        TurnState.RUNNING,
        session.generation + 1,
        1,
        tx.instance,
        tx.now,
        tx.now,
        tx.now,
        Tail.MESSAGE,
        last_seq=first_seq + len(bodies) - 1,
    )
    tx.run(
        "add_turn",
        id=born.id,
        session=session.id,
        cause=born.cause,
        generation=born.generation,
        owner=tx.instance,
        suspect=int(is_suspect(session.strikes, settings.recovery)),
        first_seq=first_seq,
        last_seq=born.last_seq,
        now=tx.now,
        mark=tx.mark,
    )
    entries = append_entries(tx, session.id, born.id, bodies, born.last_seq)
    for one in waiting:
        take_row(tx, born.id, key, one.position)
    fatal = longest_fatal if fatal is None else fatal
    begun = _Begun(session, born, waiting[0], entries, Journal(born.id, born.generation), fatal)
    return _claimed(tx, settings, begun, chat, fresh)


def _opening(
    tx: Tx, settings: ClaimSettings, last: Turn | None, waiting: tuple[InboxRow, ...]
) -> tuple[Body, ...]:
    """The entries that open a new turn: the one note it may need, then the person's words unchanged."""
    before = None
    if last is not None and last.tail is not Tail.NOTHING:
        failed = last.state is TurnState.FAILED and last.interruptions > 0
        left = failed and ends_in_results(entries_of_turn(tx, last.id))
        before = Before(last.state, last.why, last.interruptions, last.tail, last.progress_at, left)
    note = note_for(NoteFacts(opening=True, message_follows=True, before=before), tx.now, settings.recovery)
    said = tuple(Said(row.text, row.sender, row.attachments, row.kind is InboxKind.WAKEUP) for row in waiting)
    return said if note is None else (Noted(note.kind, note.count, note.text), *said)


def _session_for(
    tx: Tx,
    settings: ClaimSettings,
    key: Key,
    chat: ChatAddress,
    session: Session | None,
    cause: InboxKind,
) -> tuple[Session, int | None]:
    """The session of this row, made in this commit if a new one is due.

    A new session comes with the age of the longest fatal run before it; a live one comes with None. Only a
    message can end a session by the reset policy; a wake-up stays in the session that asked for it.
    """
    how = None if session else tx.one("how_last_session_ended", key=key)
    facts = SessionFacts(
        live=session is not None,
        suspended=session is not None and session.suspended_at is not None,
        completed_at=session.completed_at if session else None,
        ended_by_new=how is not None,
    )
    reset = ResetSettings() if cause is InboxKind.WAKEUP else settings.reset
    answer = session_for(facts, tx.now, reset)
    if session is not None and not isinstance(answer, Fresh):
        return session, None
    assert isinstance(answer, Fresh)
    if session is not None:
        end_session(tx, session.id, answer.began)
    return _begin_session(tx, settings, key, chat, answer)


def session_to_go_on(tx: Tx, key: Key, chat: ChatAddress) -> SessionId:
    """The conversation's session for a cause that is no message: the live one, else a new one."""
    row = tx.one("live_session", key=key)
    live = rows.session(row) if row else None
    settings = ClaimSettings(ResetSettings(), RecoverySettings())
    return _session_for(tx, settings, key, chat, live, InboxKind.WAKEUP)[0].id


def _begin_session(
    tx: Tx, settings: ClaimSettings, key: Key, chat: ChatAddress, fresh: Fresh
) -> tuple[Session, int]:
    """Begin a new session; after a park it is a suspect until one of its turns completes."""
    id_ = SessionId(tx.ids.new())
    strikes, follows_park, fatal = after_park(tx, key, settings.recovery)
    row = tx.one(
        "add_session",
        id=id_,
        key=key,
        chat=chat,
        began=fresh.began,
        strikes=strikes,
        follows_park=follows_park,
        longest_fatal=fatal,
        now=tx.now,
    )
    assert row is not None
    tx.event("began", f"session:{id_}", why=fresh.began)
    if fresh.told:
        owe_all(tx, (Owed(chat, f"began:{id_}", (fresh.told,), OwedKind.NOTICE),), id_)
    session = Session(id_, key, chat, fresh.began, tx.now, generation=0, incarnation=row[0], strikes=strikes)
    return session, fatal


def after_park(tx: Tx, key: Key, settings: RecoverySettings = AS_USUAL) -> tuple[int, int, int]:
    """The values of a new session: strikes, whether it follows a park, the longest fatal run before it."""
    follows_park, longest = tx.one("left_by_last_session", key=key) or (0, 0)
    return (settings.suspect_strikes, 1, longest) if follows_park else (0, 0, 0)


def _claimed(tx: Tx, settings: ClaimSettings, begun: _Begun, chat: _Chat, fresh: bool) -> Claimed:
    """Raise the generation and the strikes of the session by one, and return the claimed turn."""
    session, turn = begun.session, begun.turn
    tx.run("raise_generation", session=session.id, turn=turn.id)
    tx.changed("steps")  # A reader of the chat sees at once that a run has taken its message.
    return Claimed(
        Fence(session.id, turn.id, turn.generation, tx.instance),
        session._replace(generation=turn.generation, strikes=session.strikes + 1),
        turn,
        place_at(chat.address),
        begun.cause,
        begun.entries,
        begun.journal,
        chat.settings,
        resumed=turn.is_cut_off,
        fresh=fresh,
        take=begun.take,
        suspect=is_suspect(session.strikes, settings.recovery),
        longest_fatal=begun.longest_fatal,
        partial=begun.partial,
    )


def live_session(read: Read, key: Key) -> Session | None:
    row = read.one("live_session", key=key)
    return rows.session(row) if row else None


def waiting(read: Read, key: Key, limit: int = 50) -> tuple[InboxRow, ...]:
    return tuple(rows.inbox_row(row) for row in read.all("rows_waiting", key=key, limit=limit))
