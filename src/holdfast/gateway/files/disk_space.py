"""The free space on the disk of the home."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path


def free_room(home: Path) -> Callable[[], int]:
    """A function that returns how many bytes can still be written there."""

    def free() -> int:
        found = os.statvfs(home)
        return found.f_bavail * found.f_frsize

    return free
