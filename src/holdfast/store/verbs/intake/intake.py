"""Intake: batches, revisions, commands, requests, and the process runs."""

from __future__ import annotations

import json
from collections.abc import Iterable

from holdfast.errors import NotFound, WrongState
from holdfast.model import (
    Accepted,
    Batch,
    ChatAddress,
    ChatSettings,
    Inbound,
    InboxKind,
    InboxRow,
    InboxState,
    Instance,
    InstanceId,
    Key,
    Owed,
    OwedKind,
    PersonId,
    Position,
    Request,
    SessionId,
    SetAside,
    Stopped,
    TurnId,
)
from holdfast.policy.intake.admission import refuse_edit
from holdfast.policy.settings import PairingSettings
from holdfast.store.contract import AS_CONFIGURED, ArrivalSettings, Edit
from holdfast.store.verbs import rows
from holdfast.store.verbs.codec import dump_message
from holdfast.store.verbs.delivery.outbox_insert import owe_all
from holdfast.store.verbs.tx import Read, Row, Tx

from .people import answer_knock

STOOD_STILL = "stood_still"


def heartbeat(tx: Tx) -> None:
    tx.run("beat", id=tx.instance, now=tx.now)


def begin_instance(tx: Tx, host: str, pid: int, boot: str, version: str) -> None:
    """Record this process run; only an orderly end adds how it ended."""
    tx.run("add_instance", id=tx.instance, host=host, pid=pid, boot=boot, version=version, now=tx.now)
    tx.event("started", f"instance:{tx.instance}", pid=pid)


def end_instance(tx: Tx, how: Stopped) -> None:
    if tx.run("end_instance", id=tx.instance, how=how, now=tx.now):
        tx.event("stopped", f"instance:{tx.instance}", how=how)


def end_instance_before(tx: Tx, instance: InstanceId, how: Stopped, at: int) -> None:
    """Record how an earlier run ended that could not record it itself; a recorded end stays."""
    if tx.run("end_instance_before", id=instance, how=how, at=at):
        tx.event("stopped", f"instance:{instance}", how=how)


def note_standstill(tx: Tx, pid: int) -> None:
    """Record that the supervisor ended the last run, if that was process `pid`: its loop stood still."""
    for (instance,) in tx.all("last_crashed", pid=pid, me=tx.instance):
        tx.event(STOOD_STILL, f"instance:{instance}")


def instances(read: Read, limit: int = 50) -> tuple[Instance, ...]:
    return tuple(rows.instance(row) for row in read.all("instances", limit=limit))


def accept_rest(tx: Tx, batch: Batch, pairing: PairingSettings) -> None:
    """Keep the rest of a batch: its unreadable events, its refused senders and its read position."""
    for unreadable in batch.unreadable:
        _set_aside(tx, batch.account, unreadable)
    knocks = {knock.event_id: knock for knock in batch.knocks}
    for event_id, reason in batch.refused:
        if not _is_settled(tx, batch.account, event_id):
            tx.event("refused", _subject(batch.account, event_id), reason=reason)
            if event_id in knocks:
                answer_knock(tx, knocks[event_id], pairing)
    if batch.cursor is not None:
        cursor = batch.cursor
        tx.run("move_cursor", account=batch.account, name=cursor.name, value=cursor.value, now=tx.now)


def _set_aside(tx: Tx, account: str, unreadable: SetAside) -> None:
    fresh = tx.run(
        "add_set_aside",
        account=account,
        event_id=unreadable.event_id,
        reason=unreadable.reason,
        payload=unreadable.payload,
        subject=_subject(account, unreadable.event_id),
        now=tx.now,
    )
    if fresh:
        tx.event("set_aside", _subject(account, unreadable.event_id), reason=unreadable.reason)


def _subject(account: str, event_id: str | None) -> str:
    return f"event:{account}/{event_id}"


def _is_settled(tx: Tx, account: str, event_id: str) -> bool:
    subject = _subject(account, event_id)
    return tx.one("event_settled", account=account, event_id=event_id, subject=subject) is not None


def accept_one(tx: Tx, account: str, message: Inbound) -> Accepted | None:
    """Keep a row that is not admitted as a message: a command, a wake-up, a row of the operator."""
    kept = keep_row(tx, account, message)
    if kept is None or not kept.fresh:
        return kept
    if _is_of_the_past(tx, message):
        tx.run("drop_on_arrival", position=kept.position, now=tx.now)
        refresh_conversation(tx, message.key)
    elif message.kind is InboxKind.COMMAND:
        tx.changed("inbox")
    else:
        line_up(tx, message.key)
    return kept


def keep_row(tx: Tx, account: str, message: Inbound) -> Accepted | None:
    """Write one row, once; a known event adds nothing and gets its first position.

    None for an event that was set aside or refused before: it stays so, even if it can be read now.
    """
    row = _add_row(tx, account, message)
    if row is None:
        # A known event adds no row, and no conversation either.
        if known := _known(tx, account, message.event_id):
            return known
        if _is_settled(tx, account, message.event_id):
            return None
        address = message.place.address
        tx.run("ensure_chat", address=address, platform=message.place.platform)
        tx.run("add_conversation", key=message.key, chat=address)
        row = _add_row(tx, account, message)
        assert row is not None
    position = Position(row[0])
    return Accepted(message.event_id, position, fresh=True)


def line_up(tx: Tx, key: Key) -> None:
    """Announce a new waiting row: to a worker, or to recovery, which looks again at the work before it."""
    tx.changed("turns" if refresh_conversation(tx, key) else "recovery")


