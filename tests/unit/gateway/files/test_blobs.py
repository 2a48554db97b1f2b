"""Attachments on the disk: a file that the ledger knows is there, whatever is forgotten at that moment."""

import asyncio
import hashlib
from pathlib import Path
from typing import Any, cast

import pytest

from holdfast.errors import DiskFull
from holdfast.gateway.files.blobs import BlobFiles
from holdfast.store import Store
from tests.support.backends import SqliteBackend
from tests.support.ledger import Ledger
from tests.support.loops import on_a_loop

DATA = b"the very same bytes"
KIND = "text/plain"
A_MOMENT = 0.3


class Slow:
    """A store that waits until it is let go: after a look, or before a commit."""

    def __init__(self, store: Any, verb: str) -> None:
        self._store = store
        self._verb = verb
        self.there = asyncio.Event()
        self.go = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._store, name)
        if name != self._verb:
            return real

        async def held(*args: Any) -> Any:
            found = await real(*args) if name == "known_blobs" else None
            self.there.set()
            await self.go.wait()
            return await real(*args) if found is None else found

        return held


async def opened(home: Path) -> Ledger:
    ledger = Ledger(SqliteBackend(home))
    await ledger.open()
    return ledger


def files(home: Path) -> list[str]:
    return [path.name for path in (home / "blobs").rglob("*") if path.is_file()]


@on_a_loop
async def test_what_the_ledger_does_not_know_is_removed_and_all_else_is_kept(tmp_path: Path) -> None:
    ledger = await opened(tmp_path)
    blobs = BlobFiles(tmp_path, ledger.store)
    await blobs.sweep()
    kept = (await blobs.keep(DATA, KIND))["digest"]
    stray = tmp_path / "blobs" / "ab" / ("ab" * 32)
    stray.parent.mkdir()
    stray.write_bytes(b"nobody's")
    (stray.parent / "half.new").write_bytes(b"of a process that was killed")
    for _ in range(2):
        await blobs.sweep()
        assert files(tmp_path) == [kept]
    await ledger.store.close()


@pytest.mark.parametrize("verb", ["keep_blob", "known_blobs"])
@on_a_loop
async def test_a_file_brought_again_while_others_are_removed_is_there_when_that_is_answered(
    tmp_path: Path, verb: str
) -> None:
    ledger = await opened(tmp_path)
    slow = Slow(ledger.store, verb)
    blobs = BlobFiles(tmp_path, cast(Store, slow))
    # Forgotten: the row has gone, the file is about to.
    digest = hashlib.sha256(DATA).hexdigest()
    path = tmp_path / "blobs" / digest[:2] / digest
    path.parent.mkdir(parents=True)
    path.write_bytes(DATA)
    works = [blobs.keep(DATA, KIND), blobs.sweep()]
    first, second = works if verb == "keep_blob" else reversed(works)
    begun = [asyncio.create_task(first)]
    await slow.there.wait()
    begun.append(asyncio.create_task(second))
    # Nobody waits for what waits for the other; what would not wait is done by then.
    await asyncio.wait(begun[1:], timeout=A_MOMENT)
    slow.go.set()
    await asyncio.gather(*begun)
    found, data = await blobs.read(digest)
    assert (found.size, data) == (len(DATA), DATA)
    await ledger.store.close()


@on_a_loop
async def test_the_ledger_names_a_file_only_when_all_its_bytes_are_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = await opened(tmp_path)
    slow = Slow(ledger.store, "keep_blob")
    blobs = BlobFiles(tmp_path, cast(Store, slow))
    keeps = asyncio.create_task(blobs.keep(DATA, KIND))
    await slow.there.wait()
    assert blobs.path_of(hashlib.sha256(DATA).hexdigest()).read_bytes() == DATA, "killed here, it is swept"
    slow.go.set()
    await keeps

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(DiskFull, match="No space left"):
        await blobs.keep(b"others", KIND)
    others = hashlib.sha256(b"others").hexdigest()
    assert await ledger.store.known_blobs([others]) == set()
    monkeypatch.undo()
    await ledger.store.close()
