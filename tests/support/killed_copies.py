"""Backups and restores killed at every place where they touch a disk: one process each, made by fork.

python -m tests.support.killed_copies backup HOME FILE
python -m tests.support.killed_copies restore FILE HOME CHECKED

Prints a line per place: what was about to happen, and how it stands then. `CHECKED` is what stands at the
home before; a place is sound when the home is that one, whole, or the new one, whole.
"""

import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from holdfast.clock import SystemClock, SystemIds
from holdfast.maintenance.backup import make_backup, restore
from holdfast.store import LEDGER, problems_of

_WATCHED = ("os.", "open", "sqlite3.connect", "shutil.", "ctypes.dlsym", "tempfile.", "fcntl.")
MOST = 300


def _silent(what: str, done: int, of: int) -> None:
    return None


def killed_at(number: int, act: Callable[[], object]) -> tuple[bool, str]:
    """Do it in a process of its own that dies at this touch of the disk; says whether it did, and where."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        seen = 0

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal seen
            if not event.startswith(_WATCHED) or (event == "open" and not _writes(arguments)):
                return
            seen += 1
            if seen == number:
                os.write(writing, f"{event} {arguments[:2]}".encode())
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(hook)
        try:
            act()
        finally:
            os._exit(0)
    os.close(writing)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as pipe:
        where = pipe.read().decode()
    return os.WIFSIGNALED(status), where


def _writes(arguments: tuple[Any, ...]) -> bool:
    """Whether it is a file or folder of ours: modules that are read do not count."""
    return not str(arguments[0]).endswith((".py", ".pyc"))


def _clear(folder: Path) -> None:
    """Take away what the one before left: else the next one clears it first, and dies elsewhere for that."""
    for left in (*folder.glob(".*.partial"), *folder.glob("*.before-*")):
        shutil.rmtree(left)


def _backups(home: Path, file: Path) -> None:
    clock = SystemClock()
    for number in range(1, MOST):
        _clear(file.parent)
        died, where = killed_at(number, lambda: make_backup(home, file, clock, False, _silent))
        stands = "none"
        if file.exists():
            target = file.with_name(f"home-{number}")
            restore(file, target, clock, SystemIds(clock), False, _silent)
            stands = "whole" if not problems_of(target / LEDGER, clock.now()) else "broken"
            file.unlink()
        _say(number, where, stands)
        if not died:
            break


def _restores(file: Path, home: Path, before: Path) -> None:
    clock = SystemClock()
    for number in range(1, MOST):
        _clear(home.parent)
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(before, home)
        died, where = killed_at(number, lambda: restore(file, home, clock, SystemIds(clock), True, _silent))
        _say(number, where, _stands(home, before))
        if not died:
            break


def _stands(home: Path, before: Path) -> str:
    if not (home / LEDGER).exists():
        return "gone"
    if (home / "mark").exists():
        return "old" if (home / LEDGER).read_bytes() == (before / LEDGER).read_bytes() else "old, changed"
    return "new" if not problems_of(home / LEDGER, SystemClock().now()) else "new, broken"


def _say(number: int, where: str, stands: str) -> None:
    sys.stdout.write(f"{number}\t{stands}\t{where or 'the end'}\n")


if __name__ == "__main__":
    verb, *paths = sys.argv[1:]
    if verb == "backup":
        _backups(Path(paths[0]), Path(paths[1]))
    else:
        _restores(Path(paths[0]), Path(paths[1]), Path(paths[2]))
