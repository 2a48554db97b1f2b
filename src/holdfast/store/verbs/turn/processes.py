"""Background processes: the end of each wakes its session once, and only while no turn has seen it."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.model import (
    ChatAddress,
    Inbound,
    InboxKind,
    Key,
    PersonId,
    Process,
    ProcessId,
    ProcessState,
    SessionId,
    TurnId,
    place_at,
)
from holdfast.policy.processes import ended_text
from holdfast.store.contract import Spawned
from holdfast.store.verbs import rows
from holdfast.store.verbs.codec import dump_list
from holdfast.store.verbs.intake.intake import accept_one, refresh_conversation
from holdfast.store.verbs.tx import Read, Row, Tx, Value

ACCOUNT = "holdfast"
"""The account under which the gateway's own wake-ups are accepted."""

_SEEN = "seen already"


def processes(read: Read, session: SessionId | None = None) -> tuple[Process, ...]:
    if session is None:
        return tuple(rows.process(row) for row in read.all("running_processes"))
    return tuple(rows.process(row) for row in read.all("session_processes", session=session))


def known_processes(read: Read, ids: Sequence[str]) -> tuple[Process, ...]:
    return tuple(rows.process(row) for id in ids for row in read.all("known_process", id=id))


def adopt_process(tx: Tx, spawned: Spawned, turn: TurnId) -> bool:
    known = tx.run("adopt_process", turn=turn, now=tx.now, **spawned_values(spawned))
    if known:
        tx.event("adopted", f"process:{spawned.id}", turn=turn)
        tx.changed("processes")
    return known == 1


def spawned_values(spawned: Spawned) -> dict[str, Value]:
    """The values of a process's row."""
    return {
        "id": spawned.id,
        "boot": spawned.boot,
        "pid": spawned.pid,
        "started_ticks": spawned.started_ticks,
        "command": spawned.command,
        "log": spawned.log,
        "notify": spawned.notify,
        "patterns": dump_list(spawned.patterns),
    }


def end_process(tx: Tx, id: str, state: ProcessState, exit_code: int | None, words: str = "") -> bool:
    row = tx.one("end_process", id=id, state=state, exit_code=exit_code, now=tx.now)
    if row is None:
        return False
    session, incarnation, turn, notify, consumed, command = row
    tx.event(state, f"process:{id}", exit_code=exit_code)
    tx.changed("processes")
    if consumed:
        _drop_wakeups(tx, id, _SEEN)
    at_rest = tx.one("session_at_rest", session=session)
    if notify and not consumed and at_rest and at_rest[3] == incarnation:
        _drop_wakeups(tx, id, "its end says it all")
        text = ended_text(ProcessId(id), command or "", state, exit_code)
        _wake(tx, at_rest, f"process:{id}:ended", f"{text}\n{words}" if words else text, turn, incarnation)
    return True


def match_process(
    tx: Tx, id: str, number: int, text: str, cap: int, upto: int = 0, since: int | None = None
) -> bool:
    row = tx.one("match_process", id=id, number=number, cap=cap, upto=upto)
    if row is None:
        return False
    session, incarnation, turn, generation = row
    at_rest = tx.one("session_at_rest", session=session)
    if not at_rest or at_rest[3] != incarnation:
        return False
    just_completed = since is not None and at_rest[5] is not None and at_rest[5] >= since
    if at_rest[2] != generation or at_rest[4] is not None or just_completed:
        tx.run("miss_match", id=id)
        return False
    _wake(tx, at_rest, f"process:{id}:match:{number}", text, turn, incarnation)
    return True


def consume_process(tx: Tx, id: str) -> bool:
    first = tx.run("consume_process", id=id) == 1
    _drop_wakeups(tx, id, _SEEN)
    return first


def _drop_wakeups(tx: Tx, id: str, reason: str) -> None:
    """Drop the waiting wake-ups of this process."""
    ids = {"from_id": f"process:{id}:", "to_id": f"process:{id};"}
    for (key,) in tx.all("drop_wakeups", account=ACCOUNT, reason=reason, now=tx.now, **ids):
        refresh_conversation(tx, key)


def _wake(tx: Tx, session: Row, event_id: str, text: str, turn: str, incarnation: int) -> None:
    """Write the wake-up as an inbox row with a deterministic id: it causes one turn at most.

    Its sender is the person whose turn started the process, so that their access decides about it.
    """
    sender = tx.one("sender_of_turn", turn=turn)
    accept_one(
        tx,
        ACCOUNT,
        Inbound(
            event_id,
            Key(session[0]),
            place_at(ChatAddress(session[1])),
            PersonId(sender[0] if sender else ""),
            text,
            InboxKind.WAKEUP,
            incarnation=incarnation,
        ),
    )
