"""Files of messages, in and out: each is kept by the hash of its bytes in the home's folder `blobs`."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

from holdfast.errors import DiskFull, NotFound
from holdfast.store import Blob, Store
from holdfast.store.sqlite.home_lock import sync_folder

FOLDER = "blobs"
LARGEST = 20_000_000
_PLAIN = "application/octet-stream"
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9.+-]{0,60}/[a-z0-9][a-z0-9.+-]{0,60}")
_PICTURES: tuple[tuple[re.Pattern[bytes], str], ...] = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"GIF8[79]a"), "image/gif"),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), "image/webp"),
)
"""The only types a browser is told: they hold no script, and their first bytes identify them."""
_FIRST_BYTES = 12
DIGEST = re.compile(r"[0-9a-f]{64}")


class BlobFiles:
    """Keeps the bytes first, synced and under their name, and then the row that says so.

    Make exactly one per home: its lock keeps a sweep from removing a file whose row is not there yet.
    """

    def __init__(self, home: Path, store: Store) -> None:
        self._folder = home / FOLDER
        self._store = store
        self._alone = asyncio.Lock()

    async def keep(self, data: bytes, media_type: str) -> dict[str, Any]:
        digest = await asyncio.to_thread(lambda: hashlib.sha256(data).hexdigest())
        kind = media_type.partition(";")[0].strip().lower()
        kind = kind if _MEDIA_TYPE.fullmatch(kind) else _PLAIN
        async with self._alone:
            try:
                await asyncio.to_thread(_write, self.path_of(digest), data)
            except OSError as error:
                raise DiskFull(f"the attachment could not be kept: {error.strerror}") from error
            await self._store.keep_blob(digest, len(data), kind)
        return {"digest": digest, "size": len(data), "media_type": kind}

    async def find(self, digest: str) -> tuple[Blob, Path]:
        """The row of a file, and its path; raises `NotFound`."""
        if not DIGEST.fullmatch(digest):
            raise NotFound("attachment", digest)
        found, path = await self._store.blob(digest), self.path_of(digest)
        if not await asyncio.to_thread(path.is_file):
            raise NotFound("attachment", digest)
        return found, path

    async def read(self, digest: str) -> tuple[Blob, bytes]:
        found, path = await self.find(digest)
        try:
            return found, await asyncio.to_thread(path.read_bytes)
        except FileNotFoundError:
            raise NotFound("attachment", digest) from None

    async def sweep(self) -> None:
        """Remove every file that the ledger does not know. A second sweep changes nothing."""
        async with self._alone:
            for folder in await asyncio.to_thread(_below, self._folder):
                names = [path.name for path in await asyncio.to_thread(_below, folder)]
                unknown = set(names) - await self._store.known_blobs(names)
                await asyncio.to_thread(_remove, folder, unknown)

    def path_of(self, digest: str) -> Path:
        """Where the bytes with this hash are, if they are kept."""
        return self._folder / digest[:2] / digest


def reader(home: Path) -> Callable[[str], Awaitable[bytes]]:
    """A function that returns the bytes of a file by its digest; `LookupError` if it is not kept."""

    async def read(digest: str) -> bytes:
        try:
            return await asyncio.to_thread((home / FOLDER / digest[:2] / digest).read_bytes)
        except OSError:
            raise LookupError(digest) from None

    return read


def media_type_of(path: Path) -> str:
    """The media type for a browser, from the bytes of the file and never from the claim of its sender."""
    with path.open("rb") as file:
        first = file.read(_FIRST_BYTES)
    return next((kind for pattern, kind in _PICTURES if pattern.match(first)), _PLAIN)


def _below(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _remove(folder: Path, names: Iterable[str]) -> None:
    for name in names:
        (folder / name).unlink(missing_ok=True)
    sync_folder(folder)


def _write(path: Path, data: bytes) -> None:
    if not path.exists():
        _make(path, data)
    # Sync for an existing file too: a crash may have cut off its writer before the sync.
    for folder in (path.parent, path.parent.parent, path.parent.parent.parent):
        sync_folder(folder)


def _make(path: Path, data: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Two writers of the same bytes use two temporary files; either may take the name.
    new = path.with_name(f"{path.name}.{os.getpid()}.{id(data)}.new")
    with new.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, path)
