"""The home folder's lock: a gateway is alive if and only if its process holds it."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from holdfast.errors import HomeLocked


class HomeLock:
    """Held from `take` until `release` or the death of the process, whatever kills it.

    The operating system lets go of it, so a stale file never keeps anyone out. Taking it twice in one
    process is refused like any other second holder.
    """

    def __init__(self, home: Path) -> None:
        self._home = home
        self._file: int | None = None

    def take(self) -> None:
        """Take the lock or raise `HomeLocked`, naming who holds it."""
        self._home.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = os.open(self._home / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(file, 200, 0).decode(errors="replace").strip()
            os.close(file)
            raise HomeLocked(str(self._home), holder) from None
        os.ftruncate(file, 0)
        os.pwrite(file, f"process {os.getpid()}\n".encode(), 0)
        self._file = file

    def release(self) -> None:
        """Let go; doing so twice changes nothing."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
