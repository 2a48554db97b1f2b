"""A file beside the ledger that says how a run ended, for an orderly end on a full disk.

The gateway writes and syncs the file when a run begins and overwrites it in place when the run ends. On most
file systems that needs no new room. On the others the run counts as crashed.
"""

from __future__ import annotations

import os
from pathlib import Path

from holdfast.model import InstanceId, Stopped
from holdfast.records import dataclass

FILE = "last-word"
STOOD_STILL = "stood-still"
"""The name of a note that the supervisor writes, which does not use the ledger."""
_LONGEST_PID = 12
_SIZE = 128
_HOW = {how.value: how for how in Stopped}


@dataclass(frozen=True, slots=True)
class LastWord:
    """The content of the file: a run and how it ended."""

    instance: InstanceId
    how: Stopped
    at: int


def read_last_word(home: Path) -> LastWord | None:
    """How the last run ended, if it could not record that in the ledger."""
    try:
        words = (home / FILE).read_text(encoding="ascii").split()
    except (OSError, UnicodeDecodeError):
        return None
    if len(words) != 3 or words[1] not in _HOW or not words[2].isdecimal():
        return None
    return LastWord(InstanceId(words[0]), _HOW[words[1]], int(words[2]))


def take_standstill(home: Path) -> int | None:
    """The process that the supervisor ended because its loop stood still; the note is read once."""
    path = home / STOOD_STILL
    try:
        found = path.read_text(encoding="ascii").strip()
        path.unlink()
    except (OSError, UnicodeDecodeError):
        return None
    return int(found) if found.isdecimal() and len(found) < _LONGEST_PID else None


def reserve_last_word(home: Path) -> None:
    """Reserve the room for the last word of this run; the file is still empty."""
    _write(home, "", os.O_CREAT)


def say_last_word(home: Path, word: LastWord) -> None:
    """Write how this run ends; raises `OSError` if there is no room even for that."""
    _write(home, f"{word.instance} {word.how} {word.at}", 0)


def _write(home: Path, text: str, more: int) -> None:
    file = os.open(home / FILE, os.O_WRONLY | os.O_CLOEXEC | more, 0o600)
    try:
        os.pwrite(file, text.ljust(_SIZE).encode(), 0)
        os.fsync(file)
    finally:
        os.close(file)
