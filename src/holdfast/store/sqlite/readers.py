"""Read-only connections: they see the last commit, never wait for the writer, and can never write."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock, local
from typing import TypeVar

from holdfast.errors import StoreClosed
from holdfast.store.verbs.tx import Read, Row, Value

from .faults import code_of, translate
from .sql import SQL

T = TypeVar("T")


class SqliteRead:
    """One snapshot; implements `Read`."""

    __slots__ = ("_db", "now")

    def __init__(self, db: sqlite3.Connection, now: int) -> None:
        self._db = db
        self.now = now

    def all(self, name: str, /, **values: Value) -> list[Row]:
        query = SQL[name]
        return self._db.execute(query.text, query.pick(values)).fetchall()

    def one(self, name: str, /, **values: Value) -> Row | None:
        rows = self.all(name, **values)
        return rows[0] if rows else None

    def decoded(self, name: str, /, **values: Value) -> list[Row] | None:
        try:
            return self.all(name, **values)
        except sqlite3.OperationalError as error:
            if code_of(error):
                raise
            return None


def read_on(db: sqlite3.Connection, work: Callable[[Read], T], now: int) -> T:
    """Run one reading verb on one snapshot of the ledger."""
    try:
        db.execute("BEGIN")
        try:
            return work(SqliteRead(db, now))
        finally:
            if db.in_transaction:
                db.execute("ROLLBACK")
    except sqlite3.Error as error:
        raise translate(error) from error


class ReaderThreads:
    """A few threads with a connection each, so that a long list delays neither the loop nor a commit."""

    def __init__(self, connect: Callable[[], sqlite3.Connection], threads: int = 2) -> None:
        self._connect = connect
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="ledger-reader")
        self._local = local()
        self._lock = Lock()
        self._opened: list[sqlite3.Connection] = []
        self._closed = False

    async def read(self, work: Callable[[Read], T], now: int) -> T:
        """Run one reading verb in a thread."""
        if self._closed:
            raise StoreClosed("the store is closed")
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._read, work, now)

    def _read(self, work: Callable[[Read], T], now: int) -> T:
        db = getattr(self._local, "db", None)
        if db is None:
            db = self._local.db = self._connect()
            with self._lock:
                self._opened.append(db)
        return read_on(db, work, now)

    async def close(self) -> None:
        """Refuse further reads, wait for the running ones, and close the connections."""
        self._closed = True
        await asyncio.to_thread(self._pool.shutdown)
        for db in self._opened:
            db.close()
