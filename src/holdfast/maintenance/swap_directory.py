"""Replace a folder with another one, so that at every instant one of the two is completely in place."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from holdfast.errors import HomeLocked
from holdfast.process.supervisor import NOTE as SUPERVISOR_NOTE
from holdfast.process.supervisor import supervisor_of
from holdfast.store.sqlite.home_lock import NOTE, HomeLock, sync_folder

_HERE = -100
_EXCHANGE = 2
_NOTES = {NOTE, SUPERVISOR_NOTE}
"""The lock files of a home. A folder that contains only these counts as empty."""


@contextmanager
def occupied(home: Path) -> Iterator[bool]:
    """Keep every gateway off this home meanwhile, and say whether the home has any files.

    Raises `HomeLocked` if a gateway runs there, or if a supervisor is about to start one.
    """
    if not home.exists():
        yield False
        return
    if (parent := supervisor_of(home)) is not None:
        raise HomeLocked(str(home), f"supervisor: process {parent}")
    full = any(path.name not in _NOTES for path in home.iterdir())
    lock = HomeLock(home)
    lock.take()
    try:
        yield full
    finally:
        lock.release()


def put_in_place(new: Path, place: Path, before: Path | None) -> None:
    """Move a folder to its place. The folder that was there goes to `before`, or away if it is empty."""
    if not place.exists():
        os.rename(new, place)
    elif before is None:
        _exchange(new, place)
    else:
        # Give the new folder the name `before` first: after the exchange, the old one has that name at once.
        os.rename(new, before)
        try:
            _exchange(before, place)
        except OSError:
            os.rename(before, new)
            raise
    sync_folder(place.parent)


def _exchange(one: Path, other: Path) -> None:
    """Exchange the names of two folders, at once where the system can."""
    library = ctypes.CDLL(None, use_errno=True)
    code = errno.ENOSYS
    if hasattr(library, "renameat2"):
        done = library.renameat2(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE)
        code = ctypes.get_errno() if done != 0 else 0
    if code in (errno.ENOSYS, errno.EINVAL):
        # This system cannot do it at once: for a moment the place is empty, but both folders are complete.
        aside = other.with_name(f"{other.name}.aside")
        os.rename(other, aside)
        os.rename(one, other)
        os.rename(aside, one)
    elif code:
        raise OSError(code, os.strerror(code), str(other))
