"""Parts of the ledger that are set aside: the log and `set-aside` name each once, and all others go on."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import partial

from holdfast.model import ChatAddress, Key, Owed, OwedKind
from holdfast.store.contract import LEDGER_ACCOUNT

from .delivery.outbox_insert import owe_all
from .tx import PartUndone, Row, Tx, Value

log = logging.getLogger(__name__)

_SHOWN = 2_000
"""How many characters of the damaged value are kept."""

_FAULTY = (
    "I cannot go on in this chat: its record is damaged, or I met a fault of my own. Your messages are kept. "
    "I also tell the operator, who sees the details with `holdfast set-aside`. I try again with your next "
    "message and at the next start."
)


def set_part_aside(tx: Tx, part: str, reason: str, payload: str) -> None:
    """Report a part of the ledger that cannot be read or worked on, once: in the log and in `set-aside`."""
    told = {"account": LEDGER_ACCOUNT, "part": part, "reason": reason, "payload": payload[:_SHOWN]}
    if tx.run("keep_aside", now=tx.now, **told):
        log.error("damage in the ledger: %s", reason)
        tx.event("set_aside", f"ledger:{part}", reason=reason)


def set_row_aside(tx: Tx, table: str, id_: object, fault: Exception) -> None:
    """Report a row that cannot be changed at all: the gateway passes over it and goes on with the others."""
    reason = f"row {id_} of {table} cannot be changed ({type(fault).__name__}: {fault}), so it is passed over"
    set_part_aside(tx, f"{table}/{id_}", reason, str(id_))


def rows_apart(tx: Tx, table: str, found: Iterable[Row], change: Callable[[Value], list[Row]]) -> list[Row]:
    """Change rows one by one when one statement for all has failed; returns what the changes return."""
    changed: list[Row] = []
    for id_, *_ in found:
        try:
            changed += tx.apart(partial(change, id_))
        except PartUndone as undone:
            set_row_aside(tx, table, id_, undone.fault)
    return changed


def set_conversation_aside(tx: Tx, key: Key, fault: Exception) -> None:
    """Take a conversation that cannot be worked on out of the line, report it, and tell its chat."""
    words = f"{type(fault).__name__}: {fault}"
    row = tx.one("set_conversation_aside", key=key, fault=words)
    if row is None:
        return
    reason = f"the conversation {key} could not be worked on: {words}; its messages are kept"
    set_part_aside(tx, _part(key), reason, key)
    notice = Owed(ChatAddress(row[0]), f"fault:{key}:{tx.now}", (_FAULTY,), OwedKind.NOTICE)
    try:
        tx.apart(lambda: owe_all(tx, (notice,)))
    except PartUndone as undone:
        log.error("the notice for the chat of %s could not be written: %s", key, undone)


def clear_fault(tx: Tx, key: Key) -> None:
    """Clear the fault of a conversation: a claim of it has succeeded."""
    tx.run("clear_fault", key=key)
    tx.run("take_from_aside", account=LEDGER_ACCOUNT, part=_part(key))
    tx.event("taken_up", f"ledger:{_part(key)}")


def _part(key: Key) -> str:
    return f"conversation/{key}"
