"""The parent of a gateway: starts it again after every exit that was not asked for, and when its loop hangs.

The gateway speaks to it over a socket that it inherits, in systemd's words: `WATCHDOG_USEC=` for how long its
loop may stand still, `WATCHDOG=1` that the loop turns, `FDSTORE=1` with the socket that it listens on. The
supervisor holds that socket across restarts: no other process can take the port, and requests wait meanwhile.

It needs little more than what every interpreter has loaded, so that a gateway begins to start at once, and so
that what stays beside it is small and has next to nothing that could break. It runs as a file as well:
python supervisor.py HOME COMMAND...  `HOME/supervisor` says who it is, and the operating system's lock on
that file says whether it lives.
"""

from __future__ import annotations

import _socket
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
STOOD_STILL = "stood-still"
"""The file that names the process that was ended because its loop stood still."""
WATCH = "--watch"
"""Run as a file with this, a home, a process id and an open socket: `watch_over`."""
CHANNEL_VARIABLE = "HOLDFAST_SUPERVISOR_FD"
"""The socket over which a gateway speaks to its supervisor."""
LISTENING_VARIABLE = "HOLDFAST_LISTENING_FD"
"""The socket on which the gateway before listened."""

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
_LAST_WORDS = 2.0
"""Seconds in which a gateway that stands still must have said where, before it is killed."""
_PR_SET_DUMPABLE = 4
_UNHEARD_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
"""What an interpreter ignores, and a program that it starts should not."""


def delay_after(code: int, ran_for: float, failures: int) -> tuple[float, int]:
    """How long to wait before the next start, and how many bad runs there have been in a row."""
    if code == RESTART:
        return 0.0, 0
    failures = 1 if ran_for >= GOOD_RUN else failures + 1
    return min(FIRST_DELAY * 2.0 ** min(failures - 1, 10), LONGEST_DELAY), failures


def keep_memory_private() -> None:
    """From now on no other process of this user reads this one's memory and environment; root still does.

    On Linux only. It also keeps them out of core dumps.
    """
    if sys.platform != "linux":
        return
    import ctypes  # noqa: PLC0415 - only here: the supervisor imports next to nothing
    import resource  # noqa: PLC0415 - as well

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


