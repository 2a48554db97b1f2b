"""Files of the home beside the ledger: how much room there is, and what is made certain of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

BLOBS = "blobs"


def discarding(home: Path) -> Callable[[tuple[str, ...]], None]:
    """Removes attachments by their digests, for good: what is gone already is passed over."""

    def discard(digests: tuple[str, ...]) -> None:
        for digest in digests:
            # A digest comes from a platform's words: only what can be one names a file.
            if digest.isalnum():
                _remove(home / BLOBS / digest[:2] / digest)

    return discard


def _remove(path: Path) -> None:
    try:
        path.unlink()
    except FileNotFoundError:
        return
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make certain which names stand in a folder: a file's own sync says nothing of its name."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def free_room(home: Path) -> Callable[[], int]:
    """How many bytes can still be written there."""

    def free() -> int:
        found = os.statvfs(home)
        return found.f_bavail * found.f_frsize

    return free
