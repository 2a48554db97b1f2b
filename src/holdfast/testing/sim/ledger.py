"""The real SQLite ledger without threads: commits and reads are steps of the simulated loop."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import deque
from collections.abc import Callable
from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from holdfast import __version__
from holdfast.clock import Clock, Ids
from holdfast.errors import StoreClosed, StoreFault, SyncFailed
from holdfast.model import InstanceId
from holdfast.store.sqlite import LEDGER, SqliteStore
from holdfast.store.sqlite.changes import Changes
from holdfast.store.sqlite.commit import CommitOutcome, Work, commit_group
from holdfast.store.sqlite.database import connect_reader, connect_writer, migrate
from holdfast.store.sqlite.home_lock import HomeLock
from holdfast.store.sqlite.last_word import FILE as LAST_WORD
from holdfast.store.sqlite.last_word import read_last_word, reserve_last_word
from holdfast.store.sqlite.readers import read_on
from holdfast.store.sqlite.store import prepare
from holdfast.store.sqlite.writer import MOST_IN_A_GROUP
from holdfast.store.verbs.tx import Read

from .life import ProcessLife
from .ports import yield_once

T = TypeVar("T")

WAL = f"{LEDGER}-wal"

Commit = Callable[[list[Work], Callable[[list[Work]], list[CommitOutcome]]], list[CommitOutcome]]
"""Wraps the commit of a group, to watch it or to let it fail."""


class InlineWriter:
    """Commits a group of transactions in its own step, and reports the results in a later step.

    Both edges of a commit are crash points: before it, and after it before any caller gets a result.
    """

    def __init__(
        self,
        db: sqlite3.Connection,
        clock: Clock,
        ids: Ids,
        instance: InstanceId,
        announce: Callable[[list[str]], None],
        life: ProcessLife,
        commit: Commit,
    ) -> None:
        self._db = db
        self._context = (clock, ids, instance)
        self._announce = announce
        self._life = life
        self._commit = commit
        self._loop = asyncio.get_running_loop()
        self._queue: deque[tuple[Work, asyncio.Future[Any]]] = deque()
        self._closed = False

    def submit(self, work: Work) -> asyncio.Future[Any]:
        self._life.check()
        if self._closed:
            raise StoreClosed("the store is closed; nothing was kept")
        future: asyncio.Future[Any] = self._loop.create_future()
        if not self._queue:
            self._loop.call_soon(self._write)
        self._queue.append((work, future))
        return future

    def _write(self) -> None:
        if not self._queue:
            return
        group = [self._queue.popleft() for _ in range(min(len(self._queue), MOST_IN_A_GROUP))]
        if self._queue:
            self._loop.call_soon(self._write)
        outcomes = self._commit([work for work, _ in group], self._commit_group)
        self._loop.call_soon(self._publish, group, outcomes)

    def _commit_group(self, works: list[Work]) -> list[CommitOutcome]:
        return commit_group(self._db, works, *self._context)

    def _publish(self, group: list[tuple[Work, asyncio.Future[Any]]], outcomes: list[CommitOutcome]) -> None:
        topics: set[str] = set()
        for (_, future), outcome in zip(group, outcomes, strict=True):
            topics |= outcome.topics
            if isinstance(outcome.error, SyncFailed):
                self._life.kill()
            if future.done():
                continue
            if outcome.error is None:
                future.set_result(outcome.value)
            else:
                future.set_exception(outcome.error)
        if topics:
            self._announce(sorted(topics))

    async def close(self) -> None:
        self._life.check()
        self._closed = True
        while self._queue:
            await yield_once()
        self._db.close()


class InlineReaders:
    """Reads in its own step; the result arrives in a later one, when it may be old."""

    def __init__(self, db: sqlite3.Connection, life: ProcessLife) -> None:
        self._db = db
        self._life = life
        self._closed = False

    async def read(self, work: Callable[[Read], T], now: int) -> T:
        self._life.check()
        if self._closed:
            raise StoreClosed("the store is closed")
        await yield_once()
        found = read_on(self._db, work, now)
        await yield_once()
        return found

    async def close(self) -> None:
        self._life.check()
        self._closed = True
        self._db.close()


class Disk:
    """A home folder that outlives processes. The files of each run are copied from those of the run before.

    They are copied while the dead process still has them open: closing a connection would write to them what
    the process itself never wrote.
    """

    def __init__(self, home: Path) -> None:
        self._home = home
        self._runs = 0
        self._open: list[sqlite3.Connection] = []
        home.mkdir(parents=True, exist_ok=True)
        (home / "run-0").mkdir()
        self.ledger.write_bytes(_template())

    @property
    def home(self) -> Path:
        """The home as the newest process sees it."""
        return self._home / f"run-{self._runs}"

    @property
    def ledger(self) -> Path:
        return self.home / LEDGER

    def restart(self) -> None:
        """Keep the present state of the disk for the next run, and stop using the files of this run."""
        before = self.home
        self._runs += 1
        after = self.home
        after.mkdir()
        for folder in [one for one in before.iterdir() if one.is_dir()]:
            folder.rename(after / folder.name)
        for name in (LEDGER, WAL, LAST_WORD):
            if (before / name).exists():
                (after / name).write_bytes((before / name).read_bytes())
        self.let_go()
        for file in before.iterdir():
            file.unlink()
        before.rmdir()

    def let_go(self) -> None:
        for db in self._open:
            db.close()
        self._open.clear()

    async def open(self, clock: Clock, ids: Ids, life: ProcessLife, commit: Commit) -> SqliteStore:
        """Open the ledger as a new process does."""
        lock = HomeLock(self._home)
        lock.take()
        life.on_end.append(lock.release)
        ids.start_after(prepare(self.ledger, lambda failed: life.kill()))
        instance = InstanceId(ids.new())
        changes = Changes()
        writing, reading = connect_writer(self.ledger), connect_reader(self.ledger)
        self._open += [writing, reading]
        writer = InlineWriter(writing, clock, ids, instance, changes.announce, life, commit)
        store = SqliteStore(instance, clock, lock, writer, InlineReaders(reading, life), changes, self.home)
        if (word := read_last_word(self.home)) is not None:
            await store.end_instance_before(word.instance, word.how, word.at)
        reserve_last_word(self.home)
        await store.begin_instance("simulated", life.number, "simulated", __version__)
        return store


@cache
def _template() -> bytes:
    """An empty ledger, made once for all worlds of this process."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / LEDGER
        with closing(connect_writer(path)) as db:
            migrate(db)
        return path.read_bytes()


def failed(error: StoreFault, works: list[Work]) -> list[CommitOutcome]:
    """The result of every transaction in a group of which nothing was kept."""
    outcomes = [CommitOutcome() for _ in works]
    for outcome in outcomes:
        outcome.error = type(error)(*error.args)
    return outcomes
