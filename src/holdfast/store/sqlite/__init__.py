"""The store on SQLite, for one machine."""

from __future__ import annotations

from .store import LEDGER, SqliteStore, open_ledger

__all__ = ["LEDGER", "SqliteStore", "open_ledger"]
