"""Opening the ledger's file: with durable settings or not at all, and with the current schema."""

from __future__ import annotations

import os
import re
import sqlite3
from functools import partial
from pathlib import Path

from holdfast.errors import SchemaTooNew, StoreUnavailable, Unusable, WeakDurability

from .faults import translate

BUSY_SECONDS = 30.0
"""How long to wait for another process (a backup, an operator's shell) before giving up."""

PAGE_BYTES = 2_048
"""A commit writes every page that it touches, mostly for one row: small pages halve the log."""

TEXT = partial(str, encoding="utf-8", errors="replace")
"""How text is read: damaged text is read as far as it goes, so that the other rows can still be read."""

_MIGRATIONS = Path(__file__).with_name("migrations")
_FULL = 2
_PIECE = 1024 * 1024
_OLDEST = (3, 38, 0)


def connect_writer(path: Path, kind: type[sqlite3.Connection] = sqlite3.Connection) -> sqlite3.Connection:
    """Open for writing: write-ahead log, every commit synced, foreign keys on; refuse anything weaker.

    A ledger with a newer schema is refused before these settings are made.
    """
    if sqlite3.sqlite_version_info < _OLDEST:
        raise Unusable(f"SQLite {sqlite3.sqlite_version} is too old; Holdfast needs 3.38 or newer")
    db = sqlite3.connect(
        path,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=512,
        factory=kind,
    )
    db.text_factory = TEXT
    try:
        _refuse_newer(db)
        _make_durable(db, path)
    except sqlite3.Error as error:
        db.close()
        raise translate(error) from error
    except Unusable:
        db.close()
        raise
    return db


def _refuse_newer(db: sqlite3.Connection) -> None:
    found, known = schema_version(db), migrations()[-1][0]
    if found > known:
        raise SchemaTooNew(found, known)


def _make_durable(db: sqlite3.Connection, path: Path) -> None:
    db.execute(f"PRAGMA page_size = {PAGE_BYTES}")  # only for a new file; an old one keeps its size
    db.execute("PRAGMA foreign_keys = ON")
    db.execute("PRAGMA fullfsync = ON")
    db.execute("PRAGMA synchronous = FULL")
    mode = db.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    sync = db.execute("PRAGMA synchronous").fetchone()[0]
    # If SQLite copied the log by itself, it would not report a failed sync and would treat the log as copied.
    db.execute("PRAGMA wal_autocheckpoint = 0")
    if mode != "wal" or sync < _FULL:
        raise WeakDurability(
            f"{path} runs with journal_mode={mode}, synchronous={sync}; Holdfast needs wal and 2 (FULL), "
            "because it confirms messages on the strength of a commit. Use a local disk."
        )


def connect_reader(path: Path) -> sqlite3.Connection:
    """Open for reading only: the file is opened read-only, and only queries are allowed."""
    try:
        db = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=ro",
            uri=True,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
    except sqlite3.Error as error:
        raise translate(error) from error
    db.text_factory = TEXT
    db.set_authorizer(_only_queries)
    return db


_QUERYING = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
    sqlite3.SQLITE_TRANSACTION,
}
_ASKING = {"integrity_check", "foreign_key_check", "user_version"}


def _only_queries(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    """Allow queries, and pragmas that read and set nothing."""
    asks = action == sqlite3.SQLITE_PRAGMA and second is None and first in _ASKING
    return sqlite3.SQLITE_OK if action in _QUERYING or asks else sqlite3.SQLITE_DENY


def migrations() -> list[tuple[int, str]]:
    """The number and the script of each migration, in order."""
    found = []
    for file in _MIGRATIONS.iterdir():
        if match := re.match(r"(\d{4})_\w+\.sql$", file.name):
            found.append((int(match[1]), file.read_text(encoding="utf-8")))
    return sorted(found)


def statements(script: str) -> list[str]:
    """Split a script into statements; a trigger with its body is one statement."""
    found, pending = [], ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            found.append(pending)
            pending = ""
    return found


def schema_version(db: sqlite3.Connection) -> int:
    """The number of the last migration that this file has."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def migrate(db: sqlite3.Connection) -> int:
    """Bring the schema up to date and return its version.

    Each migration is one transaction that also sets its number: a process that dies inside it leaves the
    version before it complete.
    """
    known = migrations()
    try:
        found = schema_version(db)
        for number, script in known:
            if number > found:
                _apply(db, number, script)
    except sqlite3.Error as error:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise translate(error) from error
    return known[-1][0]


def _apply(db: sqlite3.Connection, number: int, script: str) -> None:
    db.execute("BEGIN IMMEDIATE")
    if schema_version(db) < number:
        for statement in statements(script):
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {number}")
    db.execute("COMMIT")


def renew_log(path: Path) -> None:
    """Write the log that a crash left once more, the same bytes in the same place, and sync it.

    After a failed sync the log looks complete, but the disk may not hold it. A second sync alone would
    succeed, because the system has nothing left to write. If SQLite copied such a log into the database and
    the power failed in the middle, the database would be half old and half new, without a log to repair it.
    """
    try:
        with open(f"{path}-wal", "r+b") as log:
            while piece := log.read(_PIECE):
                log.seek(-len(piece), os.SEEK_CUR)
                log.write(piece)
            log.flush()
            os.fsync(log.fileno())
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreUnavailable(f"the ledger's log could not be renewed: {error.strerror}") from error


def settle_log(db: sqlite3.Connection) -> None:
    """Copy the log that a crash left into the database, synced, before any new write."""
    try:
        db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
    except sqlite3.Error as error:
        raise translate(error) from error
