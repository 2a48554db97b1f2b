"""A backup made while files come and go: what its ledger names is in it, whatever happens in between."""

import asyncio
import json
import sqlite3
import tarfile
from collections.abc import Callable, Coroutine
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from holdfast.gateway.files.blobs import BlobFiles
from holdfast.maintenance import backup
from holdfast.maintenance.backup import BLOBS, MANIFEST, make_backup, restore
from holdfast.store import LEDGER, copy_ledger
from holdfast.store.sqlite import copy
from holdfast.testing import SeededIds
from tests.support.backends import SqliteBackend
from tests.support.ledger import Ledger
from tests.support.loops import on_a_loop

KIND = "text/plain"


class House:
    """A home on which a gateway's parts are at work."""

    def __init__(self, ledger: Ledger, home: Path) -> None:
        self.ledger = ledger
        self.home = home
        self.blobs = BlobFiles(home, ledger.store)
        self._loop = asyncio.get_running_loop()

    def now(self, work: Coroutine[Any, Any, Any]) -> None:
        """Have this done by the gateway, from the thread that makes the backup."""
        asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def keep(self, data: bytes) -> None:
        self.now(self.blobs.keep(data, KIND))

    async def back_up(self, progress: Callable[[str, int, int], None] = lambda what, done, of: None) -> Path:
        target = self.home.parent / "kept.tar"
        await asyncio.to_thread(make_backup, self.home, target, self.ledger.clock, True, progress)
        return target


async def house(tmp_path: Path) -> House:
    home = tmp_path / "home"
    home.mkdir()
    ledger = Ledger(SqliteBackend(home))
    await ledger.open()
    found = House(ledger, home)
    await found.blobs.keep(b"there before", KIND)
    return found


def named(ledger: Path) -> set[str]:
    with closing(sqlite3.connect(f"file:{ledger}?mode=ro", uri=True)) as db:
        return {row[0] for row in db.execute("SELECT digest FROM blobs")}


def packed(file: Path) -> set[str]:
    with tarfile.open(file) as tar:
        manifest = tar.extractfile(MANIFEST)
        assert manifest is not None
        return {Path(name).name for name in json.load(manifest)["files"] if name.startswith(f"{BLOBS}/")}


@pytest.mark.guards("R19")
@on_a_loop
async def test_a_file_that_comes_while_the_ledger_is_copied_is_in_the_backup(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes at each instant of the copy: before its snapshot, at each of its steps, and after it."""
    at_work = await house(tmp_path)
    steps = 0

    def copied(source: Path, target: Path, progress: Callable[[int, int], None]) -> int:
        at_work.keep(b"comes before the snapshot")
        schema = copy_ledger(source, target, progress)
        at_work.keep(b"comes after the copy")
        return schema

    def step(what: str, done: int, of: int) -> None:
        nonlocal steps
        if what == "copying":
            steps += 1
            at_work.keep(f"comes at step {steps}".encode())

    monkeypatch.setattr(backup, "copy_ledger", copied)
    monkeypatch.setattr(copy, "PAGES", 16)
    file = await at_work.back_up(step)
    assert steps > 1
    new = tmp_path / "new"
    restore(file, new, at_work.ledger.clock, SeededIds(at_work.ledger.clock), False, lambda *_: None)
    wanted = named(new / LEDGER)
    assert len(wanted) >= 2, "the snapshot has what came before it"
    assert wanted <= packed(file)
    assert wanted <= {path.name for path in (new / BLOBS).rglob("*")}
    await at_work.ledger.store.close()


@pytest.mark.guards("R19", "R20")
@on_a_loop
async def test_files_that_are_half_written_or_forgotten_meanwhile_keep_no_backup_from_being_made(
    tmp_path: Path,
) -> None:
    at_work = await house(tmp_path)
    await at_work.blobs.keep(b"forgotten meanwhile", KIND)
    (there, *_) = (path for path in (at_work.home / BLOBS).rglob("*") if path.is_file())
    half = there.with_name(f"{there.name}.1.2.new")
    half.write_bytes(b"half")

    def forget(what: str, done: int, of: int) -> None:
        if what == "blobs" and done == 1:
            for path in (at_work.home / BLOBS).rglob("*"):
                if path.is_file():
                    path.unlink()

    file = await at_work.back_up(forget)
    assert len(packed(file)) == 1 and half.name not in packed(file)
    new = tmp_path / "new"
    restore(file, new, at_work.ledger.clock, SeededIds(at_work.ledger.clock), False, lambda *_: None)
    await at_work.ledger.store.close()
