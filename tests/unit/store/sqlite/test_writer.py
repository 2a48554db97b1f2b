"""The writer thread: in order, in groups, and nobody is told before the commit or left waiting after it."""

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from holdfast.clock import SystemClock, SystemIds
from holdfast.errors import DiskFull, StaleWrite, StoreClosed, StoreUnavailable, SyncFailed
from holdfast.model import InstanceId
from holdfast.store.sqlite import wal
from holdfast.store.sqlite.changes import Changes
from holdfast.store.sqlite.commit import Work
from holdfast.store.sqlite.writer import MOST_IN_A_GROUP, Doorbell, Reported, WriterThread
from holdfast.store.verbs.tx import Tx
from tests.support.connections import Scripted, connect_scripted, on_disk, sqlite_error
from tests.support.loops import LONG, on_a_loop

TABLE = "CREATE TABLE kept (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, body BLOB)"


class Gate:
    """Holds the writer's thread inside a statement until it is opened."""

    def __init__(self) -> None:
        self._reached = threading.Event()
        self._opened = threading.Event()

    def __call__(self, db: Scripted) -> None:
        self._reached.set()
        assert self._opened.wait(LONG)

    async def reached(self) -> None:
        assert await asyncio.to_thread(self._reached.wait, LONG)

    def open(self) -> None:
        self._opened.set()


