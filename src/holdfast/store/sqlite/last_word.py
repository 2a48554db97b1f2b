"""How a run ended, beside the ledger: for an orderly end that the ledger had no room to keep.

The file is written and synced when a run begins, and only overwritten in place when it ends: that needs no
new room on most file systems. Where it needs some after all, the run counts as crashed.
"""

from __future__ import annotations

import os
from pathlib import Path

from holdfast.model import InstanceId, Stopped
from holdfast.records import dataclass

FILE = "last-word"
STOOD_STILL = "stood-still"
"""A watcher outside the process writes it, which knows nothing of the ledger."""
_LONGEST_PID = 12
_SIZE = 128
_HOW = {how.value: how for how in Stopped}


@dataclass(frozen=True, slots=True)
class LastWord:
    """What the file says of a run."""

    instance: InstanceId
    how: Stopped
    at: int


def read_last_word(home: Path) -> LastWord | None:
    """What the run before said at its end, if it could not say so in the ledger."""
    try:
        words = (home / FILE).read_text(encoding="ascii").split()
    except (OSError, UnicodeDecodeError):
        return None
    if len(words) != 3 or words[1] not in _HOW or not words[2].isdecimal():
        return None
    return LastWord(InstanceId(words[0]), _HOW[words[1]], int(words[2]))


def take_standstill(home: Path) -> int | None:
    """The process that was ended because its loop stood still, if a note says so; it is read once."""
    path = home / STOOD_STILL
    try:
        found = path.read_text(encoding="ascii").strip()
        path.unlink()
    except (OSError, UnicodeDecodeError):
        return None
    return int(found) if found.isdecimal() and len(found) < _LONGEST_PID else None


def reserve_last_word(home: Path) -> None:
    """Take the room for the last word of this run, before it is needed; nothing is said yet."""
    _write(home, "", os.O_CREAT)


def say_last_word(home: Path, word: LastWord) -> None:
    """Say how this run ends; raises `OSError` if there is no room even for that."""
    _write(home, f"{word.instance} {word.how} {word.at}", 0)


def _write(home: Path, text: str, more: int) -> None:
    file = os.open(home / FILE, os.O_WRONLY | os.O_CLOEXEC | more, 0o600)
    try:
        os.pwrite(file, text.ljust(_SIZE).encode(), 0)
        os.fsync(file)
    finally:
        os.close(file)
