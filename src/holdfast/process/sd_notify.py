"""Messages to systemd or to the supervisor about the state of this process. Both use systemd's words."""

from __future__ import annotations

import os
import socket
import sys
from array import array
from collections.abc import Sequence
from pathlib import Path

from . import supervisor

READY = "READY=1"
STOPPING = "STOPPING=1"
ALIVE = "WATCHDOG=1"
HOLD = "FDSTORE=1"
"""Comes with the socket of the page: the receiver holds it for the next process."""


def may_stand_still(seconds: float) -> str:
    """The message that sets how long the loop may hang before the watcher ends this process."""
    return f"WATCHDOG_USEC={round(seconds * 1_000_000)}"


class Notifier:
    """Sends datagrams to the socket that systemd named. Without a socket or a reader it does nothing."""

    def __init__(self, address: str | None) -> None:
        # A leading @ means an abstract socket, whose name begins with a zero byte.
        self._address = "\0" + address[1:] if address and address.startswith("@") else address

    def say(self, *words: str, files: Sequence[int] = ()) -> bool:
        """Send one message. False if there was no reader."""
        if not self._address:
            return False
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
                out.setblocking(False)
                out.sendmsg(["\n".join(words).encode()], _beside(files), 0, self._address)
        except OSError:
            return False
        return True


class SupervisorLink:
    """A socket to the supervisor, or to the watcher that this process starts. No other process has it."""

    def __init__(self, ours: socket.socket) -> None:
        self._ours = ours
        self._ours.setblocking(False)

    def say(self, *words: str, files: Sequence[int] = ()) -> bool:
        try:
            self._ours.sendmsg([("\n".join(words) + "\n").encode()], _beside(files))
        except OSError:
            return False
        return True


def _beside(files: Sequence[int]) -> list[tuple[int, int, array[int]]]:
    return [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", files))] if files else []


def watcher(home: Path) -> SupervisorLink:
    """Start a small process that ends this one if its loop hangs. It ends with this one."""
    ours, theirs = socket.socketpair()
    with theirs:
        os.set_inheritable(theirs.fileno(), True)
        command = [sys.executable, "-I", "-S", supervisor.__file__, supervisor.WATCH]
        # Without this environment, which has secrets, and in a process group that no terminal interrupts.
        command += [str(home), str(os.getpid()), str(theirs.fileno())]
        os.posix_spawn(command[0], command, {}, setpgroup=0)
    return SupervisorLink(ours)
