"""The write-ahead log, kept short: readers that overlap would otherwise let it grow for ever."""

from __future__ import annotations

import os
import sqlite3

from .database import BUSY_SECONDS
from .faults import refuse_failed_sync

LIMIT = 16 * 1024 * 1024
"""Bytes the log may take before it is made to start over; also what is kept of its file then."""

COPY_EVERY = 1_024
"""Transactions before the log is copied into the database.

A page that many commits rewrote is copied once, so a longer log costs less. One transaction takes some seven
pages: the log stays below its limit, and after a crash it is read in a moment.
"""

_PATIENCE_MS = 50
_LOOK_EVERY = 256
"""Transactions between two looks at the file: a look costs more than it should right after a commit."""


class WriteAheadLog:
    """Copies the log into the database, and starts it over when it has grown past its limit.

    SQLite would copy it by itself, but tells nobody when that could not be synced. It copies in parts, as far
    as readers let it, and syncs with the last; if that sync fails, it copies only the last part again, and
    the pages of the others, lost, would be missing once the log is gone.

    It goes back to the log's beginning only when no reader looks at it. With readers that follow one another
    closely that moment never comes by chance, so the writer waits for it: a little, and only once per `LIMIT`
    bytes written.
    """

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._path = db.execute("PRAGMA database_list").fetchone()[2] + "-wal"
        self._limit = LIMIT
        self._unseen = self._uncopied = 0
        db.execute(f"PRAGMA journal_size_limit = {LIMIT}")

    def keep_short(self, transactions: int) -> None:
        """Look every now and then, after a commit of so many transactions, with none open.

        Raises `SyncFailed`: nothing more may be written then, so that the log stays for the next start.
        """
        self._unseen += transactions
        self._uncopied += transactions
        if self._unseen < _LOOK_EVERY:
            return
        self._unseen = 0
        size = os.stat(self._path).st_size
        if size > self._limit:
            self._limit = LIMIT if self._start_over() else size + LIMIT
        elif self._uncopied >= COPY_EVERY:
            self._copy("PASSIVE")

    def _start_over(self) -> bool:
        """Copy all of it and wait until nobody reads from it; False if that could not be had now."""
        try:
            self._db.execute(f"PRAGMA busy_timeout = {_PATIENCE_MS}")
            return self._copy("RESTART")
        finally:
            self._db.execute(f"PRAGMA busy_timeout = {round(BUSY_SECONDS * 1_000)}")

    def _copy(self, how: str) -> bool:
        self._uncopied = 0
        try:
            busy, _, _ = self._db.execute(f"PRAGMA wal_checkpoint({how})").fetchone()
        except sqlite3.Error as error:
            refuse_failed_sync(error)
            return False  # Nothing is lost: what could not be copied stays in the log.
        return not busy
