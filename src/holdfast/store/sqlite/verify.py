"""The ledger's own invariants, asked of the whole database at once."""

from __future__ import annotations

from .readers import Read


def verify(read: Read) -> tuple[str, ...]:
    integrity = tuple(str(row[0]) for row in read.all("integrity") if row[0] != "ok")
    orphans = tuple(
        f"row {rowid} of {table} points to a missing row of {parent}"
        for table, rowid, parent in read.all("foreign_keys")
    )
    return integrity + orphans + tuple(str(row[0]) for row in read.all("broken_invariants"))
