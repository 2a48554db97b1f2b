"""The home folder's lock: a gateway is alive if and only if its process holds it."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from holdfast.errors import HomeLocked

NOTE = "lock"
"""A file that names the process with the lock. It is only a note: to remove it does not free the lock."""


def is_taken(home: Path) -> bool:
    """Whether a process holds this home now. Writes nothing and keeps no later process from the lock."""
    try:
        folder = os.open(home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(folder, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(folder)
    return False


class HomeLock:
    """Held from `take` until `release` or the death of the process, however it dies.

    The operating system keeps the lock on the folder itself and frees it, so a stale or removed file changes
    nothing. A second `take` in the same process is refused like one of another process. Programs that the
    process starts do not inherit the lock.
    """

    def __init__(self, home: Path) -> None:
        self._home = home
        self._folder: int | None = None

    def take(self) -> None:
        """Take the lock or raise `HomeLocked`, naming who holds it."""
        self._make()
        folder = os.open(self._home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._sign()
        except BlockingIOError:
            os.close(folder)
            raise HomeLocked(str(self._home), self._holder()) from None
        except OSError:
            os.close(folder)
            raise
        self._folder = folder

    def _make(self) -> None:
        """Make the folder if there is none, and sync its name: its files can only be found by that."""
        made = [folder for folder in self._home.parents if not folder.exists()]
        self._home.mkdir(parents=True, exist_ok=True, mode=0o700)
        for folder in (self._home, *made):
            # This process did not make a folder that it may not read.
            with suppress(PermissionError):
                sync_folder(folder.parent)

    def _sign(self) -> None:
        note = os.open(self._home / NOTE, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            os.write(note, f"process {os.getpid()}\n".encode())
        finally:
            os.close(note)

    def _holder(self) -> str:
        try:
            return (self._home / NOTE).read_text(encoding="utf-8", errors="replace").strip()
        except FileNotFoundError:
            return ""

    def release(self) -> None:
        """Free the lock; a second call changes nothing."""
        if self._folder is not None:
            os.close(self._folder)
            self._folder = None


def sync_folder(folder: Path) -> None:
    """Sync the names in a folder: the sync of a file does not cover its name."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
