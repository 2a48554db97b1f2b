"""Verbs of files that came with messages."""

from __future__ import annotations

from typing import Protocol

from holdfast.records import dataclass


@dataclass(frozen=True, slots=True)
class Blob:
    """A stored file, known by the hash of its bytes."""

    digest: str
    size: int
    media_type: str
    stored_at: int


class Blobs(Protocol):
    """A row says that the bytes are on the disk; they are synced before it is written."""

    async def keep_blob(self, digest: str, size: int, media_type: str) -> bool:
        """Remember stored bytes; False when these very bytes were known already."""
        ...

    async def blob(self, digest: str) -> Blob:
        """What is known of stored bytes; raises `NotFound`."""
        ...