def _add_row(tx: Tx, account: str, message: Inbound) -> Row | None:
    return tx.one(
        "add_row",
        account=account,
        event_id=message.event_id,
        subject=_subject(account, message.event_id),
        key=message.key,
        chat=message.place.address,
        sender=message.sender,
        kind=str(message.kind),
        body=dump_message(message.text, message.attachments),
        message_id=message.message_id,
        sent_at=rows.time_or_none(message.sent_at),
        now=tx.now,
        incarnation=message.incarnation,
    )


def _known(tx: Tx, account: str, event_id: str) -> Accepted | None:
    row = tx.one("known_event", account=account, event_id=event_id)
    return Accepted(event_id, Position(row[0]), fresh=False) if row else None


def _is_of_the_past(tx: Tx, message: Inbound) -> bool:
    """Whether a wake-up is of an ended incarnation; a message has none and belongs to the next session."""
    if message.incarnation is None:
        return False
    now = tx.one("incarnation_now", key=message.key)
    return now is None or now[0] != message.incarnation


def drop_wakeups_of(tx: Tx, sessions: Iterable[SessionId]) -> None:
    """Drop the waiting wake-ups of sessions that end."""
    tx.run("drop_wakeups_of_ended", sessions=json.dumps(list(sessions)), now=tx.now)


def refresh_conversation(tx: Tx, key: str) -> bool:
    """Derive from its rows whether a conversation is ready for a worker; True if it is."""
    row = tx.one("refresh_conversation", key=key, now=tx.now)
    return row is not None and row[0] is not None


def cursor(read: Read, account: str, name: str) -> str | None:
    row = read.one("cursor", account=account, name=name)
    return row[0] if row else None


def revise(tx: Tx, edit: Edit, settings: ArrivalSettings = AS_CONFIGURED) -> Position | None:
    refusal = None if edit.text is None else refuse_edit(edit.text, settings.queue)
    if refusal is not None:
        return _leave_as_it_was(tx, edit, refusal.ack)
    where = {"chat": edit.chat, "message_id": edit.message_id}
    if edit.text is not None:
        row = tx.one("rewrite_row", body=dump_message(edit.text, edit.attachments), **where)
    else:
        row = tx.one("withdraw_row", now=tx.now, **where)
    if row is None:
        return None
    if edit.text is not None:
        tx.event("edited", f"inbox:{row[0]}")
    refresh_conversation(tx, row[1])
    tx.changed("inbox")
    return Position(row[0])


def _leave_as_it_was(tx: Tx, edit: Edit, words: str) -> Position | None:
    row = tx.one("row_to_rewrite", chat=edit.chat, message_id=edit.message_id)
    if row is None:
        return None
    position = Position(row[0])
    owe_all(tx, (Owed(edit.chat, f"edit:{position}", (words,), OwedKind.NOTICE, edit.message_id),))
    return position


def commands(read: Read, limit: int = 100) -> tuple[InboxRow, ...]:
    # A command that cannot be read does not stop the others; `verify` names it.
    return rows.readable(rows.inbox_row, read.all("commands", limit=limit))


def settle_row(
    tx: Tx, position: Position, state: InboxState, reason: str | None = None, owe: tuple[Owed, ...] = ()
) -> None:
    row = tx.one("settle_row", position=position, state=state, reason=reason, now=tx.now)
    if row is None:
        raise row_is_not(tx, position, InboxState.WAITING)
    if state is InboxState.OFFERED:
        tx.event("offered", f"inbox:{position}", reason=reason)
    owe_all(tx, owe)
    # Messages after a command wait for it.
    if refresh_conversation(tx, row[0]):
        tx.changed("turns")


def row_is_not(tx: Tx, position: Position, wanted: str) -> WrongState:
    """The error that names the state which the row is in."""
    found = tx.one("state_of_row", position=position)
    return WrongState(f"inbox row {position}", found[0] if found else None, wanted)


def take_up(tx: Tx, position: Position) -> None:
    row = tx.one("take_up_row", position=position)
    if row is None:
        raise row_is_not(tx, position, InboxState.OFFERED)
    tx.event("taken_up", f"inbox:{position}")
    if refresh_conversation(tx, row[0]):
        tx.changed("turns")


def configure_chat(tx: Tx, chat: ChatAddress, settings: ChatSettings) -> None:
    changed = tx.run(
        "configure_chat",
        address=chat,
        busy=settings.busy,
        on_interruption=settings.on_interruption,
        agent=settings.agent,
        model=settings.model,
    )
    if not changed:
        raise NotFound("chat", chat)
    tx.event("configured", f"chat:{chat}")


def chat_settings(read: Read, chat: ChatAddress) -> ChatSettings:
    row = read.one("chat_settings", address=chat)
    return rows.chat_settings(*row) if row else ChatSettings()


def known_chats(read: Read, chats: tuple[ChatAddress, ...]) -> frozenset[ChatAddress]:
    return frozenset(chat for chat in chats if read.one("chat_settings", address=chat) is not None)


def request(
    tx: Tx, what: str, dedupe: str, by: PersonId | None = None, after_turn: TurnId | None = None
) -> bool:
    fresh = tx.run(
        "add_request",
        what=what,
        dedupe=dedupe,
        by=by,
        after_turn=after_turn,
        now=tx.now,
        instance=tx.instance,
    )
    if fresh:
        tx.event("requested", f"request:{dedupe}", what=what)
        tx.changed("requests")
    return fresh == 1


def requests(read: Read) -> tuple[Request, ...]:
    return tuple(rows.request(row) for row in read.all("requests"))


def settle_request(tx: Tx, id: int, outcome: str) -> None:
    if not tx.run("settle_request", id=id, outcome=outcome, now=tx.now):
        raise WrongState(f"request {id}", None, "open")
    tx.event("carried_out", f"request:{id}", outcome=outcome)
