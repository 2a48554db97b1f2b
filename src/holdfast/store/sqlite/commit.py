"""One group of transactions, one commit, one fsync: what is reported as kept is exactly what is on disk."""

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
    """Half a character (platforms do send them) cannot be kept: it is replaced, so that all else is."""
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
        """The only row of a query, or None; a second one would be a bug in the query."""
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
        """Carry out a write and return how many rows it changed."""
        return self.write(name, values).rowcount

    def write(self, name: str, values: dict[str, Value], /) -> sqlite3.Cursor:
        """Carry out a statement; by itself for a write that cannot but change its row."""
        query = SQL[name]
        try:
            return self._db.execute(query.text, query.pick(values))
        except UnicodeEncodeError:
            return self._db.execute(query.text, query.pick(writable(values)))

    def many(self, name: str, rows: list[dict[str, Value]], /) -> None:
        """Carry out one write for each of `rows`."""
        text, pick = SQL[name].text, SQL[name].pick
        left = iter(rows)
        try:
            self._db.executemany(text, map(pick, left))
        except UnicodeEncodeError:
            # Those before the one that cannot be written are written.
            done = len(rows) - len(list(left)) - 1
            self._db.executemany(text, [pick(writable(values)) for values in rows[done:]])

    def apart(self, work: Callable[[], T]) -> T:
        """Carry out a part; a fault of its own undoes that part alone and is raised as `PartUndone`."""
        return _apart(self._db, work)

    def event(self, what: str, subject: str, /, **detail: Value) -> None:
        """Write down what happened to a row and the row itself does not keep, as part of this transaction."""
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
        """Wake whoever waits for this topic, once the commit has returned."""
        self.topics.add(topic)


Work = Callable[[Tx], Any]


class CommitOutcome:
    """What became of one transaction of a group: a value, or the error it is to raise."""

    value: Any = None
    error: BaseException | None = None
    topics: Set[str] = frozenset()
    scrub = False


def commit_group(
    db: sqlite3.Connection, works: Sequence[Work], clock: Clock, ids: Ids, instance: InstanceId
) -> list[CommitOutcome]:
    """Run all of `works` in one commit and say what became of each.

    A refusal, a broken constraint or a bug in one of them undoes that one alone. A fault of the machine (a
    full disk may have rolled back the neighbours too) and any fault of the commit itself undoes all of them:
    the one that failed gets its own error, the others a `StoreFault`, for nothing is wrong with them. An
    outcome leaves this function only after COMMIT has returned. A scrub whose sync failed is everybody's
    `SyncFailed` too.
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
    except Exception as error:  # noqa: BLE001 - the boundary: whatever it was, nobody's work was kept
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
    """Write the file anew, without what was deleted in it, then empty the log; False if it must wait.

    The rewriting is a commit of its own: raises `SyncFailed` if the disk did not confirm it, or the copy.
    """
    (patience,) = db.execute("PRAGMA busy_timeout").fetchone()
    try:
        db.execute("VACUUM")
        db.execute(f"PRAGMA busy_timeout = {_LET_READERS_END_MS}")
        busy, _, _ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except (sqlite3.Error, MemoryError) as error:
        refuse_failed_sync(error)
        return False  # Every commit stands; only the file is still the old one.
    finally:
        db.execute(f"PRAGMA busy_timeout = {patience}")
    return not busy


def _run_apart(db: sqlite3.Connection, work: Work, outcome: CommitOutcome, tx: SqliteTx) -> None:
    """Run one transaction so that its refusal, or its bug, leaves its neighbours as they are."""
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
    """Whether only the work itself is to blame: a refusal, a rule it broke, a value it got wrong, a bug.

    What the driver says of its use by us comes without a code of SQLite's; a statement that cannot work with
    what it found, damaged text say, has the code of no fault of the machine.
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
    """Whether a failed COMMIT left nothing that the next start could find.

    The log's last frame makes a commit. If it could not be written there is none; once it is written, a
    failed sync or a failed look at the shared index says nothing about what the disk will hold.
    """
    code = code_of(error)
    if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE):
        return True
    return db.in_transaction and family_of(code) != sqlite3.SQLITE_IOERR


def _roll_back(db: sqlite3.Connection, error: Exception) -> Exception:
    """Leave no transaction open and return what is to be reported."""
    try:
        if db.in_transaction:
            db.execute("ROLLBACK")
    except (sqlite3.Error, MemoryError) as second:
        if db.in_transaction:
            return SyncFailed(f"the ledger can neither commit nor roll back ({name_of(second)})")
    return error


def _fail_all(outcomes: list[CommitOutcome], culprit: CommitOutcome | None, fault: Exception) -> None:
    """Nobody's work was kept: also a refusal is void, it may have been due to a neighbour's write."""
    shared = fault
    if not isinstance(fault, StoreFault):
        shared = StoreUnavailable("another transaction of the same commit failed; nothing was kept")
    for outcome in outcomes:
        outcome.value, outcome.topics = None, frozenset()
        # One exception each: they are raised in different tasks, and each collects its own traceback.
        outcome.error = fault if outcome is culprit else type(shared)(*shared.args)
