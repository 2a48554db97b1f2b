"""How much room there is where the home is."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path


def free_room(home: Path) -> Callable[[], int]:
    """How many bytes can still be written there."""

    def free() -> int:
        found = os.statvfs(home)
        return found.f_bavail * found.f_frsize

    return free
