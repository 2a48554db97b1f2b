"""The parent of a gateway: starts it again after every exit nobody asked for.

It needs little more than what every interpreter has loaded, so that a gateway begins to start at once, and so
that what stays beside it is small and has next to nothing that could break. It runs as a file as well:
python supervisor.py HOME COMMAND...  `HOME/supervisor` says who it is, and the operating system's lock on
that file says whether it lives.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import suppress

Home = str | os.PathLike[str]
"""`pathlib` alone would take longer than everything else before the gateway's start."""

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
_UNHEARD_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
"""What an interpreter ignores, and a program that it starts should not."""


def delay_after(code: int, ran_for: float, failures: int) -> tuple[float, int]:
    """How long to wait before the next start, and how many bad runs there have been in a row."""
    if code == RESTART:
        return 0.0, 0
    failures = 1 if ran_for >= GOOD_RUN else failures + 1
    return min(FIRST_DELAY * 2.0 ** min(failures - 1, 10), LONGEST_DELAY), failures


class Supervisor:
    """One gateway at a time, until somebody asks for the end or its configuration is bad."""

    def __init__(self, command: list[str], environment: Mapping[str, str]) -> None:
        self._command = command
        self._environment = dict(environment)
        self._child: int | None = None
        self._asked = False
        self._unsent = False
        """Asked while there was nobody to forward it to."""
        self._wake, wakes = os.pipe()
        for end in (self._wake, wakes):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
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
        try:
            # A group of its own: the terminal's interrupt reaches us alone, and the child once, through us.
            self._child = child = os.posix_spawnp(
                self._command[0],
                self._command,
                self._environment,
                setpgroup=0,
                setsigdef=_UNHEARD_BY_PYTHON,
            )
        except OSError as error:
            _say(f"the gateway cannot be started: {error}")
            return FAILED
        if self._unsent:
            os.kill(child, signal.SIGTERM)
        while not (ended := os.waitpid(child, os.WNOHANG))[0]:
            self._until_signal(None)
        self._child = None
        code = os.waitstatus_to_exitcode(ended[1])
        return code if code >= 0 else 128 - code

    def _forward(self, _number: int, _frame: object) -> None:
        """Whatever we heard, the child is told to end: an interrupt would break into its imports."""
        self._asked = True
        if self._child is None:
            self._unsent = True
        else:
            # It may have just ended.
            with suppress(ProcessLookupError):
                os.kill(self._child, signal.SIGTERM)

    def _pause(self, seconds: float) -> bool:
        """Wait that long, or until asked to end; says whether that was asked."""
        until = time.monotonic() + seconds
        while not self._asked and (left := until - time.monotonic()) > 0:
            self._until_signal(left)
        return self._asked

    def _until_signal(self, seconds: float | None) -> None:
        if select.select([self._wake], [], [], seconds)[0]:
            os.read(self._wake, 4096)


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


def supervise(home: Home, command: list[str], environment: Mapping[str, str]) -> int:
    """Keep one gateway up, unless another process does so already; the exit code says how it ended."""
    lock = take_lock(home)
    if lock is None:
        _say(f"{home} is supervised already, by process {supervisor_of(home)}; nothing was changed")
        return FAILED
    return Supervisor(command, environment).run()


if __name__ == "__main__":
    sys.exit(supervise(sys.argv[1], sys.argv[2:], os.environ))
