"""Disks that fill up or do not sync, in real processes: what was told is there, and nothing else was told."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.clock import SystemClock, SystemIds
from holdfast.store import open_ledger
from holdfast.store.sqlite.store import EXIT_SYNC_FAILED
from tests.support.ledger import key
from tests.support.parts import missing
from tests.support.seccomp import syncs_can_be_made_to_fail
from tests.unit.project.tree import ROOT

CHILD = (sys.executable, "-m", "tests.support.faulty_disk")


def run(what: str, home: Path, how: str = "-", *before: str) -> tuple[int, list[tuple[str, str]], str]:
    """Exit code, what the process said, and its last words."""
    done = subprocess.run(
        [*before, *CHILD, what, str(home), how], cwd=ROOT, capture_output=True, text=True, check=False
    )
    said = [line.partition(" ") for line in done.stdout.splitlines()]
    return done.returncode, [(word, name) for word, _, name in said], done.stderr


def named(said: list[tuple[str, str]], word: str) -> set[str]:
    return {name for kind, name in said if kind == word}


async def found_at(home: Path) -> tuple[set[str], tuple[str, ...]]:
    """A fresh start: what waits, and what is wrong with the ledger."""
    clock = SystemClock()
    store = await open_ledger(home, clock, SystemIds(clock))
    waiting = {row.event_id for row in await store.waiting(key(), limit=1_000)}
    broken = await store.verify()
    await store.close()
    return waiting, broken


@pytest.mark.guards("R16")
@pytest.mark.parametrize("how", ["real", "written", "unwritten"])
def test_a_failed_sync_ends_the_process_before_anything_more_is_told(tmp_path: Path, how: str) -> None:
    if how == "real" and not syncs_can_be_made_to_fail():
        missing("Linux on x86_64 or aarch64, to make real syncs fail")
    code, said, last_words = run("sync", tmp_path, how)
    before = {f"before {n}" for n in range(3)}
    after = {f"after {n}" for n in range(20)}
    assert (code, said) == (EXIT_SYNC_FAILED, [("kept", f"before {n}") for n in range(3)])
    assert "did not confirm" in last_words
    waiting, broken = asyncio.run(found_at(tmp_path))
    assert before <= waiting <= before | after
    assert broken == ()


@pytest.mark.guards("R16")
@pytest.mark.parametrize("statement", ["VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"])
def test_a_failed_sync_of_a_scrub_ends_the_process_as_well(tmp_path: Path, statement: str) -> None:
    if not syncs_can_be_made_to_fail():
        missing("Linux on x86_64 or aarch64, to make real syncs fail")
    code, said, last_words = run("sync-at", tmp_path, statement)
    assert (code, said) == (EXIT_SYNC_FAILED, [("kept", f"before {n}") for n in range(3)])
    assert "did not confirm" in last_words
    assert asyncio.run(found_at(tmp_path)) == ({f"before {n}" for n in range(3)}, ())


def test_writes_that_find_no_room_are_refused_until_there_is(tmp_path: Path) -> None:
    """A limit on file sizes stands for a quota: the log cannot grow, and SQLite calls it an I/O error."""
    code, said, _ = run("limit", tmp_path)
    assert code == -signal.SIGKILL
    kept = named(said, "kept")
    assert len(named(said, "StoreUnavailable")) >= 5
    assert {f"after {n}" for n in range(5)} <= kept
    assert said[-1] == ("verified", "()")
    assert asyncio.run(found_at(tmp_path)) == (kept, ())


@pytest.mark.guards("R16")
def test_a_full_disk_is_waited_out(tmp_path: Path) -> None:
    home = tmp_path / "small"
    home.mkdir()
    in_a_small_home = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c")
    mount = f'mount -t tmpfs -o size=3m none "{home}"'
    try:
        able = subprocess.run([*in_a_small_home, mount], check=False, capture_output=True).returncode == 0
    except FileNotFoundError:
        able = False
    if not able:
        missing("user namespaces, to mount a small file system")
    code, said, last_words = run("file-system", home, "-", *in_a_small_home, f'{mount} && exec "$0" "$@"')
    assert (code, last_words) == (0, "")
    assert len(named(said, "DiskFull")) >= 5
    assert {f"after {n}" for n in range(5)} <= named(said, "kept")
    assert ("verified", "()") in said
    assert named(said, "there") == named(said, "kept")
