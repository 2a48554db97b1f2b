"""Damage below the schema: an optional field that cannot be read counts as absent, alone, and is reported.

A value of a type the schema does not allow keeps its whole row from ever being changed, so it is taken out,
and what stood there is set aside. A conversation that cannot be worked on all the same is laid aside alone:
its chat is told so, `set-aside` lists it, and it is tried again with the next message and at the next start.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from holdfast.model import OPEN_TURN_STATES, ChatAddress, Key, Owed, OwedKind
from holdfast.store.contract import LEDGER_ACCOUNT

from .codec import encode
from .commit import Tx, Undone, Value
from .intake import refresh_conversation
from .owing import owe_all

log = logging.getLogger(__name__)

_SHOWN = 2_000
"""Characters kept of what stood there."""
_Fields = Mapping[str, tuple[type, Value]]
"""Columns by name: the type each has if it is not null, and what stands in its place."""

_TURN: _Fields = MappingProxyType(
    {
        "owner": (str, None),
        "last_owner": (str, None),
        "attempt": (int, 1),
        "suspect": (int, 0),
        "productive": (int, 0),
        "begun_at": (int, 0),
        "claimed_at": (int, 0),
        "progress_at": (int, None),
        "progress_mark": (str, None),
        "tail": (str, "work"),
        "noted": (int, 0),
        "interruptions": (int, 1),
        "interrupted_at": (int, None),
        "interruption": (str, None),
        "held": (str, None),
        "held_since": (int, None),
        "quarantined": (int, 0),
        "consented": (int, 0),
        # A stop was asked for, of whatever kind.
        "stop": (str, "stop"),
        "stop_at": (int, None),
        "why": (str, None),
        "deaths": (int, 0),
    }
)
_SESSION: _Fields = MappingProxyType(
    {
        "began": (str, "first"),
        "began_at": (int, 0),
        "strikes": (int, 0),
        "longest_fatal": (int, 0),
        "completed_at": (int, None),
        # It was parked, whenever that was.
        "suspended_at": (int, 0),
        "suspended_why": (str, None),
        "deaths": (int, 0),
        "cuts": (int, 0),
        "follows_park": (int, 0),
    }
)
_CHAT: _Fields = MappingProxyType(
    {"busy": (str, None), "on_interruption": (str, None), "agent": (str, None), "model": (str, None)}
)


class Table(NamedTuple):
    """What a claim and recovery read of a row and can do without, and the queries for that."""

    fields: _Fields
    read: str
    write: str


OPTIONAL: Mapping[str, Table] = MappingProxyType(
    {
        "turns": Table(_TURN, "fields_of_turns", "mend_turns"),
        "sessions": Table(_SESSION, "fields_of_sessions", "mend_sessions"),
        "chats": Table(_CHAT, "fields_of_chats", "mend_chats"),
    }
)

_OPEN = encode(OPEN_TURN_STATES)

_FAULTY = (
    "I cannot go on in this chat: its record is damaged, or I met a fault of my own. Your messages are kept. "
    "The operator is told and can look at it with `holdfast set-aside`; I try again with your next message "
    "and at the next start."
)


def mend(tx: Tx) -> int:
    """Mend all open work, and let what was laid aside be tried once more; says how many rows were mended."""
    mended = mend_open_work(tx)
    for (key,) in tx.all("laid_aside"):
        if refresh_conversation(tx, key):
            tx.changed("turns")
    for key, state in tx.all("unplaced_work", open=_OPEN):
        lay_aside(tx, key, ValueError(f"its turn is in the state {state!r}, which is none of the ledger"))
    return mended


def mend_open_work(tx: Tx) -> int:
    return sum(_mend(tx, table, id_) for table, id_ in tx.all("damaged_work"))


def mend_conversation(tx: Tx, key: Key) -> bool:
    """Mend what a claim of this conversation reads; whether anything was damaged."""
    row = tx.one("rows_of_conversation", key=key)
    chat, session, turn = row if row is not None else (None, None, None)
    rows = (("chats", chat), ("sessions", session), ("turns", turn))
    return sum(_mend(tx, table, id_) for table, id_ in rows if id_ is not None) > 0


def _mend(tx: Tx, table: str, id_: str) -> int:
    fields, read, write = OPTIONAL[table]
    row = tx.one(read, id=id_)
    found = dict(zip(fields, row, strict=True)) if row is not None else {}
    damaged = {
        name: value
        for name, value in found.items()
        if value is not None and type(value) is not fields[name][0]
    }
    if not damaged:
        return 0
    values = {name: fields[name][1] if name in damaged else value for name, value in found.items()}
    tx.run(write, id=id_, **values)
    for name, value in damaged.items():
        reason = f"{table}.{name} of {id_} cannot be read, so it counts as absent; the rest of the row holds"
        set_part_aside(tx, f"{table}/{id_}/{name}", reason, str(value))
    return 1


def set_part_aside(tx: Tx, part: str, reason: str, payload: str) -> None:
    """Report a part of the ledger that cannot be read or worked on, once: in the log, and for `set-aside`."""
    told = {"account": LEDGER_ACCOUNT, "part": part, "reason": reason, "payload": payload[:_SHOWN]}
    if tx.run("keep_aside", now=tx.now, **told):
        log.error("damage in the ledger: %s", reason)
        tx.event("set_aside", f"ledger:{part}", reason=reason)


def lay_aside(tx: Tx, key: Key, fault: Exception) -> None:
    """What cannot be worked on stays out of the line, alone; whoever writes there is told the truth."""
    words = f"{type(fault).__name__}: {fault}"
    row = tx.one("lay_aside", key=key, fault=words)
    if row is None:
        return
    reason = f"the conversation {key} could not be worked on: {words}; its messages are kept"
    set_part_aside(tx, _part(key), reason, key)
    notice = Owed(ChatAddress(row[0]), f"fault:{key}:{tx.now}", (_FAULTY,), OwedKind.NOTICE)
    try:
        tx.apart(lambda: owe_all(tx, (notice,)))
    except Undone as undone:
        log.error("the chat of %s cannot be told: %s", key, undone)


def heal(tx: Tx, key: Key) -> None:
    """The conversation was claimed: whatever was wrong with it is over."""
    tx.run("heal_conversation", key=key)
    tx.run("take_from_aside", account=LEDGER_ACCOUNT, part=_part(key))
    tx.event("taken_up", f"ledger:{_part(key)}")


def _part(key: Key) -> str:
    return f"conversation/{key}"
