"""One group of transactions, one commit, one fsync: everything reported as kept is on the disk."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, TypeVar

from holdfast.clock import Clock, Ids, mark
from holdfast.errors import StoreFault, StoreUnavailable, SyncFailed
from holdfast.model import InstanceId
from holdfast.store.verbs.codec import encode
from holdfast.store.verbs.tx import PartUndone, Row, Tx, Value

from .faults import code_of, family_of, name_of, refuse_failed_sync, translate
from .sql import SQL

T = TypeVar("T")

_LET_READERS_END_MS = 2_000


def writable(values: dict[str, Value]) -> dict[str, Value]:
    """Replace halves of characters, which platforms do send, so that the rest of the text can be kept."""
    return {
        name: value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if isinstance(value, str)
        else value
        for name, value in values.items()
    }


class SqliteTx:
    """A transaction of SQLite, as the verbs know one (`Tx`)."""

    scrub = False

    def __init__(self, db: sqlite3.Connection, clock: Clock, ids: Ids, instance: InstanceId) -> None:
        self._db = db
        self._clock = clock
        self.ids = ids
        self.instance = instance
        self.now = clock.now()
        self.topics: set[str] = set()

    @property
    def mark(self) -> str:
        """This moment on the machine's own clock, to be measured from later."""
        return mark(self._clock)

    @property
    def uptime(self) -> tuple[str, int]:
        """This moment, to measure from a mark to it."""
        return self._clock.uptime()

    def all(self, name: str, /, **values: Value) -> list[Row]:
        """Every row of a query."""
        return self.write(name, values).fetchall()

    def one(self, name: str, /, **values: Value) -> Row | None:
        """The only row of a query, or None; a second row would be a bug in the query."""
        rows = self.write(name, values).fetchall()
        return rows[0] if rows else None

    def decoded(self, name: str, /, **values: Value) -> list[Row] | None:
        """Every row of a query, or None if a text in one of them cannot be decoded."""
        try:
            return self.all(name, **values)
        except sqlite3.OperationalError as error:
            if code_of(error):
                raise
            return None

    def run(self, name: str, /, **values: Value) -> int:
        """Run a write and return how many rows it changed."""
        return self.write(name, values).rowcount

    def write(self, name: str, values: dict[str, Value], /) -> sqlite3.Cursor:
        """Run a statement and return its result; for a write that always changes its row."""
        query = SQL[name]
        try:
            return self._db.execute(query.text, query.pick(values))
        except UnicodeEncodeError:
            return self._db.execute(query.text, query.pick(writable(values)))

    def many(self, name: str, rows: list[dict[str, Value]], /) -> None:
        """Run one write for each of `rows`."""
        text, pick = SQL[name].text, SQL[name].pick
        left = iter(rows)
        try:
            self._db.executemany(text, map(pick, left))
        except UnicodeEncodeError:
            # The rows before the one that cannot be written are written already.
            done = len(rows) - len(list(left)) - 1
            self._db.executemany(text, [pick(writable(values)) for values in rows[done:]])

    def apart(self, work: Callable[[], T]) -> T:
        """Run a part of the transaction; a fault in it undoes this part alone and raises `PartUndone`."""
        return _apart(self._db, work)

    def event(self, what: str, subject: str, /, **detail: Value) -> None:
        """Write an event as part of this transaction: something about a row that the row does not keep."""
        told = {name: value for name, value in detail.items() if value is not None}
        self.write(
            "add_event",
            {
                "at": self.now,
                "instance": self.instance,
                "what": what,
                "subject": subject,
                "detail": json.dumps(told) if told else None,
            },
        )

    def events(self, events: Sequence[tuple[str, str, Mapping[str, object]]]) -> None:
        """The same for many at once: what, subject and detail of each."""
        same: dict[str, Value] = {"at": self.now, "instance": self.instance}
        self.many(
            "add_event",
            [
                {**same, "what": what, "subject": subject, "detail": encode(detail)}
                for what, subject, detail in events
            ],
        )

    def changed(self, topic: str) -> None:
        """Wake all that wait for this topic, once the commit has returned."""
        self.topics.add(topic)


Work = Callable[[Tx], Any]


class CommitOutcome:
    """The outcome of one transaction of a group: its value, or the error that it raises."""

    value: Any = None
    error: BaseException | None = None
    topics: Set[str] = frozenset()
    scrub = False


