"""Real processes of this machine, waited for by what the kernel says: never by time."""

import os
import select
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from holdfast.tools.containment.helper import process_minder as minder
from holdfast.tools.containment.helper.limits import below
from tests.support.stage import LONG

LOOK = 0.25
"""Seconds between two looks at a process that has not ended yet."""


def gate(folder: Path, name: str) -> Path:
    """A pipe with a name: who reads it waits until `open_gate`."""
    path = folder / name
    os.mkfifo(path)
    return path


def open_gate(path: Path, text: str = "") -> None:
    """Let through whoever waits there, or comes to."""
    with path.open("w") as pipe:
        pipe.write(text)


def wait_for(path: Path) -> str:
    """Wait until somebody says something there; what it was."""
    with path.open() as pipe:
        return pipe.read()


def alive(pid: int) -> bool:
    return minder.stat_of(pid) is not None


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1])


def gone(pid: int, meanwhile: Callable[[int], None] = lambda pid: None) -> None:
    """Wait until this process is gone, and do `meanwhile` with it every now and then until it is."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        for _ in range(int(LONG / LOOK)):
            meanwhile(pid)
            if select.select([handle], [], [], LOOK)[0]:
                return
        raise AssertionError(f"{pid} does not end")
    finally:
        os.close(handle)


def outside(pid: int, above: int) -> int:
    """The number that this machine has for a process which calls itself `pid`, below the process `above`.

    A process in a namespace of its own counts from 1, and that is somebody else here.
    """
    for one in below(above):
        numbers = Path(f"/proc/{one}/status").read_text().partition("NSpid:")[2].splitlines()[0].split()
        if int(numbers[-1]) == pid:
            return one
    raise AssertionError(f"no process below {above} calls itself {pid}")


def end_session(pid: int) -> None:
    """Kill everybody of a session and all they started, as the end of a test does."""
    found = set(below(pid))
    for name in os.listdir("/proc"):
        stat = minder.stat_of(int(name)) if name.isdigit() else None
        if stat is not None and stat[1] == pid:
            found.add(int(name))
    for one in found:
        with suppress(ProcessLookupError):
            os.kill(one, signal.SIGKILL)
