"""Opening a ledger the way the gateway does, with a connection or a writer of one's own in its place."""

from __future__ import annotations

import os
import socket
import sqlite3
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

from holdfast.clock import SystemClock, SystemIds, boot_id
from holdfast.errors import SyncFailed
from holdfast.model import InstanceId, Stopped
from holdfast.store.sqlite.changes import Changes
from holdfast.store.sqlite.commit import Work, commit_group
from holdfast.store.sqlite.database import BUSY_SECONDS, TEXT, connect_reader
from holdfast.store.sqlite.home_lock import HomeLock
from holdfast.store.sqlite.readers import ReaderThreads
from holdfast.store.sqlite.store import LEDGER, SqliteStore
from holdfast.store.sqlite.writer import WriterThread

from .floors import PRAGMAS, Statement

COMMIT_DELAY = 0.004

C = TypeVar("C", bound=sqlite3.Connection)


class SlowCommits(sqlite3.Connection):
    """A connection whose every commit takes 4 ms longer, as on a disk with a slower sync."""

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        if sql == "COMMIT":
            time.sleep(COMMIT_DELAY)
        return super().execute(sql, parameters)


class Recording(sqlite3.Connection):
    """A connection that records every statement with its values, so that a floor can repeat them."""

    log: list[Statement]

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        self.log.append((sql, _plain(parameters)))
        return super().execute(sql, parameters)

    def executemany(self, sql: str, parameters: Any, /) -> sqlite3.Cursor:
        many = list(parameters)
        self.log += [(sql, _plain(one)) for one in many]
        return super().executemany(sql, many)


def _plain(parameters: Mapping[str, Any] | Sequence[Any]) -> Any:
    """Values in plain types: no enums, no booleans."""
    if isinstance(parameters, Mapping):
        return {name: _value(value) for name, value in parameters.items()}
    return tuple(_value(value) for value in parameters)


def _value(value: Any) -> Any:
    if isinstance(value, str):
        return str(value)
    return int(value) if isinstance(value, bool) else value


def connect(path: Path, kind: type[C]) -> C:
    """A writing connection of a given class, with the store's settings."""
    db = sqlite3.connect(
        path,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=512,
        factory=kind,
    )
    db.text_factory = TEXT
    if isinstance(db, Recording):
        db.log = []
    for pragma in PRAGMAS:
        db.execute(pragma)
    return db


class Done:
    """A result that needs no wait: without the writer there is no hand-over and no future."""

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = value

    def __await__(self) -> Generator[None, None, Any]:
        yield from ()
        return self._value


class InlineWriter:
    """The writer taken out: the same transactions, committed at once in the calling thread."""

    def __init__(
        self, db: sqlite3.Connection, clock: SystemClock, ids: SystemIds, instance: InstanceId
    ) -> None:
        self._db = db
        self._context = (clock, ids, instance)

    def submit(self, work: Work) -> Done:
        (outcome,) = commit_group(self._db, [work], *self._context)
        if outcome.error is not None:
            raise outcome.error
        return Done(outcome.value)

    async def close(self) -> None:
        self._db.close()


MakeWriter = Callable[[Path, SystemClock, SystemIds, InstanceId, Changes], WriterThread]


def threaded(kind: type[sqlite3.Connection]) -> MakeWriter:
    """The store's own writer, on a connection of this class."""

    def make(
        path: Path, clock: SystemClock, ids: SystemIds, instance: InstanceId, changes: Changes
    ) -> WriterThread:
        return WriterThread(lambda: connect(path, kind), clock, ids, instance, changes.announce, _give_up)

    return make


def inline(db: sqlite3.Connection) -> MakeWriter:
    """Without a thread: a transaction commits in the thread of its caller."""

    def make(
        path: Path, clock: SystemClock, ids: SystemIds, instance: InstanceId, changes: Changes
    ) -> WriterThread:
        return cast(WriterThread, InlineWriter(db, clock, ids, instance))

    return make


def _give_up(error: SyncFailed) -> None:
    raise error


async def open_with(home: Path, make_writer: MakeWriter) -> SqliteStore:
    """`open_ledger` on an existing ledger, but with this writer."""
    lock = HomeLock(home)
    lock.take()
    clock = SystemClock()
    ids = SystemIds(clock)
    instance = InstanceId(ids.new())
    changes = Changes()
    path = home / LEDGER
    writer = make_writer(path, clock, ids, instance, changes)
    store = SqliteStore(instance, clock, lock, writer, ReaderThreads(lambda: connect_reader(path)), changes)
    await store.begin_instance(socket.gethostname(), os.getpid(), boot_id() or "unknown", "bench")
    return store


async def leave(store: SqliteStore) -> None:
    """End in order: after several deaths, recovery would hold everything in safe mode."""
    await store.end_instance(Stopped.STOPPED)
    await store.close()
