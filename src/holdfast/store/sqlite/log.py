"""The write-ahead log, kept short: readers that overlap would otherwise let it grow for ever."""

from __future__ import annotations

import os
import sqlite3

from .database import BUSY_SECONDS

LIMIT = 16 * 1024 * 1024
"""Bytes the log may take before it is made to start over; also what is kept of its file then."""

_PATIENCE_MS = 50
_LOOK_EVERY = 256
"""Transactions between two looks at the file: a look costs more than it should right after a commit."""


class Log:
    """Starts the log over when it has grown past its limit.

    SQLite copies the log into the database by itself, but it goes back to the log's beginning only when no
    reader looks at it. With readers that follow one another closely that moment never comes by chance, so
    the writer waits for it: a little, and only once per `LIMIT` bytes written.
    """

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._path = db.execute("PRAGMA database_list").fetchone()[2] + "-wal"
        self._limit = LIMIT
        self._unseen = 0
        db.execute(f"PRAGMA journal_size_limit = {LIMIT}")

    def keep_short(self, transactions: int) -> None:
        """Look every now and then, after a commit of so many transactions, with none open."""
        self._unseen += transactions
        if self._unseen < _LOOK_EVERY:
            return
        self._unseen = 0
        size = os.stat(self._path).st_size
        if size > self._limit:
            self._limit = LIMIT if self._start_over() else size + LIMIT

    def _start_over(self) -> bool:
        """Copy all of it and wait until nobody reads from it; False if that could not be had now."""
        try:
            self._db.execute(f"PRAGMA busy_timeout = {_PATIENCE_MS}")
            busy, _, _ = self._db.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()
        except sqlite3.Error:
            return False  # Nothing is lost: what could not be copied stays in the log.
        finally:
            self._db.execute(f"PRAGMA busy_timeout = {round(BUSY_SECONDS * 1_000)}")
        return not busy
