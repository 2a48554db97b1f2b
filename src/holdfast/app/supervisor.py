"""The parent of a gateway: starts it again after every exit nobody asked for.

Run as a file, with the standard library alone, so that it stays a few megabytes small and has next to nothing
that could break:  python supervisor.py HOME COMMAND...  `HOME/supervisor` says who it is, and the operating
system's lock on that file says whether it lives.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress

Home = str | os.PathLike[str]
"""`pathlib` alone would take a quarter of this program's start."""

NOTE = "supervisor"

STOPPED = 0
FAILED = 1
RESTART = 75
BAD_CONFIG = 78

FIRST_DELAY = 1.0
LONGEST_DELAY = 60.0
GOOD_RUN = 60.0
"""Seconds a run must last for the ones before it to be forgotten."""

_ASKING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_AS_ASKED = (STOPPED, RESTART, 128 + signal.SIGTERM, 128 + signal.SIGINT)
"""Ends of a run that was asked to end: in order, about to restart, or before it could listen to us."""


def delay_after(code: int, ran_for: float, failures: int) -> tuple[float, int]:
    """How long to wait before the next start, and how many bad runs there have been in a row."""
    if code == RESTART:
        return 0.0, 0
    failures = 1 if ran_for >= GOOD_RUN else failures + 1
    return min(FIRST_DELAY * 2.0 ** min(failures - 1, 10), LONGEST_DELAY), failures


class Supervisor:
    """One gateway at a time, until somebody asks for the end or its configuration is bad."""

    def __init__(self, command: list[str]) -> None:
        self._command = command
        self._child: subprocess.Popen[bytes] | None = None
        self._asked = False
        self._unsent = False
        """Asked while there was nobody to forward it to."""
        self._wake, wakes = socket.socketpair()
        for end in (self._wake, wakes):
            end.setblocking(False)
        self._wakes = wakes
        signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
        for number in _ASKING:
            signal.signal(number, self._forward)
        # Only so that the end of the child wakes us.
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def run(self) -> int:
        """Keep the gateway up; the exit code is the gateway's, when it was asked to end or cannot start."""
        failures = 0
        while True:
            began = time.monotonic()
            code = self._one_run()
            if self._asked:
                return STOPPED if code in _AS_ASKED else code
            if code == BAD_CONFIG:
                return code
            wait, failures = delay_after(code, time.monotonic() - began, failures)
            _say(f"the gateway ended with {code}; starting it again" + (f" in {wait:g} s" if wait else ""))
            if self._pause(wait):
                return STOPPED

    def _one_run(self) -> int:
        environment = {**os.environ, "HOLDFAST_SUPERVISOR": str(os.getpid())}
        try:
            # A group of its own: the terminal's interrupt reaches us alone, and the child once, through us.
            self._child = subprocess.Popen(self._command, env=environment, process_group=0)
        except OSError as error:
            _say(f"the gateway cannot be started: {error}")
            return FAILED
        if self._unsent:
            self._child.terminate()
        while (code := self._child.poll()) is None:
            self._until_signal(None)
        self._child = None
        return code if code >= 0 else 128 - code

    def _forward(self, _number: int, _frame: object) -> None:
        """Whatever we heard, the child is told to end: an interrupt would break into its imports."""
        self._asked = True
        if self._child is None:
            self._unsent = True
        else:
            self._child.terminate()

    def _pause(self, seconds: float) -> bool:
        """Wait that long, or until asked to end; says whether that was asked."""
        until = time.monotonic() + seconds
        while not self._asked and (left := until - time.monotonic()) > 0:
            self._until_signal(left)
        return self._asked

    def _until_signal(self, seconds: float | None) -> None:
        if select.select([self._wake], [], [], seconds)[0]:
            self._wake.recv(4096)


def take_lock(home: Home) -> int | None:
    """Be the one supervisor of this home; None if another lives. Held until the process ends."""
    os.makedirs(home, mode=0o700, exist_ok=True)
    note = os.open(os.path.join(home, NOTE), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(note, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(note)
        return None
    os.ftruncate(note, 0)
    os.write(note, f"{os.getpid()}\n".encode())
    return note


def supervisor_of(home: Home) -> int | None:
    """The process id of the living supervisor of this home, if there is one."""
    try:
        note = os.open(os.path.join(home, NOTE), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(note, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        found = os.read(note, 32).strip()
        return int(found) if found.isdigit() else None
    finally:
        os.close(note)
    return None


def _say(words: str) -> None:
    # Nobody may be reading any more, which is no reason to leave the gateway alone.
    with suppress(OSError):
        os.write(2, f"holdfast supervisor: {words}\n".encode())


def main(arguments: list[str]) -> int:
    """Run as a file: the home, then the command that is one gateway."""
    home, *command = arguments
    lock = take_lock(home)
    if lock is None:
        _say(f"{home} is supervised already, by process {supervisor_of(home)}; nothing was changed")
        return FAILED
    return Supervisor(command).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
