"""Claiming: one commit that finds the session, makes or takes up the turn, and raises its counters."""

from __future__ import annotations

from dataclasses import replace

from holdfast.model import (
    Began,
    Body,
    BusyMode,
    ChatAddress,
    Claimed,
    Fence,
    InboxKind,
    InboxRow,
    Key,
    Noted,
    Owed,
    OwedKind,
    Position,
    Said,
    Session,
    SessionId,
    Tail,
    Turn,
    TurnId,
    TurnState,
    place_at,
)
from holdfast.policy.notes import Before, NoteFacts, note_for
from holdfast.policy.recovery import Outcome
from holdfast.policy.reset import Fresh, SessionFacts, session_for
from holdfast.policy.settings import ResetSettings
from holdfast.policy.strikes import is_suspect
from holdfast.store.contract import ClaimSettings, Judge

from . import rows
from .commit import Tx
from .endings import end_session
from .intake import refresh_conversation
from .owing import owe_one
from .readers import Read
from .stale import stale_turn
from .steps import append_entries, journal, take_row

_TRIES = 32
"""How many conversations one claim looks at when recovery has second thoughts about resuming them."""

_COLLECT_AT_MOST = 50


def claim(tx: Tx, settings: ClaimSettings, judge: Judge) -> Claimed | None:
    for _ in range(_TRIES):
        found = _longest_ready(tx, settings)
        if found is None:
            return None
        key, chat = found
        session, last = _live(tx, key)
        if session is None or last is None or last.ended_at is not None:
            return _claim_new(tx, settings, key, chat, session, last)
        if last.interruptions <= last.noted or _may_resume(tx, last, judge):
            return _claim_again(tx, settings, session, last)
        refresh_conversation(tx, key)
    return None


def _longest_ready(tx: Tx, settings: ClaimSettings) -> tuple[Key, ChatAddress] | None:
    lane = tx.one("suspect_runs")
    common = {"lane_taken": bool(lane and lane[0]), "suspect_strikes": settings.recovery.suspect_strikes}
    lines = [tx.one("ready_conversation", resume=0, **common)]
    if settings.resumes:
        lines.append(tx.one("ready_conversation", resume=1, **common))
    ready = [row for row in lines if row is not None]
    if not ready:
        return None
    key, chat, _ = min(ready, key=lambda row: row[2])
    return Key(key), ChatAddress(chat)


def _live(tx: Tx, key: Key) -> tuple[Session | None, Turn | None]:
    row = tx.one("session_with_last_turn", key=key)
    if row is None:
        return None, None
    return rows.session(row[:13]), rows.turn(row[13:]) if row[13] is not None else None


def _may_resume(tx: Tx, turn: Turn, judge: Judge) -> bool:
    """Ask recovery's rule once more, now; work it no longer wants resumed goes back to it."""
    row = tx.one("stale_turn", turn=turn.id)
    assert row is not None
    decision = judge(stale_turn(row), tx.now)
    if decision.outcome is Outcome.RESUME:
        return True
    tx.run("refuse_resume", turn=turn.id)
    tx.event("resume_refused", f"turn:{turn.id}", row=decision.row.name)
    tx.changed("recovery")
    return False


def _claim_again(tx: Tx, settings: ClaimSettings, session: Session, turn: Turn) -> Claimed:
    generation, suspect = _raise_generation(tx, settings, session)
    row = tx.one(
        "take_turn_again",
        turn=turn.id,
        generation=generation,
        owner=tx.instance,
        suspect=suspect,
        now=tx.now,
    )
    assert row is not None
    tx.run("processes_follow", turn=turn.id, generation=generation)
    return _claimed(tx, session, generation, rows.turn(row), fresh=False)


