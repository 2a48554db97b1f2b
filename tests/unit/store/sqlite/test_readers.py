"""Readers: one snapshot per verb, never in the writer's way, and never a writer themselves."""

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from holdfast.clock import SystemClock, SystemIds
from holdfast.errors import StoreClosed, StoreFault, StoreUnavailable
from holdfast.model import InstanceId
from holdfast.store.sqlite import wal as log
from holdfast.store.sqlite.commit import commit_group
from holdfast.store.sqlite.database import connect_reader, connect_writer
from holdfast.store.sqlite.readers import ReaderThreads, SqliteRead, read_on
from holdfast.store.sqlite.wal import WriteAheadLog
from holdfast.store.verbs.tx import Read
from tests.support.connections import on_disk
from tests.support.loops import LONG, on_a_loop

TRICKS = [
    "INSERT INTO kept VALUES (2)",
    "UPDATE kept SET id = 3",
    "DELETE FROM kept",
    "CREATE TABLE more (id)",
    "CREATE TEMP TABLE more (id)",
    "DROP TABLE kept",
    "ATTACH 'file:{path}?mode=rwc' AS again",
    "ATTACH '{path}-other' AS other",
    "PRAGMA query_only = OFF",
    "PRAGMA journal_mode = DELETE",
    "PRAGMA wal_checkpoint(TRUNCATE)",
    "PRAGMA locking_mode = EXCLUSIVE",
    "PRAGMA user_version = 99",
    "PRAGMA writable_schema = ON",
    "VACUUM",
    "VACUUM INTO '{path}-copy'",
    "REINDEX",
    "ANALYZE",
]


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    """A database in use: its writer has it open."""
    path = tmp_path / "scratch.db"
    with closing(connect_writer(path)) as db:
        db.execute("CREATE TABLE kept (id INTEGER)")
        db.execute("CREATE INDEX by_id ON kept (id)")
        db.execute("INSERT INTO kept VALUES (1)")
        yield path


