"""Verbs of files that are attached to messages, in either direction."""

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
        """Keep a row for stored bytes; False when the ledger knew the same bytes already.

        A file that came again after the last message of a scope named it is not erased with that scope.
        """
        ...

    async def bring_blob(self, digest: str) -> Blob:
        """Renew the row of known bytes for a message that is about to name them, as if they came now.

        Raises `NotFound` when the ledger does not know them, or no longer.
        """
        ...

    async def blob(self, digest: str) -> Blob:
        """The row of stored bytes; raises `NotFound`."""
        ...

    async def known_blobs(self, digests: Iterable[str]) -> frozenset[str]:
        """Which of these digests the ledger knows; the bytes of the others may be removed."""
        ...
