"""Starts a contained program as a child that ends with this process, and reads how it ended."""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress

from .kernel import die_with_parent

STATUS = 4
"""The descriptor on which the parent of the program (`entry`) says how the program ended."""
LIFELINE = 5
"""The descriptor that ends when the helper outside is gone; the parent of the program watches it."""
_HIGH = 20
_DEFAULTS = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_CANNOT = 127


def start(argv: Sequence[str], files: Mapping[int, int]) -> int:
    """Start the program with only these descriptors (its number: our number) and return its process id.

    The program and everything it starts end with this process: the parent inside watches the lifeline, and
    only this process holds the other end.
    """
    parent = os.getpid()
    life, _kept_until_the_end = os.pipe()
    files = {**files, LIFELINE: life}
    child = os.fork()
    if child == 0:
        try:
            _become(argv, files, parent)
        except OSError as error:
            os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
        finally:
            os._exit(_CANNOT)
    os.close(life)
    return child


def _become(argv: Sequence[str], files: Mapping[int, int], parent: int) -> None:
    os.setsid()
    die_with_parent()
    if os.getppid() != parent:
        return
    _go_first()
    for ignored in _DEFAULTS:
        signal.signal(ignored, signal.SIG_DFL)
    signal.set_wakeup_fd(-1)
    # Moved away first: one of our numbers may be the target number of another.
    moved = {number: fcntl.fcntl(ours, fcntl.F_DUPFD, _HIGH) for number, ours in files.items()}
    for number, ours in moved.items():
        os.dup2(ours, number)
    for other in range(3, 256):
        if other not in files:
            with suppress(OSError):
                os.close(other)
    os.execv(argv[0], list(argv))


def _go_first() -> None:
    """If memory runs out, the kernel ends this process before the gateway."""
    with suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write("1000")


def status_from(pipe: int) -> int | None:
    """The status that `entry` wrote to the pipe, if any; no process may hold the other end any more."""
    os.set_blocking(pipe, False)
    try:
        said = os.read(pipe, 64)
    except BlockingIOError:
        return None
    return int(said) if said else None