@pytest.fixture
def reader(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(connect_reader(path)) as db:
        yield db


def put(db: sqlite3.Connection, *ids: int) -> None:
    clock = SystemClock()

    def work(tx: object) -> None:
        for id_ in ids:
            db.execute("INSERT INTO kept VALUES (?)", (id_,))

    (outcome,) = commit_group(db, [work], clock, SystemIds(clock), InstanceId("i1"))
    assert outcome.error is None


def count(db: sqlite3.Connection) -> int:
    return int(db.execute("SELECT count(*) FROM kept").fetchone()[0])


def counted(read: Read) -> int:
    assert isinstance(read, SqliteRead)
    return count(read._db)


@pytest.mark.parametrize("trick", TRICKS)
def test_a_reader_cannot_write_by_any_trick(path: Path, reader: sqlite3.Connection, trick: str) -> None:
    files = {file.name for file in path.parent.iterdir()}
    before = path.read_bytes()
    for _ in range(2):  # the first may have been meant to open the way for the second
        with pytest.raises(sqlite3.DatabaseError, match="not authorized|authorization denied"):
            reader.execute(trick.format(path=path))
        with pytest.raises(sqlite3.DatabaseError):
            reader.execute("INSERT INTO kept VALUES (2)")
    assert count(reader) == 1
    assert on_disk(path, "SELECT * FROM kept") == [(1,)]
    assert path.read_bytes() == before
    assert {file.name for file in path.parent.iterdir()} <= files | {"scratch.db-shm"}


def test_also_without_its_guard_a_reader_has_no_way_to_write(path: Path, reader: sqlite3.Connection) -> None:
    reader.set_authorizer(None)
    for trick in TRICKS[:3]:
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            reader.execute(trick)


def test_a_reader_does_not_create_a_missing_ledger(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable):
        connect_reader(tmp_path / "ledger.db")
    assert list(tmp_path.iterdir()) == []


def test_one_verb_sees_one_snapshot_while_the_writer_commits(path: Path, reader: sqlite3.Connection) -> None:
    with closing(connect_writer(path)) as writer:

        def look(read: Read) -> list[int]:
            seen = []
            for n in range(5):
                seen.append(count(reader))
                put(writer, n)
            return seen

        assert read_on(reader, look, 0) == [1] * 5
        assert read_on(reader, lambda read: count(reader), 0) == 6


def test_a_failing_verb_leaves_its_reader_usable(reader: sqlite3.Connection) -> None:
    def fail(read: Read) -> None:
        reader.execute("SELECT * FROM nowhere")

    with pytest.raises(StoreFault):
        read_on(reader, fail, 0)
    assert read_on(reader, lambda read: count(reader), 0) == 1


def test_the_first_error_is_told_also_when_sqlite_ended_the_snapshot(reader: sqlite3.Connection) -> None:
    def fail(read: Read) -> None:
        reader.execute("ROLLBACK")
        raise sqlite3.OperationalError("the first")

    with pytest.raises(StoreFault, match="the first"):
        read_on(reader, fail, 0)


@on_a_loop
async def test_a_long_read_holds_up_neither_a_commit_nor_another_read(path: Path) -> None:
    readers = ReaderThreads(lambda: connect_reader(path))
    begun, end = threading.Event(), threading.Event()

    def read_long(read: Read) -> tuple[int, int]:
        first = counted(read)
        begun.set()
        assert end.wait(LONG)
        return first, counted(read)

    long = asyncio.ensure_future(readers.read(read_long, 0))
    assert await asyncio.to_thread(begun.wait, LONG)
    with closing(connect_writer(path)) as writer:
        put(writer, 2, 3)
    assert await readers.read(counted, 0) == 3
    end.set()
    assert await long == (1, 1)
    await readers.close()


@on_a_loop
async def test_closing_lets_running_reads_end_and_refuses_further_ones(path: Path) -> None:
    readers = ReaderThreads(lambda: connect_reader(path))
    begun, end = threading.Event(), threading.Event()

    def wait(read: Read) -> int:
        begun.set()
        assert end.wait(LONG)
        return counted(read)

    running = asyncio.ensure_future(readers.read(wait, 0))
    assert await asyncio.to_thread(begun.wait, LONG)
    closing_ = asyncio.ensure_future(readers.close())
    await asyncio.to_thread(lambda: None)
    with pytest.raises(StoreClosed):
        await readers.read(wait, 0)
    end.set()
    assert await running == 1
    await closing_


def test_readers_that_overlap_do_not_let_the_log_grow_for_ever(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At every instant one of two readers holds a snapshot, so the log never starts over by chance."""
    monkeypatch.setattr(log, "LIMIT", 1_000_000)
    wal = path.with_name("scratch.db-wal")
    with closing(connect_writer(path)) as writer:
        kept = WriteAheadLog(writer)
        writer.execute("CREATE TABLE big (body BLOB)")
        readers = [connect_reader(path), connect_reader(path)]
        for reader in readers:
            reader.execute("BEGIN")
            count(reader)
        ended = threading.Event()

        def overlap() -> None:
            while not ended.is_set():
                for reader in readers:
                    reader.execute("ROLLBACK")
                    reader.execute("BEGIN")
                    count(reader)

        largest = 0
        thread = threading.Thread(target=overlap)
        thread.start()
        for _ in range(1_000):
            writer.execute("BEGIN IMMEDIATE")
            writer.execute("INSERT INTO big VALUES (zeroblob(3000))")
            writer.execute("COMMIT")
            kept.keep_short(1_000)
            largest = max(largest, wal.stat().st_size)
        ended.set()
        thread.join()
        for reader in readers:
            reader.close()
    assert largest < 3_000_000, f"the log grew to {largest:,} bytes"


def test_a_long_reader_is_not_waited_for_again_and_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "LIMIT", 100_000)
    monkeypatch.setattr(log, "COPY_EVERY", 1_000_000)  # A log that was copied starts over by itself.
    tries: list[bool] = []
    with closing(connect_writer(path)) as writer, closing(connect_reader(path)) as reader:
        kept = WriteAheadLog(writer)
        real = kept._start_over

        def noted() -> bool:
            tries.append(real())
            return tries[-1]

        monkeypatch.setattr(kept, "_start_over", noted)
        writer.execute("CREATE TABLE big (body BLOB)")
        reader.execute("BEGIN")
        count(reader)
        for _ in range(100):
            writer.execute("INSERT INTO big VALUES (zeroblob(3000))")
            kept.keep_short(1_000)
        assert 1 <= len(tries) <= 12
        assert not any(tries)
        reader.execute("ROLLBACK")
        for _ in range(100):
            writer.execute("INSERT INTO big VALUES (zeroblob(3000))")
            kept.keep_short(1_000)
        assert any(tries)
        assert path.with_name("scratch.db-wal").stat().st_size <= 200_000
        assert writer.execute("PRAGMA busy_timeout").fetchone() == (30_000,)
