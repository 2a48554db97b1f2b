"""One gateway per home, known by a lock that only a living process can hold."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.clock import SystemClock, SystemIds
from holdfast.errors import HomeLocked
from holdfast.store import open_ledger
from holdfast.store.sqlite.home_lock import NOTE, HomeLock
from tests.support.children import Child

HOLDER = "tests.support.holder"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def holder(home: Path) -> Iterator[Child]:
    child = Child(HOLDER, home)
    assert child.hear().isdecimal()
    yield child
    child.kill()


def take(home: Path) -> HomeLock:
    lock = HomeLock(home)
    lock.take()
    return lock


def test_a_second_process_is_refused_by_name_before_it_opens_anything(home: Path, holder: Child) -> None:
    clock = SystemClock()
    with pytest.raises(HomeLocked, match=f"process {holder.process.pid}") as refused:
        asyncio.run(open_ledger(home, clock, SystemIds(clock)))
    assert refused.value.home == str(home)
    assert [file.name for file in home.iterdir()] == [NOTE]


def test_a_process_is_refused_a_home_that_we_hold(home: Path) -> None:
    lock = take(home)
    other = Child(HOLDER, home)
    assert other.hear() == f"process {os.getpid()}"
    assert other.end() == 0
    lock.release()


def test_a_second_opening_in_one_process_is_refused(home: Path) -> None:
    lock = take(home)
    with pytest.raises(HomeLocked, match=f"process {os.getpid()}"):
        take(home)
    with pytest.raises(HomeLocked):  # the refused one let go of nothing that is not its own
        take(home)
    lock.release()
    take(home).release()


def test_a_killed_process_lets_go_at_once(home: Path, holder: Child) -> None:
    holder.kill()
    take(home).release()


def test_a_child_that_outlives_its_gateway_does_not_hold_the_home(home: Path) -> None:
    gateway = Child(HOLDER, home)
    survivor = int(gateway.hear())
    gateway.process.kill()
    gateway.process.wait()
    os.kill(survivor, 0)  # it lives: it has the pipe that we hold open
    lock = take(home)
    os.kill(survivor, 0)
    lock.release()
    gateway.end()


def test_a_stale_note_of_a_dead_process_keeps_nobody_out(home: Path) -> None:
    home.mkdir()
    (home / NOTE).write_text("process 1\nand more than a new note overwrites\n")
    lock = take(home)
    assert (home / NOTE).read_text() == f"process {os.getpid()}\n"
    lock.release()


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe"])
def test_removing_or_spoiling_the_note_lets_nobody_in(home: Path, content: bytes | None) -> None:
    lock = take(home)
    (home / NOTE).unlink()
    if content is not None:
        (home / NOTE).write_bytes(content)
    with pytest.raises(HomeLocked):
        take(home)
    lock.release()


def test_letting_go_twice_harms_nobody(home: Path) -> None:
    first = take(home)
    first.release()
    second = take(home)
    first.release()
    with pytest.raises(HomeLocked):
        take(home)
    second.release()


def test_a_home_is_made_for_its_owner_only(home: Path) -> None:
    take(home).release()
    assert home.stat().st_mode & 0o077 == 0
