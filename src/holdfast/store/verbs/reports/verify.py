"""The invariants of the ledger, checked over the whole database."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.model import MACHINES, Began, BusyMode, OnInterruption, StopKind, Stopped, Tail
from holdfast.store.verbs.rows import LATEST_TIME
from holdfast.store.verbs.tx import Read

_WORDS: dict[str, Iterable[str]] = {
    **{machine.name: machine.arrows for machine in MACHINES},
    "tail": Tail,
    "stop": StopKind,
    "began": Began,
    "busy": BusyMode,
    "on_interruption": OnInterruption,
    "stopped": Stopped,
}


def verify(read: Read) -> tuple[str, ...]:
    integrity = tuple(str(row[0]) for row in read.all("integrity") if row[0] != "ok")
    orphans = tuple(
        f"row {rowid} of {table} points to a missing row of {parent}"
        for table, rowid, parent, _ in read.all("foreign_keys")
    )
    # A read-only connection does not check the schema's CHECKs, so the words are checked one by one.
    words = {name: f",{','.join(known)}," for name, known in _WORDS.items()}
    unreadable = tuple(str(row[0]) for row in read.all("unreadable_fields", latest=LATEST_TIME, **words))
    return integrity + orphans + unreadable + tuple(str(row[0]) for row in read.all("broken_invariants"))
