"""Starts a contained program as a child that ends with this process, and learns how it ended."""

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
"""The descriptor whose end tells that parent that its helper outside is gone."""
_HIGH = 20
_DEFAULTS = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_CANNOT = 127


def start(argv: Sequence[str], files: Mapping[int, int]) -> int:
    """Start it with these descriptors and no others (its own number, ours); its process id.

    It ends with this process, and so does all that it started: its parent inside looks at the lifeline, of
    which this process alone keeps the other end.
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
    # Out of the way first: one of them may have the number that another is to get.
    moved = {number: fcntl.fcntl(ours, fcntl.F_DUPFD, _HIGH) for number, ours in files.items()}
    for number, ours in moved.items():
        os.dup2(ours, number)
    for other in range(3, 256):
        if other not in files:
            with suppress(OSError):
                os.close(other)
    os.execv(argv[0], list(argv))


def _go_first() -> None:
    """Where memory runs out, be ended before the gateway is."""
    with suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write("1000")


def status_from(pipe: int) -> int | None:
    """The status that was written there, if any was; nobody may hold the other end any more."""
    os.set_blocking(pipe, False)
    try:
        said = os.read(pipe, 64)
    except BlockingIOError:
        return None
    return int(said) if said else None