def commit_group(
    db: sqlite3.Connection, works: Sequence[Work], clock: Clock, ids: Ids, instance: InstanceId
) -> list[CommitOutcome]:
    """Run all of `works` in one commit and return the outcome of each, after COMMIT has returned.

    A refusal, a broken constraint or a bug in one of them undoes only that one. A fault of the machine (a
    full disk may have rolled back the others too) and any fault of the commit itself undoes all of them: the
    one that failed gets its own error, the others a `StoreFault`. If the sync of a scrub fails, all of them
    get `SyncFailed`.
    """
    outcomes = [CommitOutcome() for _ in works]
    running: CommitOutcome | None = None
    try:
        db.execute("BEGIN IMMEDIATE")
        if len(works) == 1:
            (running,) = outcomes
            tx = SqliteTx(db, clock, ids, instance)
            running.value, running.topics, running.scrub = works[0](tx), tx.topics, tx.scrub
        else:
            for work, outcome in zip(works, outcomes, strict=True):
                running = outcome
                _run_apart(db, work, outcome, SqliteTx(db, clock, ids, instance))
            running = None
        _commit(db)
    except Exception as error:  # noqa: BLE001 - the boundary: after any fault, no work of the group is kept
        _fail_all(outcomes, running, translate(_roll_back(db, error)))
        return outcomes
    try:
        for outcome in outcomes:
            if outcome.scrub:
                outcome.value = _scrub(db)
    except SyncFailed as fault:
        _fail_all(outcomes, None, fault)
    return outcomes


def _scrub(db: sqlite3.Connection) -> bool:
    """Rewrite the file without the deleted content, then empty the log; False if that must wait.

    The rewrite is a commit of its own. Raises `SyncFailed` if the disk did not confirm it, or the copy of
    the log.
    """
    (patience,) = db.execute("PRAGMA busy_timeout").fetchone()
    try:
        db.execute("VACUUM")
        db.execute(f"PRAGMA busy_timeout = {_LET_READERS_END_MS}")
        busy, _, _ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except (sqlite3.Error, MemoryError) as error:
        refuse_failed_sync(error)
        return False  # No commit is lost; only the rewrite has not happened.
    finally:
        db.execute(f"PRAGMA busy_timeout = {patience}")
    return not busy


def _run_apart(db: sqlite3.Connection, work: Work, outcome: CommitOutcome, tx: SqliteTx) -> None:
    """Run one transaction so that its refusal or its bug does not change the others of the group."""
    try:
        outcome.value = _apart(db, lambda: work(tx))
        outcome.topics, outcome.scrub = tx.topics, tx.scrub
    except PartUndone as undone:
        outcome.error = translate(undone.fault)


def _apart(db: sqlite3.Connection, work: Callable[[], T]) -> T:
    db.execute("SAVEPOINT one")
    try:
        value = work()
    except Exception as error:
        if not (_is_its_own(error) and db.in_transaction):
            raise
        db.execute("ROLLBACK TO one")
        db.execute("RELEASE one")
        raise PartUndone(error) from error
    db.execute("RELEASE one")
    return value


def _is_its_own(error: Exception) -> bool:
    """Whether only the work itself is to blame: a refusal, a broken rule, a wrong value, a bug.

    An error of the driver about how it was called has no code of SQLite. A statement that fails on damaged
    data has the generic code, which is no fault of the machine.
    """
    if isinstance(error, sqlite3.Error):
        own = (sqlite3.IntegrityError, sqlite3.DataError, sqlite3.ProgrammingError, sqlite3.InterfaceError)
        return isinstance(error, own) or (
            isinstance(error, sqlite3.OperationalError) and code_of(error) in (0, sqlite3.SQLITE_ERROR)
        )
    return not isinstance(error, (MemoryError, OSError, StoreFault))


def _commit(db: sqlite3.Connection) -> None:
    if not db.in_transaction:
        raise StoreUnavailable("the transaction ended by itself; nothing of it was kept")
    try:
        db.execute("COMMIT")
    except (sqlite3.Error, MemoryError) as error:
        if _is_certainly_undone(db, error):
            raise
        raise SyncFailed(f"the disk did not confirm a commit ({name_of(error)})") from error


def _is_certainly_undone(db: sqlite3.Connection, error: Exception) -> bool:
    """Whether a failed COMMIT certainly left nothing that the next start could find.

    The last frame in the log makes the commit. If SQLite could not write it, there is no commit. Once it is
    written, a failed sync or a failed read of the shared index does not tell what the disk will hold.
    """
    code = code_of(error)
    if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE):
        return True
    return db.in_transaction and family_of(code) != sqlite3.SQLITE_IOERR


def _roll_back(db: sqlite3.Connection, error: Exception) -> Exception:
    """Leave no transaction open and return the error to report."""
    try:
        if db.in_transaction:
            db.execute("ROLLBACK")
    except (sqlite3.Error, MemoryError) as second:
        if db.in_transaction:
            return SyncFailed(f"the ledger can neither commit nor roll back ({name_of(second)})")
    return error


def _fail_all(outcomes: list[CommitOutcome], culprit: CommitOutcome | None, fault: Exception) -> None:
    """Fail the whole group. A refusal in it does not count either: another's write may have caused it."""
    shared = fault
    if not isinstance(fault, StoreFault):
        shared = StoreUnavailable("another transaction of the same commit failed; nothing was kept")
    for outcome in outcomes:
        outcome.value, outcome.topics = None, frozenset()
        # One exception for each: they are raised in different tasks, and each collects its own traceback.
        outcome.error = fault if outcome is culprit else type(shared)(*shared.args)
