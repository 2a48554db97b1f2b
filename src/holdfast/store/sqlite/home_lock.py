"""The home folder's lock: a gateway is alive if and only if its process holds it."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from holdfast.errors import HomeLocked

NOTE = "lock"
"""The file that says who holds the lock; only a note: removing it lets nobody in."""


def is_taken(home: Path) -> bool:
    """Whether a process has this home just now; nothing is written, and nobody who comes is kept out."""
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
    """Held from `take` until `release` or the death of the process, whatever kills it.

    The operating system keeps it on the folder itself and lets go of it, so neither a stale file nor a
    removed one changes anything. Taking it twice in one process is refused like any other second holder.
    Programs started meanwhile do not inherit it.
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
        """Make the folder if there is none, and its name certain: what is synced in it is found by that."""
        made = [folder for folder in self._home.parents if not folder.exists()]
        self._home.mkdir(parents=True, exist_ok=True, mode=0o700)
        for folder in (self._home, *made):
            # A folder that may not be read was not made here.
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
        """Let go; doing so twice changes nothing."""
        if self._folder is not None:
            os.close(self._folder)
            self._folder = None


def sync_folder(folder: Path) -> None:
    """Make certain which names stand in a folder: a file's own sync says nothing of its name."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
