"""Going back: undo a turn and try it again, or let a parked or ended session go on."""

from __future__ import annotations

from holdfast.errors import NotFound, WrongState
from holdfast.model import (
    Attachment,
    ChatAddress,
    Entry,
    InboxKind,
    InboxState,
    Key,
    Owed,
    PersonId,
    Position,
    Session,
    SessionId,
    TurnId,
    TurnState,
    Undone,
)
from holdfast.store.contract import FORGOTTEN, OnHold
from holdfast.store.verbs import rows
from holdfast.store.verbs.codec import dump_message
from holdfast.store.verbs.delivery.outbox_insert import owe_all
from holdfast.store.verbs.intake.intake import line_up, refresh_conversation, row_is_not, settle_row
from holdfast.store.verbs.intake.questions import say_continue
from holdfast.store.verbs.tx import Read, Tx

from .claims import after_park
from .endings import end_session
from .steps import mark

_LEFT = (TurnState.EXPIRED, TurnState.PARKED)
"""The states of a session's last turn that leave work which a person may resume."""


def retry(
    tx: Tx,
    session: SessionId,
    generation: int,
    body: Undone,
    text: str,
    attachments: tuple[Attachment, ...],
    sender: PersonId,
    by: Position,
    owe: tuple[Owed, ...] = (),
    kind: InboxKind = InboxKind.MESSAGE,
) -> Entry:
    entry = mark(tx, session, generation, body, body.last, owe=owe)
    row = tx.one("key_of_session", session=session)
    assert row is not None
    _make_message(tx, Key(row[0]), by, text, attachments, sender, kind)
    return entry


def revive(
    tx: Tx,
    session: SessionId,
    by: Position | None,
    text: str,
    owe: tuple[Owed, ...] = (),
    person: PersonId | None = None,
) -> None:
    row = tx.one("session_to_resume", session=session, person=person, now=tx.now)
    if row is None:
        raise NotFound("session", session)
    key, is_ended, is_suspended, turn, state, is_open, is_asked = row
    may_go_on = is_suspended or state in _LEFT
    if is_ended or not (state == TurnState.INTERRUPTED or is_asked or (may_go_on and not is_open)):
        raise WrongState(f"session {session}", "ended" if is_ended else state, "parked, held or expired")
    if is_suspended:
        tx.run("unsuspend", session=session, now=tx.now)
        tx.event("revived", f"session:{session}")
        _lift_hold(tx, key)
    if is_open:
        say_continue(tx, TurnId(turn), session, by)
        if by is not None:
            settle_row(tx, by, InboxState.EXECUTED)
    elif by is not None:
        _move_message(tx, key, by, text)
    owe_all(tx, owe)
    refresh_conversation(tx, key)


def release_conversation(tx: Tx, key: Key, by: Position | None, owe: tuple[Owed, ...] = ()) -> None:
    if not _lift_hold(tx, key):
        raise WrongState(f"conversation {key}", "free", "on hold")
    if by is not None:
        settle_row(tx, by, InboxState.EXECUTED)
    owe_all(tx, owe)
    line_up(tx, key)


def _lift_hold(tx: Tx, key: Key) -> bool:
    lifted = tx.run("release_conversation", key=key) == 1
    if lifted:
        tx.event("released", f"conversation:{key}")
    return lifted


def on_hold(read: Read, limit: int = 100) -> tuple[OnHold, ...]:
    return tuple(
        OnHold(Key(key), ChatAddress(chat), since, SessionId(session) if session else None, waiting)
        for key, chat, since, session, waiting in read.all("on_hold", limit=limit)
    )


def reopen(
    tx: Tx, session: SessionId, by: Position | None, owe: tuple[Owed, ...] = (), text: str | None = None
) -> None:
    row = tx.one("session_to_resume", session=session, person=None, now=tx.now)
    if row is None:
        raise NotFound("session", session)
    key, is_ended, is_suspended = Key(row[0]), row[1], row[2]
    if not is_ended:
        raise WrongState(f"session {session}", "live", "ended")
    live = tx.one("session_with_last_turn", key=key)
    if live is not None:
        if live[13] is not None and live[30] is None:
            raise WrongState(f"turn {live[13]}", live[16], "ended, so another session cannot be resumed")
        if made := tx.one("made_message_waiting", key=key):
            # Its sender was told that the work of this session goes on: no other session takes it over.
            raise WrongState(f"inbox row {made[0]}", InboxState.WAITING, "taken by the live session")
        end_session(tx, SessionId(live[0]), "resumed_other")
    # A person who resumes a parked session trusts it. Any other session reopened after a park follows it.
    strikes, follows_park, fatal = (0, 0, 0) if is_suspended else after_park(tx, key)
    counts = {"strikes": strikes, "follows_park": follows_park, "longest_fatal": fatal}
    if not tx.run("reopen_session", session=session, key=key, now=tx.now, **counts):
        raise WrongState(f"session {session}", FORGOTTEN, "ended with its content")
    tx.event("reopened", f"session:{session}")
    if is_suspended:
        _lift_hold(tx, key)
    if by is not None and text is not None and is_suspended:
        _move_message(tx, key, by, text)
    elif by is not None:
        settle_row(tx, by, InboxState.EXECUTED)
    owe_all(tx, owe)
    line_up(tx, key)


def _make_message(
    tx: Tx,
    key: Key,
    by: Position,
    text: str,
    attachments: tuple[Attachment, ...] = (),
    sender: PersonId | None = None,
    kind: InboxKind = InboxKind.MESSAGE,
) -> None:
    """Turn the command's own row into the message: so it is carried out once and causes one turn."""
    body = dump_message(text, attachments)
    if not tx.run("make_message", position=by, key=key, body=body, sender=sender, kind=kind):
        raise row_is_not(tx, by, "a waiting command of this conversation")
    tx.event("made_message", f"inbox:{by}")
    line_up(tx, key)


def _move_message(tx: Tx, key: Key, by: Position, text: str) -> None:
    """The same for a command from any conversation: its row moves to the conversation of the work."""
    row = tx.one("row", position=by)
    if not tx.run("move_message", position=by, key=key, body=dump_message(text, ())):
        raise row_is_not(tx, by, "a waiting command")
    tx.event("made_message", f"inbox:{by}")
    if row is not None and row[3] != key:
        refresh_conversation(tx, row[3])
    line_up(tx, key)


def find_session(read: Read, key: Key, prefix: str) -> Session | None:
    found = read.all("find_session", key=key, prefix=prefix.lower())
    return rows.session(found[0]) if len(found) == 1 else None
