"""The store on SQLite, for one machine."""

from __future__ import annotations

from .copy import bring_back, copy_ledger, problems_of
from .home_lock import is_taken
from .readonly import ReadOnlyLedger
from .store import LEDGER, SqliteStore, open_ledger

__all__ = [
    "LEDGER",
    "ReadOnlyLedger",
    "SqliteStore",
    "bring_back",
    "copy_ledger",
    "is_taken",
    "open_ledger",
    "problems_of",
]