class Desk:
    """A writer on a scratch database."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.db = connect_scripted(path)
        self.db.execute(TABLE)
        self.changes = Changes()
        self.told_at_failed_sync: list[list[bool]] = []
        self.submitted: list[asyncio.Future[Any]] = []
        clock = SystemClock()
        self.writer = WriterThread(
            lambda: self.db,
            clock,
            SystemIds(clock),
            InstanceId("i1"),
            self.changes.announce,
            self._note_failed_sync,
        )
        self.db.seen.clear()

    def _note_failed_sync(self, error: SyncFailed) -> None:
        self.told_at_failed_sync.append([future.done() for future in self.submitted])

    def keep(self, name: str, then: Callable[[Scripted], None] | None = None) -> Work:
        def work(tx: Tx) -> int:
            tx.changed(name)
            row = self.db.execute("INSERT INTO kept (name) VALUES (?) RETURNING id", (name,)).fetchone()
            if then is not None:
                then(self.db)
            return int(row[0])

        return work

    def submit(self, name: str, then: Callable[[Scripted], None] | None = None) -> asyncio.Future[Any]:
        self.submitted.append(self.writer.submit(self.keep(name, then)))
        return self.submitted[-1]

    def hold(self, statement: str = "COMMIT") -> Gate:
        gate = Gate()
        self.db.script[statement] = gate
        return gate

    def kept(self) -> list[str]:
        return [name for (name,) in on_disk(self.path, "SELECT name FROM kept ORDER BY id")]

    def commits(self) -> int:
        return self.db.seen.count("COMMIT")


@asynccontextmanager
async def desk_at(folder: Path) -> AsyncIterator[Desk]:
    desk = Desk(folder / "scratch.db")
    try:
        yield desk
    finally:
        await desk.writer.close()


def refuse(db: Scripted) -> None:
    raise StaleWrite("t1", 1)


@on_a_loop
async def test_commits_keep_the_order_of_submission(tmp_path: Path) -> None:
    async with desk_at(tmp_path) as desk:
        names = [f"{n}" for n in range(1_000)]
        ids = await asyncio.gather(*(desk.submit(name) for name in names))
        assert ids == sorted(ids)
        assert desk.kept() == names


@on_a_loop
async def test_what_gathers_during_a_commit_is_the_next_group(tmp_path: Path) -> None:
    async with desk_at(tmp_path) as desk:
        gate = desk.hold()
        first = desk.submit("first")
        await gate.reached()
        rest = [desk.submit(f"{n}") for n in range(MOST_IN_A_GROUP + 10)]
        gate.open()
        await asyncio.gather(first, *rest)
        assert desk.commits() == 3
        assert len(desk.kept()) == MOST_IN_A_GROUP + 11


@on_a_loop
async def test_under_load_there_are_fewer_commits_than_transactions(tmp_path: Path) -> None:
    async with desk_at(tmp_path) as desk:

        async def work(who: int) -> None:
            for n in range(20):
                await desk.submit(f"{who} {n}")

        await asyncio.gather(*(work(who) for who in range(32)))
        assert len(desk.kept()) == 640
        assert desk.commits() < 320


@on_a_loop
async def test_nobody_is_told_before_the_commit_has_returned(tmp_path: Path) -> None:
    async with desk_at(tmp_path) as desk:
        gate = desk.hold()
        told = [desk.submit("a"), desk.submit("b")]
        await gate.reached()
        woken = asyncio.ensure_future(desk.changes.changed("a", 0))
        await asyncio.to_thread(lambda: None)
        assert not any(future.done() for future in [*told, woken])
        assert desk.changes.version("a") == 0
        gate.open()
        await asyncio.gather(*told)
        assert await woken == 1
        assert desk.kept() == ["a", "b"]


@on_a_loop
async def test_only_what_was_kept_wakes_anybody(tmp_path: Path) -> None:
    async with desk_at(tmp_path) as desk:
        gate = desk.hold("BEGIN IMMEDIATE")
        first = desk.submit("first")
        await gate.reached()
        group = [desk.submit("a"), desk.submit("b", refuse), desk.submit("c")]
        gate.open()
        await first
        found = await asyncio.gather(*group, return_exceptions=True)
        assert isinstance(found[1], StaleWrite)
        assert [desk.changes.version(name) for name in "abc"] == [1, 0, 1]
        desk.db.script["COMMIT"] = _raise(sqlite_error("SQLITE_BUSY"))
        with pytest.raises(StoreUnavailable):
            await desk.submit("d")
        assert desk.changes.version("d") == 0


def _raise(error: Exception) -> Callable[[Scripted], None]:
    def fail(db: Scripted) -> None:
        raise error

    return fail


@on_a_loop
async def test_who_stops_waiting_neither_undoes_the_commit_nor_harms_the_others(tmp_path: Path) -> None:
    async with desk_at(tmp_path) as desk:
        gate = desk.hold()
        in_commit = asyncio.ensure_future(desk.submit("in commit"))
        await gate.reached()
        in_line = desk.submit("in line")
        other = desk.submit("other")
        assert in_commit.cancel()
        assert in_line.cancel()
        gate.open()
        await other
        assert desk.kept() == ["in commit", "in line", "other"]
        assert desk.changes.version("in line") == 1
        await desk.submit("later")


@on_a_loop
async def test_closing_commits_what_was_submitted_and_refuses_the_rest(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "scratch.db")
    gate = desk.hold()
    submitted = [desk.submit("a")]
    await gate.reached()
    submitted += [desk.submit(f"{n}") for n in range(MOST_IN_A_GROUP + 1)]
    closing = [asyncio.ensure_future(desk.writer.close()) for _ in range(2)]
    await asyncio.to_thread(lambda: None)
    with pytest.raises(StoreClosed):
        desk.submit("too late")
    assert not any(future.done() for future in closing)
    gate.open()
    await asyncio.gather(*closing)
    assert all(future.done() for future in submitted)
    assert len(desk.kept()) == MOST_IN_A_GROUP + 2
    await desk.writer.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@on_a_loop
async def test_a_writer_that_dies_leaves_nobody_waiting(tmp_path: Path) -> None:
    def die(db: Scripted) -> None:
        raise SystemExit

    desk = Desk(tmp_path / "scratch.db")
    gate = desk.hold("BEGIN IMMEDIATE")
    group = [desk.submit("a", die)]
    await gate.reached()
    group += [desk.submit("b"), desk.submit("c")]
    gate.open()
    found = await asyncio.gather(*group, return_exceptions=True)
    assert [type(error) for error in found] == [StoreClosed] * 3
    with pytest.raises(StoreClosed):
        desk.submit("d")
    await desk.writer.close()
    assert desk.kept() == []


def test_a_loop_that_is_gone_does_not_hold_the_thread(tmp_path: Path) -> None:
    async def leave() -> tuple[Desk, Gate]:
        desk = Desk(tmp_path / "scratch.db")
        gate = desk.hold()
        desk.submit("a")
        await gate.reached()
        desk.submit("b")
        return desk, gate

    before = set(threading.enumerate())
    desk, gate = asyncio.run(leave())
    gate.open()
    (thread,) = (thread for thread in set(threading.enumerate()) - before if thread.name == "ledger-writer")
    thread.join(LONG)
    assert not thread.is_alive()
    assert desk.kept() == ["a", "b"]


def test_a_writer_gives_its_files_back(tmp_path: Path) -> None:
    def open_files() -> int:
        return len(os.listdir("/dev/fd"))

    async def work() -> None:
        async with desk_at(tmp_path / f"{number}") as desk:
            await desk.submit("a")
            await desk.writer.close()

    counts = []
    for number in range(4):
        (tmp_path / f"{number}").mkdir()
        asyncio.run(work())
        counts.append(open_files())
    assert len(set(counts)) == 1


class Listener:
    """Hears so many rings, and stumbles over the first if it is to."""

    def __init__(self, rings: int, stumbles: bool = False) -> None:
        self._left = rings
        self._stumbles = stumbles
        self.heard_all = asyncio.Event()

    def __call__(self, given: Reported) -> None:
        self._left -= 1
        if self._left == 0:
            self.heard_all.set()
        if self._stumbles:
            self._stumbles = False
            raise ValueError("the first is bad")


@on_a_loop
async def test_a_bell_that_rings_for_long_before_it_is_heard_loses_nothing() -> None:
    listener = Listener(rings=200_000)
    bell = Doorbell(asyncio.get_running_loop(), listener)
    assert all(bell.ring(([], [])) for _ in range(200_000))
    await listener.heard_all.wait()
    bell.close()


@on_a_loop
async def test_an_error_at_the_bell_keeps_no_later_ring_unheard() -> None:
    errors: list[object] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: errors.append(context["exception"]))
    listener = Listener(rings=3, stumbles=True)
    bell = Doorbell(loop, listener)
    for _ in range(3):
        bell.ring(([], []))
    await listener.heard_all.wait()
    bell.close()
    assert [str(error) for error in errors] == ["the first is bad"]


@on_a_loop
async def test_after_a_failed_sync_nothing_more_is_committed(tmp_path: Path) -> None:
    async with desk_at(tmp_path) as desk:
        await desk.submit("before")
        gate = desk.hold("BEGIN IMMEDIATE")
        failed = [desk.submit("a"), desk.submit("b")]
        await gate.reached()
        desk.db.script["COMMIT"] = _raise(sqlite_error("SQLITE_IOERR_FSYNC"))
        gate.open()
        found = await asyncio.gather(*failed, return_exceptions=True)
        assert [type(error) for error in found] == [SyncFailed] * 2
        with pytest.raises(SyncFailed):
            await desk.submit("c")
        assert desk.kept() == ["before"]
        told = desk.told_at_failed_sync
        assert told == [[True, False, False]], "the process ends once, before anybody is told"


@pytest.mark.guards("R16")
@pytest.mark.parametrize("how", ["PASSIVE", "RESTART"])
@on_a_loop
async def test_after_a_failed_sync_of_a_copy_of_the_log_nothing_more_is_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(wal, "_LOOK_EVERY", 1)
    monkeypatch.setattr(wal, "COPY_EVERY", 1)
    if how == "RESTART":
        monkeypatch.setattr(wal, "LIMIT", 1)
    async with desk_at(tmp_path) as desk:
        desk.db.script[f"PRAGMA wal_checkpoint({how})"] = _raise(sqlite_error("SQLITE_IOERR_FSYNC"))
        await desk.submit("kept before the copy")
        with pytest.raises(SyncFailed):
            await desk.submit("after it")
        assert desk.commits() == 1
        assert desk.kept() == ["kept before the copy"]
        assert len(desk.told_at_failed_sync) == 1


@pytest.mark.parametrize("name", ["SQLITE_FULL", "SQLITE_BUSY", "SQLITE_IOERR_WRITE"])
@on_a_loop
async def test_a_copy_of_the_log_that_finds_no_room_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(wal, "_LOOK_EVERY", 1)
    monkeypatch.setattr(wal, "COPY_EVERY", 1)
    copy = "PRAGMA wal_checkpoint(PASSIVE)"
    async with desk_at(tmp_path) as desk:
        desk.db.script[copy] = _raise(sqlite_error(name))
        for n in range(3):
            await desk.submit(f"{n}")
        await desk.writer.close()
        assert desk.db.seen.count(copy) == 3
        assert desk.kept() == ["0", "1", "2"]
        assert desk.told_at_failed_sync == []


@on_a_loop
async def test_a_full_disk_fails_the_group_and_passes_without_a_restart(tmp_path: Path) -> None:
    async with desk_at(tmp_path) as desk:

        def be_big(db: Scripted) -> None:
            db.execute("INSERT INTO kept (name, body) VALUES ('big', zeroblob(200000))")

        await desk.submit("before")
        await desk.writer.submit(lambda tx: desk.db.execute("PRAGMA max_page_count = 10").fetchall())
        for _ in range(3):
            with pytest.raises(DiskFull):
                await desk.submit("while full", be_big)
        assert desk.kept() == ["before"]
        await desk.writer.submit(lambda tx: desk.db.execute("PRAGMA max_page_count = 1000000").fetchall())
        await desk.submit("while full", be_big)
        assert desk.kept() == ["before", "while full", "big"]


HOLDER = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.readline()
db.execute("INSERT INTO kept (name) VALUES ('foreign')")
db.execute("COMMIT")
"""


@pytest.mark.parametrize("patient", [True, False])
@on_a_loop
async def test_a_foreign_process_that_holds_the_write_lock_only_delays(tmp_path: Path, patient: bool) -> None:
    async with desk_at(tmp_path) as desk:
        holder = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", HOLDER, desk.path),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert holder.stdin is not None
        assert holder.stdout is not None
        await holder.stdout.readline()
        if not patient:
            desk.db.execute("PRAGMA busy_timeout = 0")
            with pytest.raises(StoreUnavailable):
                await desk.submit("ours")
            desk.db.execute("PRAGMA busy_timeout = 30000")
        gate = desk.hold("BEGIN IMMEDIATE")
        gate.open()
        ours = desk.submit("ours")
        await gate.reached()
        assert not ours.done()
        holder.stdin.write(b"\n")
        await ours
        assert desk.kept() == ["foreign", "ours"]
        await holder.communicate()


def test_a_writer_waits_half_a_minute_for_a_sibling(tmp_path: Path) -> None:
    db = connect_scripted(tmp_path / "scratch.db")
    assert db.execute("PRAGMA busy_timeout").fetchone() == (30_000,)
    db.close()
