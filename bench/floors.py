"""Floors: plain loops on a bare connection with the ledger's settings, without the store."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from holdfast.store.sqlite.database import PAGE_BYTES

Statement = tuple[str, Any]
Script = Sequence[Statement]

CHECKPOINT_PAGES = 6_000
"""Pages of the log before SQLite copies it by itself, about as often as the ledger's writer does."""

PRAGMAS = (
    f"PRAGMA page_size = {PAGE_BYTES}",
    "PRAGMA foreign_keys = ON",
    "PRAGMA fullfsync = ON",
    "PRAGMA synchronous = FULL",
    "PRAGMA journal_mode = WAL",
    f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}",
)


def connect(path: Path) -> sqlite3.Connection:
    """A bare connection: write-ahead log, every commit synced."""
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=512)
    for pragma in PRAGMAS:
        db.execute(pragma).fetchall()
    return db


class Replay:
    """The same statements, in the same order, with the same values and the same commits, in a loop."""

    def __init__(self, path: Path, prelude: Sequence[Statement], turns: Sequence[Script]) -> None:
        self._db = connect(path)
        self._turns: Iterator[Script] = iter(turns)
        self._play(prelude)

    def _play(self, statements: Sequence[Statement]) -> None:
        execute = self._db.execute
        for sql, values in statements:
            execute(sql, values).fetchall()

    async def run(self, turns: int) -> None:
        for _ in range(turns):
            self._play(next(self._turns))

    def close(self) -> None:
        self._db.close()


class ThreadedReplay(Replay):
    """The same again, but each commit with its statements is handed to a thread and awaited."""

    def __init__(self, path: Path, prelude: Sequence[Statement], turns: Sequence[Script]) -> None:
        super().__init__(path, prelude, [])
        self._commits = iter([list(_commits(turn)) for turn in turns])
        self._thread = ThreadPoolExecutor(1)

    async def run(self, turns: int) -> None:
        hand_over = asyncio.get_running_loop().run_in_executor
        for _ in range(turns):
            for commit in next(self._commits):
                await hand_over(self._thread, self._play, commit)

    def close(self) -> None:
        self._thread.shutdown()
        super().close()


def _commits(turn: Script) -> Iterator[Script]:
    """The statements of one turn, commit by commit."""
    pending: list[Statement] = []
    for statement in turn:
        pending.append(statement)
        if statement[0] == "COMMIT":
            yield pending
            pending = []


class BareCommits:
    """One INSERT and one synced commit each, handed to a thread and awaited."""

    def __init__(self, path: Path, commits: int, size: int) -> None:
        self._db = connect(path)
        self._db.execute("CREATE TABLE kept (id INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT")
        self._commits = commits
        self._body = "x" * size
        self._thread = ThreadPoolExecutor(1)

    def _commit(self) -> None:
        execute = self._db.execute
        execute("BEGIN IMMEDIATE")
        execute("INSERT INTO kept (body) VALUES (?)", (self._body,))
        execute("COMMIT")

    async def run(self, turns: int) -> None:
        hand_over = asyncio.get_running_loop().run_in_executor
        for _ in range(turns * self._commits):
            await hand_over(self._thread, self._commit)

    def close(self) -> None:
        self._thread.shutdown()
        self._db.close()


class BareUpdate:
    """Sets all interrupted turns to queued by one indexed UPDATE … RETURNING in one commit.

    The table is the ledger's `turns`, with its columns, checks, indexes and trigger, alone in its own
    file.
    """

    def __init__(self, path: Path, ledger: Path) -> None:
        self._path = path
        self._db = connect(path)
        self._db.execute("PRAGMA foreign_keys = OFF")
        self._db.execute("PRAGMA synchronous = OFF")
        self._db.execute("ATTACH ? AS ledger", (str(ledger),))
        found = self._db.execute(
            "SELECT sql FROM ledger.sqlite_master WHERE tbl_name = 'turns' AND sql IS NOT NULL "
            "ORDER BY type = 'table' DESC"
        ).fetchall()
        self._db.execute(found[0][0])
        self._db.execute("INSERT INTO main.turns SELECT * FROM ledger.turns ORDER BY id")
        for (index,) in found[1:]:
            self._db.execute(index)
        self._db.execute("DETACH ledger")
        self.settle()

    def settle(self) -> None:
        """Start from an empty log, an idle disk and a fresh connection, as the subject does."""
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        self._db.close()
        self._db = connect(self._path)
        self._db.execute("PRAGMA foreign_keys = OFF")

    def run(self) -> int:
        execute = self._db.execute
        execute("BEGIN IMMEDIATE")
        found = execute(
            "UPDATE turns SET state = 'queued' WHERE state = 'interrupted' RETURNING id, session"
        ).fetchall()
        execute("COMMIT")
        return len(found)

    def undo(self) -> None:
        """Set them to interrupted again."""
        self._db.execute("UPDATE turns SET state = 'interrupted' WHERE ended_at IS NULL AND state = 'queued'")
        self.settle()

    def close(self) -> None:
        self._db.close()


def read_transcript(db: sqlite3.Connection, session: str) -> int:
    """A whole transcript as bare rows."""
    return len(
        db.execute(
            "SELECT seq, turn, at, kind, call, count, body FROM entries WHERE session = ? ORDER BY seq",
            (session,),
        ).fetchall()
    )


def copy(source: Path, target: Path) -> Path:
    """A second file with the same content, so that floor and subject start alike."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    return target
