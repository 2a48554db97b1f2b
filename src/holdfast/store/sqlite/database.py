"""Opening the ledger's file: durable settings or none, and the schema brought up to date."""

from __future__ import annotations

import re
import sqlite3
from importlib.resources import files
from pathlib import Path

from holdfast.errors import SchemaTooNew, WeakDurability

from .commit import translate

BUSY_SECONDS = 30.0
"""How long to wait for a sibling (a backup, an operator's shell) before giving up: by time, not by tries."""

_FULL = 2


def connect_writer(path: Path) -> sqlite3.Connection:
    """Open for writing: write-ahead log, every commit synced, foreign keys on; anything weaker is refused."""
    db = sqlite3.connect(
        path,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=512,
    )
    try:
        db.execute("PRAGMA foreign_keys = ON")
        db.execute("PRAGMA fullfsync = ON")
        db.execute("PRAGMA synchronous = FULL")
        mode = db.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        sync = db.execute("PRAGMA synchronous").fetchone()[0]
    except sqlite3.Error as error:
        db.close()
        raise translate(error) from error
    if mode != "wal" or sync < _FULL:
        db.close()
        raise WeakDurability(
            f"{path} runs with journal_mode={mode}, synchronous={sync}; Holdfast needs wal and 2 (FULL), "
            "because it confirms messages on the strength of a commit. Use a local disk."
        )
    return db


def connect_reader(path: Path) -> sqlite3.Connection:
    """Open for reading only: the file is opened read-only and the connection refuses writes as well."""
    db = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=ro",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
    )
    db.execute("PRAGMA query_only = ON")
    return db


def migrations() -> list[tuple[int, str]]:
    """The numbered migrations, in order: number and script."""
    found = []
    for file in files(__package__).joinpath("migrations").iterdir():
        if match := re.match(r"(\d{4})_\w+\.sql$", file.name):
            found.append((int(match[1]), file.read_text(encoding="utf-8")))
    return sorted(found)


def statements(script: str) -> list[str]:
    """Split a script into statements; a trigger with its body is one."""
    found, pending = [], ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            found.append(pending)
            pending = ""
    return found


def schema_version(db: sqlite3.Connection) -> int:
    """Which migration this file was last brought to."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def migrate(db: sqlite3.Connection) -> int:
    """Bring the schema up to date and return its version.

    Each migration is one transaction that includes its number, so a process that dies inside one leaves
    the version before it, whole. A newer schema is refused untouched.
    """
    known = migrations()
    found = schema_version(db)
    if found > known[-1][0]:
        raise SchemaTooNew(found, known[-1][0])
    for number, script in known:
        if number > found:
            _apply(db, number, script)
    return known[-1][0]


def _apply(db: sqlite3.Connection, number: int, script: str) -> None:
    db.execute("BEGIN IMMEDIATE")
    try:
        if schema_version(db) < number:
            for statement in statements(script):
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {number}")
        db.execute("COMMIT")
    except sqlite3.Error as error:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise translate(error) from error