class LoopWatch:
    """Knows for how long the loop of a process has stood still; one that a signal stopped is not to blame."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._limit: float | None = None
        """None until the process has said that it shows signs of life."""
        self._beat = self._looked = time.monotonic()

    def heard(self, words: bytes) -> None:
        for word in words.split():
            name, _, value = word.partition(b"=")
            if name == b"WATCHDOG_USEC" and value.isdigit():
                self._limit = int(value) / 1_000_000
            if name.startswith(b"WATCHDOG"):
                self._beat = time.monotonic()

    def stood_still(self) -> float | None:
        """Seconds for which it has, if that is longer than it may; to be asked several times per limit."""
        now = time.monotonic()
        if self._limit is None or now - self._looked > self._limit / 2 or _is_stopped(self._pid):
            # Nothing is promised yet, or we stood still as well (the machine slept), or somebody stopped it.
            self._beat = now
        self._looked = now
        still = now - self._beat
        return still if self._limit is not None and still > self._limit else None

    @property
    def patience(self) -> float | None:
        """How long to wait for the next look."""
        return None if self._limit is None else min(self._limit / 10, _LAST_WORDS)


def _is_stopped(pid: int) -> bool:
    """Whether a signal or a debugger has stopped this process; False where that cannot be known."""
    with suppress(OSError), open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()[0] in (b"T", b"t")
    return False


def abort(home: Home, pid: int, still: float) -> None:
    """End a process whose loop stands still; Python then says where each of its threads stood.

    A note tells the next start of it: a tool that ran meanwhile makes its session a suspect.
    """
    with suppress(OSError), open(os.path.join(home, STOOD_STILL), "w", encoding="ascii") as note:
        note.write(f"{pid}\n")
    _say(f"the event loop of process {pid} stood still for {still:.0f} s; ending it, the next start recovers")
    kill(pid, signal.SIGABRT)


def kill(pid: int, number: int) -> None:
    """Send a signal to a process that may have just ended."""
    with suppress(ProcessLookupError):
        os.kill(pid, number)


class Channel:
    """Our end of what a gateway says."""

    def __init__(self, ours: _socket.socket) -> None:
        self._ours = ours
        self._ours.setblocking(False)
        self.is_open = True
        """Until the other end is closed."""

    def fileno(self) -> int:
        return self._ours.fileno()

    def hear(self) -> tuple[bytes, list[int]]:
        """What was said since the last time, and the files that came with it."""
        said, files = b"", b""
        with suppress(BlockingIOError, ConnectionError):
            while True:
                more, beside, _, _ = self._ours.recvmsg(4096, _socket.CMSG_SPACE(16))
                if not more:
                    self.is_open = False
                    break
                said += more
                files += b"".join(data for level, kind, data in beside if kind == _socket.SCM_RIGHTS)
        return said, [int.from_bytes(files[at : at + 4], sys.byteorder) for at in range(0, len(files), 4)]

    def close(self) -> None:
        self._ours.close()


class Supervisor:
    """One gateway at a time, until somebody asks for the end or its configuration is bad."""

    def __init__(self, home: Home, command: list[str], environment: Mapping[str, str]) -> None:
        self._command = command
        self._home = home
        self._environment = dict(environment)
        self._child: int | None = None
        self._listening: int | None = None
        """The socket on which the gateway listens; ours as well, so that it outlives the gateway."""
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
        ours, theirs = _socket.socketpair()
        os.set_inheritable(theirs.fileno(), True)
        try:
            # A group of its own: the terminal's interrupt reaches us alone, and the child once, through us.
            self._child = child = os.posix_spawnp(
                self._command[0],
                self._command,
                self._environment | self._inherited(theirs.fileno()),
                setpgroup=0,
                setsigdef=_UNHEARD_BY_PYTHON,
            )
        except OSError as error:
            _say(f"the gateway cannot be started: {error}")
            return FAILED
        finally:
            theirs.close()
        if self._unsent:
            os.kill(child, signal.SIGTERM)
        channel = Channel(ours)
        code = self._watched(child, channel)
        self._child = None
        channel.close()
        return code if code >= 0 else 128 - code

    def _inherited(self, channel: int) -> dict[str, str]:
        found = {CHANNEL_VARIABLE: str(channel)}
        return found if self._listening is None else {**found, LISTENING_VARIABLE: str(self._listening)}

    def _watched(self, child: int, channel: Channel) -> int:
        """Wait for the child's end, or end it when its loop stands still; the exit code."""
        watch = LoopWatch(child)
        last: float | None = None
        """When it is killed, if it does not end by itself before."""
        while not (ended := os.waitpid(child, os.WNOHANG))[0]:
            self._until_signal(watch.patience, *([channel.fileno()] if channel.is_open else []))
            said, files = channel.hear()
            watch.heard(said)
            for file in files:
                self._hold(file)
            still = watch.stood_still()
            if last is not None and time.monotonic() > last:
                kill(child, signal.SIGKILL)
            elif last is None and still is not None:
                abort(self._home, child, still)
                last = time.monotonic() + _LAST_WORDS
        for file in channel.hear()[1]:
            self._hold(file)
        return os.waitstatus_to_exitcode(ended[1])

    def _hold(self, listening: int) -> None:
        """Keep this socket for the gateways to come, instead of the one before."""
        if self._listening is not None:
            os.close(self._listening)
        os.set_inheritable(listening, True)
        self._listening = listening

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

    def _until_signal(self, seconds: float | None, *beside: int) -> None:
        if self._wake in select.select([self._wake, *beside], [], [], seconds)[0]:
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
    keep_memory_private()
    return Supervisor(home, command, environment).run()


def watch_over(home: Home, pid: int, file: int) -> None:
    """End this process when its loop stands still; returns when it ends.

    For a gateway that no supervisor and no systemd watches: it starts this beside itself.
    """
    for number in _ASKING:
        signal.signal(number, signal.SIG_IGN)
    keep_memory_private()
    channel, watch = Channel(_socket.socket(fileno=file)), LoopWatch(pid)
    while channel.is_open:
        select.select([channel.fileno()], [], [], watch.patience)
        watch.heard(channel.hear()[0])
        still = watch.stood_still()
        if os.getppid() != pid:
            return
        if still is not None:
            abort(home, pid, still)
            select.select([channel.fileno()], [], [], _LAST_WORDS)
            kill(pid, signal.SIGKILL)
            return


if __name__ == "__main__":
    if sys.argv[1] == WATCH:
        watch_over(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        sys.exit(supervise(sys.argv[1], sys.argv[2:], os.environ))
