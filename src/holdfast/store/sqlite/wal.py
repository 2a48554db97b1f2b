"""The write-ahead log, kept short: readers that overlap would otherwise make it grow for ever."""

from __future__ import annotations

import os
import sqlite3

from .database import BUSY_SECONDS
from .faults import refuse_failed_sync

LIMIT = 16 * 1024 * 1024
"""Size in bytes at which the writer makes the log start over; its file keeps this size."""

COPY_EVERY = 1_024
"""Number of transactions after which the log is copied into the database.

A page that many commits rewrote is copied once, so a longer log costs less. One transaction takes about seven
pages: the log stays below its limit, and after a crash SQLite reads it quickly.
"""

_PATIENCE_MS = 50
_LOOK_EVERY = 256
"""Transactions between two looks at the size of the file: right after a commit a look is expensive."""


class WriteAheadLog:
    """Copies the log into the database, and starts it over when it has grown past its limit.

    SQLite could copy the log by itself, but it does not report a failed sync then. It copies in parts, as far
    as readers allow, and syncs after the last part. If that sync fails, it later copies only the last part
    again. The pages of the earlier parts may be lost, and would be missing once the log is gone.

    SQLite goes back to the beginning of the log only when no reader uses it. If readers follow one another
    closely, that moment never comes by chance. So the writer waits for it: a short time, and only once for
    each `LIMIT` bytes.
    """

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._path = db.execute("PRAGMA database_list").fetchone()[2] + "-wal"
        self._limit = LIMIT
        self._unseen = self._uncopied = 0
        db.execute(f"PRAGMA journal_size_limit = {LIMIT}")

    def keep_short(self, transactions: int) -> None:
        """Check the log from time to time; called after a commit of so many transactions, with none open.

        After `SyncFailed` the caller must not write any more, so that the log stays for the next start.
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
        """Copy the whole log and wait until no reader uses it; False if a reader held it too long."""
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
            return False  # Nothing is lost: the pages that were not copied stay in the log.
        return not busy