def _claim_new(
    tx: Tx,
    settings: ClaimSettings,
    key: Key,
    chat: ChatAddress,
    session: Session | None,
    last: Turn | None,
) -> Claimed | None:
    settings_row = tx.one("chat_settings", chat=chat)
    busy = BusyMode(settings_row[0]) if settings_row and settings_row[0] else settings.busy
    limit = _COLLECT_AT_MOST if busy is BusyMode.COLLECT else 1
    waiting = [rows.inbox_row(row) for row in tx.all("rows_waiting", key=key, limit=limit)]
    if not waiting:
        refresh_conversation(tx, key)
        return None
    session, fresh = _session_for(tx, settings, key, chat, session, waiting[0].kind)
    if fresh:
        # The session before took its wake-ups along.
        waiting = [rows.inbox_row(row) for row in tx.all("rows_waiting", key=key, limit=limit)]
    turn = TurnId(tx.ids.new())
    generation, suspect = _raise_generation(tx, settings, session)
    tx.run(
        "add_turn",
        id=turn,
        session=session.id,
        cause=waiting[0].position,
        generation=generation,
        owner=tx.instance,
        suspect=suspect,
        now=tx.now,
    )
    tx.run("set_last_turn", session=session.id, turn=turn)
    bodies = _opening(tx, settings, None if fresh else last, waiting)
    append_entries(tx, session.id, turn, bodies)
    for row in waiting:
        take_row(tx, turn, row.position)
    born = Turn(
        turn,
        session.id,
        Position(waiting[0].position),
        TurnState.RUNNING,
        generation,
        1,
        tx.instance,
        tx.now,
        tx.now,
        tx.now,
        Tail.MESSAGE,
    )
    return _claimed(tx, session, generation, born, fresh, waiting[0])


def _opening(tx: Tx, settings: ClaimSettings, last: Turn | None, waiting: list[InboxRow]) -> tuple[Body, ...]:
    """The one note the new turn may need, then the person's words unchanged."""
    before = None
    if last is not None:
        before = Before(last.state, last.why, last.interruptions, last.tail, last.progress_at)
    note = note_for(NoteFacts(opening=True, message_follows=True, before=before), tx.now, settings.recovery)
    said = tuple(Said(row.text, row.sender, row.attachments) for row in waiting)
    return said if note is None else (Noted(note.kind, note.count, note.text), *said)


def _session_for(
    tx: Tx,
    settings: ClaimSettings,
    key: Key,
    chat: ChatAddress,
    session: Session | None,
    cause: InboxKind,
) -> tuple[Session, bool]:
    """The session this row belongs to, made in this commit if a fresh one is due.

    Only a message can be the first of a fresh conversation; a wake-up goes on in the one that wanted it.
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
        return session, False
    assert isinstance(answer, Fresh)
    if session is not None:
        end_session(tx, session.id, answer.began)
    return _begin_session(tx, key, chat, answer.began, answer.told), True


def _begin_session(tx: Tx, key: Key, chat: ChatAddress, began: Began, told: str | None) -> Session:
    id_ = SessionId(tx.ids.new())
    row = tx.one("add_session", id=id_, key=key, chat=chat, began=began, now=tx.now)
    assert row is not None
    tx.event("began", f"session:{id_}", why=began)
    if told:
        owe_one(tx, Owed(chat, f"began:{id_}", (told,), OwedKind.NOTICE), id_)
    return Session(id_, key, chat, began, tx.now, generation=0, incarnation=row[0], strikes=0)


def _raise_generation(tx: Tx, settings: ClaimSettings, session: Session) -> tuple[int, bool]:
    """One more generation and one more strike; whether the session was a suspect before this one."""
    row = tx.one("raise_generation", session=session.id)
    assert row is not None
    return row[0], is_suspect(row[1] - 1, settings.recovery)


def _claimed(
    tx: Tx,
    session: Session,
    generation: int,
    turn: Turn,
    fresh: bool,
    cause: InboxRow | None = None,
) -> Claimed:
    refresh_conversation(tx, session.key)
    tx.event("claimed", f"turn:{turn.id}", attempt=turn.attempt, generation=generation)
    if cause is None:
        row = tx.one("row", position=turn.cause)
        assert row is not None
        cause = rows.inbox_row(row)
    chat = tx.one("chat_settings", chat=session.chat)
    assert chat is not None
    return Claimed(
        Fence(session.id, turn.id, generation, tx.instance),
        replace(session, generation=generation, strikes=session.strikes + 1),
        turn,
        place_at(session.chat),
        cause,
        tuple(rows.entry(row) for row in tx.all("entries_of_turn", turn=turn.id)),
        journal(tx, turn.id, generation),
        rows.chat_settings(*chat),
        resumed=turn.attempt > 1,
        fresh=fresh,
    )


def live_session(read: Read, key: Key) -> Session | None:
    row = read.one("live_session", key=key)
    return rows.session(row) if row else None


def waiting(read: Read, key: Key, limit: int = 50) -> tuple[InboxRow, ...]:
    return tuple(rows.inbox_row(row) for row in read.all("rows_waiting", key=key, limit=limit))
