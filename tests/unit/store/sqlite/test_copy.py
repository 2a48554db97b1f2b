"""Copying a living ledger: one instant of it, whatever is committed meanwhile, and nobody waits."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from holdfast.clock import SystemClock
from holdfast.store import LEDGER, copy_ledger, open_ledger, problems_of
from holdfast.store.sqlite import copy
from holdfast.testing import ManualClock, SeededIds
from tests.support.loops import on_a_loop


def events(path: Path) -> int:
    with closing(sqlite3.connect(path)) as db:
        return int(db.execute("SELECT count(*) FROM events").fetchone()[0])


@on_a_loop
async def test_a_copy_is_the_ledger_at_one_instant_and_begins_only_once(tmp_path: Path) -> None:
    clock = ManualClock()
    store = await open_ledger(tmp_path, clock, SeededIds(clock))
    await store.close()
    source, target = tmp_path / LEDGER, tmp_path / "copy.db"
    before = events(source)
    steps: list[int] = []
    with closing(sqlite3.connect(source, isolation_level=None, timeout=0)) as writer:

        def commit_meanwhile(done: int, of: int) -> None:
            steps.append(done)
            writer.execute("INSERT INTO events (at, what, subject) VALUES (1, 'meanwhile', 'x:1')")

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(copy, "PAGES", 4)
            copy_ledger(source, target, commit_meanwhile)
    assert len(steps) > 10
    assert steps == sorted(set(steps)), "a commit made it begin anew"
    assert events(source) == before + len(steps), "every commit meanwhile went through at once"
    assert events(target) == before
    assert problems_of(target, SystemClock().now()) == ()
    assert {name for name in os.listdir(tmp_path) if name.startswith("copy")} == {"copy.db"}


def test_a_file_that_is_no_ledger_has_its_problems_named(tmp_path: Path) -> None:
    (path := tmp_path / "x.db").write_bytes(b"no ledger" * 1000)
    assert problems_of(path, 0)
