"""One group of transactions, one commit, one fsync: what is reported as kept is exactly what is on disk."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from typing import Any

from holdfast.clock import Clock, Ids
from holdfast.errors import (
    Broken,
    DiskFull,
    Refused,
    StoreFault,
    StoreUnavailable,
    SyncFailed,
)
from holdfast.model import InstanceId

from .sql import SQL

Row = tuple[Any, ...]
Value = str | int | float | None

_FSYNC_ERRORS = {"SQLITE_IOERR_FSYNC", "SQLITE_IOERR_DIR_FSYNC"}


class Tx:
    """What a verb works with: named queries on the open transaction, the time, ids, and wake-ups to send.

    Rows are fetched whole, inside the transaction; wake-ups are sent only after its commit.
    """

    __slots__ = ("_db", "ids", "instance", "now", "topics")

    def __init__(self, db: sqlite3.Connection, clock: Clock, ids: Ids, instance: InstanceId) -> None:
        self._db = db
        self.ids = ids
        self.instance = instance
        self.now = clock.now()
        self.topics: set[str] = set()

    def all(self, name: str, /, **values: Value) -> list[Row]:
        """Every row of a query."""
        return self._db.execute(SQL[name], values).fetchall()

    def one(self, name: str, /, **values: Value) -> Row | None:
        """The only row of a query, or None; a second one would be a bug in the query."""
        rows = self._db.execute(SQL[name], values).fetchall()
        return rows[0] if rows else None

    def run(self, name: str, /, **values: Value) -> int:
        """Carry out a write and return how many rows it changed."""
        return self._db.execute(SQL[name], values).rowcount

    def event(self, what: str, subject: str, /, **detail: Value) -> None:
        """Write down what happened to a row, as part of this transaction."""
        self._db.execute(
            SQL["add_event"],
            {
                "at": self.now,
                "instance": self.instance,
                "what": what,
                "subject": subject,
                "detail": json.dumps(detail) if detail else None,
            },
        )

    def changed(self, topic: str) -> None:
        """Wake whoever waits for this topic, once the commit has returned."""
        self.topics.add(topic)


Work = Callable[[Tx], Any]


class Outcome:
    """What became of one transaction of a group: a value, or the error it is to raise."""

    __slots__ = ("error", "topics", "value")

    def __init__(self) -> None:
        self.value: Any = None
        self.error: BaseException | None = None
        self.topics: set[str] = set()


def commit_group(
    db: sqlite3.Connection, works: Sequence[Work], clock: Clock, ids: Ids, instance: InstanceId
) -> list[Outcome]:
    """Run all of `works` in one commit and say what became of each.

    A refusal or a broken constraint undoes that one alone. Any other error (a full disk may have rolled
    back the neighbours too) and any fault of the commit itself undoes all of them. An outcome leaves this
    function only after COMMIT has returned.
    """
    outcomes = [Outcome() for _ in works]
    try:
        db.execute("BEGIN IMMEDIATE")
        alone = len(works) == 1
        for work, outcome in zip(works, outcomes, strict=True):
            _run(db, work, outcome, Tx(db, clock, ids, instance), alone)
        if not (alone and outcomes[0].error is not None):
            _commit(db)
    except Exception as error:  # noqa: BLE001 - the boundary: whatever it was, nobody's work was kept
        _roll_back(db)
        fault = translate(error)
        for outcome in outcomes:
            outcome.value, outcome.topics = None, set()
            outcome.error = fault
    return outcomes


def _run(db: sqlite3.Connection, work: Work, outcome: Outcome, tx: Tx, alone: bool) -> None:
    """Run one transaction inside its own savepoint (the whole transaction is one when it is alone)."""
    if not alone:
        db.execute("SAVEPOINT one")
    try:
        outcome.value = work(tx)
        outcome.topics = tx.topics
    except (Refused, sqlite3.IntegrityError) as error:
        if not db.in_transaction:
            raise
        db.execute("ROLLBACK" if alone else "ROLLBACK TO one")
        outcome.error = translate(error)
    if not alone:
        db.execute("RELEASE one")
    elif outcome.error is None and not db.in_transaction:
        raise StoreUnavailable("the transaction ended by itself; nothing of it was kept")


def _commit(db: sqlite3.Connection) -> None:
    if not db.in_transaction:
        raise StoreUnavailable("the transaction ended by itself; nothing of it was kept")
    try:
        db.execute("COMMIT")
    except sqlite3.Error as error:
        if _name(error).startswith("SQLITE_IOERR"):
            raise SyncFailed(f"the disk did not confirm a commit ({_name(error)})") from error
        raise


def _roll_back(db: sqlite3.Connection) -> None:
    if db.in_transaction:
        db.execute("ROLLBACK")


def _name(error: BaseException) -> str:
    return str(getattr(error, "sqlite_errorname", ""))


def translate(error: Exception) -> Exception:
    """Turn a driver's error into ours; an error that is not the driver's stays as it is."""
    if isinstance(error, sqlite3.IntegrityError):
        return Broken(f"the ledger's rules forbid this write: {error}")
    if not isinstance(error, sqlite3.Error):
        return error
    name = _name(error)
    if name == "SQLITE_FULL":
        return DiskFull("the disk is full; nothing was kept, and nothing is acknowledged until there is room")
    if name in _FSYNC_ERRORS:
        return SyncFailed(f"the disk did not confirm a sync ({name})")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_IOERR", "SQLITE_CANTOPEN", "SQLITE_NOMEM")):
        return StoreUnavailable(f"the ledger could not be used just now ({name}); nothing was kept")
    return StoreFault(f"the ledger failed: {error} ({name or 'no code'}); nothing was kept")
