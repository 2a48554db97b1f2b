"""The store on SQLite, for one machine."""

from __future__ import annotations

from .readonly import ReadOnlyLedger
from .store import LEDGER, SqliteStore, open_ledger

__all__ = ["LEDGER", "ReadOnlyLedger", "SqliteStore", "open_ledger"]
