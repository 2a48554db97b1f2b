"""Files of the home beside the ledger: how much room there is, and how attachments are removed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from holdfast.store.sqlite.home import sync_folder

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


def free_room(home: Path) -> Callable[[], int]:
    """How many bytes can still be written there."""

    def free() -> int:
        found = os.statvfs(home)
        return found.f_bavail * found.f_frsize

    return free
