"""Verbs of files that came with messages, or go with them."""

from __future__ import annotations

from collections.abc import Iterable
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
        """Remember stored bytes, as brought now; False when these very bytes were known already.

        What was brought after the last message of a scope named it is not forgotten with that scope.
        """
        ...

    async def bring_blob(self, digest: str) -> Blob:
        """Take known bytes up for a message that is about to name them, as if they were brought now.

        Raises `NotFound` when they are not, or no longer, known.
        """
        ...

    async def blob(self, digest: str) -> Blob:
        """What is known of stored bytes; raises `NotFound`."""
        ...

    async def known_blobs(self, digests: Iterable[str]) -> frozenset[str]:
        """Those of these that are known; the bytes of any other are nobody's."""
        ...
