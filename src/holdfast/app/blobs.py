"""Files that come with messages: kept by the hash of their bytes, in the home's folder `blobs`."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
from pathlib import Path

from holdfast.errors import DiskFull, NotFound
from holdfast.records import dataclass
from holdfast.store import Blob, Store
from holdfast.store.sqlite.home import sync_folder

from .shown import Json

FOLDER = "blobs"
LARGEST = 20_000_000
_PLAIN = "application/octet-stream"
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9.+-]{0,60}/[a-z0-9][a-z0-9.+-]{0,60}")
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class BlobFiles:
    """The bytes first, synced and under their name; then the row that says that they are there."""

    home: Path
    store: Store

    async def keep(self, data: bytes, media_type: str) -> Json:
        digest = hashlib.sha256(data).hexdigest()
        kind = media_type.partition(";")[0].strip().lower()
        kind = kind if _MEDIA_TYPE.fullmatch(kind) else _PLAIN
        try:
            await asyncio.to_thread(_write, self._path(digest), data)
        except OSError as error:
            raise DiskFull(f"the attachment could not be kept: {error.strerror}") from error
        await self.store.keep_blob(digest, len(data), kind)
        return {"digest": digest, "size": len(data), "media_type": kind}

    async def read(self, digest: str) -> tuple[Blob, bytes]:
        if not _DIGEST.fullmatch(digest):
            raise NotFound("attachment", digest)
        found = await self.store.blob(digest)
        try:
            return found, await asyncio.to_thread(self._path(digest).read_bytes)
        except FileNotFoundError:
            raise NotFound("attachment", digest) from None

    def _path(self, digest: str) -> Path:
        return self.home / FOLDER / digest[:2] / digest


def _write(path: Path, data: bytes) -> None:
    if not path.exists():
        _make(path, data)
    # Also for what is there: who made it may have been cut off before its name was certain.
    for folder in (path.parent, path.parent.parent, path.parent.parent.parent):
        sync_folder(folder)


def _make(path: Path, data: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Two who bring the same bytes at once write two files; the name goes to either.
    new = path.with_name(f"{path.name}.{os.getpid()}.{id(data)}.new")
    with new.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, path)
