"""The parent of a gateway: starts it again after every exit that was not requested, and when its loop hangs.

The gateway speaks to it over an inherited socket, in systemd's words: `WATCHDOG_USEC=` says how long the loop
may hang, `WATCHDOG=1` says that the loop turns, and `FDSTORE=1` brings the socket on which the gateway
listens. The supervisor holds that socket across restarts: no other process can take the port, and requests
wait meanwhile.

It imports almost nothing that the interpreter has not loaded already. So the gateway starts at once, and the
process beside it stays small, with very little that could break. It also runs as a file: python supervisor.py
HOME COMMAND...  The file `HOME/supervisor` contains its process id, and the operating system's lock on that
file says whether it lives.
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
"""Not a `Path`: importing `pathlib` takes longer than everything else before the gateway's start."""

NOTE = "supervisor"
STOOD_STILL = "stood-still"
"""The file that names a process that was ended because its loop hung."""
WATCH = "--watch"
"""The first argument for `watch_over`; then come a home, a process id and an open socket."""
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
"""Seconds that a run must last; then earlier failures no longer count."""

_ASKING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_AS_ASKED = (STOPPED, RESTART, 128 + signal.SIGTERM, 128 + signal.SIGINT)
"""Exit codes of a run that was asked to end: in order, about to restart, or before it handled signals."""
_LAST_WORDS = 2.0
"""Seconds in which a hanging gateway can print its stacks before it is killed."""
_PR_SET_DUMPABLE = 4
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
"""Signals that the interpreter ignores. A program that it starts should not inherit that."""


def delay_after(code: int, ran_for: float, failures: int) -> tuple[float, int]:
    """Seconds to wait before the next start, and the number of bad runs in a row."""
    if code == RESTART:
        return 0.0, 0
    failures = 1 if ran_for >= GOOD_RUN else failures + 1
    return min(FIRST_DELAY * 2.0 ** min(failures - 1, 10), LONGEST_DELAY), failures


def keep_memory_private() -> None:
    """Stop other processes of this user from reading this one's memory and environment; root still can.

    Only on Linux. It also keeps them out of core dumps.
    """
    if sys.platform != "linux":
        return
    import ctypes  # noqa: PLC0415 - only here: the supervisor imports next to nothing
    import resource  # noqa: PLC0415 - for the same reason

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


class LoopWatch:
    """Knows how long the loop of a process has hung. Time in which a signal has stopped it does not count."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._limit: float | None = None
        """None until the process has sent its limit."""
        self._beat = self._looked = time.monotonic()

    def heard(self, words: bytes) -> None:
        for word in words.split():
            name, _, value = word.partition(b"=")
            if name == b"WATCHDOG_USEC" and value.isdigit():
                self._limit = int(value) / 1_000_000
            if name.startswith(b"WATCHDOG"):
                self._beat = time.monotonic()

    def stood_still(self) -> float | None:
        """Seconds for which the loop has hung, if longer than allowed. Call this several times per limit."""
        now = time.monotonic()
        if self._limit is None or now - self._looked > self._limit / 2 or _is_stopped(self._pid):
            # There is no limit yet, or this process slept too (the machine did), or a signal stopped it.
            self._beat = now
        self._looked = now
        still = now - self._beat
        return still if self._limit is not None and still > self._limit else None

    @property
    def patience(self) -> float | None:
        """Seconds to wait until the next look."""
        return None if self._limit is None else min(self._limit / 10, _LAST_WORDS)


def _is_stopped(pid: int) -> bool:
    """Whether a signal or a debugger has stopped this process; False if that is unknown."""
    with suppress(OSError), open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()[0] in (b"T", b"t")
    return False


def abort(home: Home, pid: int, still: float) -> None:
    """End a process whose loop hangs. Python then prints the stack of each of its threads.

    A file tells the next start about it: a tool that ran at that time makes its session a suspect.
    """
    with suppress(OSError), open(os.path.join(home, STOOD_STILL), "w", encoding="ascii") as note:
        note.write(f"{pid}\n")
    _say(
        f"the event loop of process {pid} hung for {still:.0f} s; ending the process, the next start recovers"
    )
    kill(pid, signal.SIGABRT)


def kill(pid: int, number: int) -> None:
    """Send a signal to a process, which may have just ended."""
    with suppress(ProcessLookupError):
        os.kill(pid, number)


class Channel:
    """The supervisor's end of the socket to a gateway."""

    def __init__(self, ours: _socket.socket) -> None:
        self._ours = ours
        self._ours.setblocking(False)
        self.is_open = True
        """Until the other end is closed."""

    def fileno(self) -> int:
        return self._ours.fileno()

    def hear(self) -> tuple[bytes, list[int]]:
        """What the gateway has sent since the last call, and the file descriptors that came with it."""
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
    """Runs one gateway at a time, until a person stops it or its configuration is bad."""

    def __init__(self, home: Home, command: list[str], environment: Mapping[str, str]) -> None:
        self._command = command
        self._home = home
        self._environment = dict(environment)
        self._child: int | None = None
        self._listening: int | None = None
        """The socket on which the gateway listens. The supervisor has it too, so it outlives the gateway."""
        self._asked = False
        self._unsent = False
        """A stop was requested while there was no child to forward it to."""
        self._wake, wakes = os.pipe()
        for end in (self._wake, wakes):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
        for number in _ASKING:
            signal.signal(number, self._forward)
        # The handler does nothing: with it, the end of the child wakes this process.
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def run(self) -> int:
        """Run the gateway again and again. Returns its exit code once it was asked to end or cannot start."""
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
            # A group of its own: Ctrl-C reaches only the supervisor, which forwards it to the child once.
            self._child = child = os.posix_spawnp(
                self._command[0],
                self._command,
                self._environment | self._inherited(theirs.fileno()),
                setpgroup=0,
                setsigdef=_IGNORED_BY_PYTHON,
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
        """Wait for the child's end, or end it if its loop hangs. Returns the exit code."""
        watch = LoopWatch(child)
        last: float | None = None
        """The time at which the child is killed, if it has not ended before."""
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
        """Hold this socket for the next gateways, instead of the socket before."""
        if self._listening is not None:
            os.close(self._listening)
        os.set_inheritable(listening, True)
        self._listening = listening

    def _forward(self, _number: int, _frame: object) -> None:
        """Forward every signal as SIGTERM: an interrupt could break the imports of the child."""
        self._asked = True
        if self._child is None:
            self._unsent = True
        else:
            # It may have just ended.
            with suppress(ProcessLookupError):
                os.kill(self._child, signal.SIGTERM)

    def _pause(self, seconds: float) -> bool:
        """Wait so long, or until a stop is requested. Returns whether it was."""
        until = time.monotonic() + seconds
        while not self._asked and (left := until - time.monotonic()) > 0:
            self._until_signal(left)
        return self._asked

    def _until_signal(self, seconds: float | None, *beside: int) -> None:
        if self._wake in select.select([self._wake, *beside], [], [], seconds)[0]:
            os.read(self._wake, 4096)


def take_lock(home: Home) -> int | None:
    """Become the only supervisor of this home; None if another one lives. The process holds the lock."""
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
    # If standard error is closed, the supervisor still has to look after the gateway.
    with suppress(OSError):
        os.write(2, f"holdfast supervisor: {words}\n".encode())


def supervise(home: Home, command: list[str], environment: Mapping[str, str]) -> int:
    """Supervise one gateway, unless another process does so already. The exit code says how it ended."""
    lock = take_lock(home)
    if lock is None:
        _say(f"process {supervisor_of(home)} already supervises {home}; nothing was changed")
        return FAILED
    keep_memory_private()
    return Supervisor(home, command, environment).run()


def watch_over(home: Home, pid: int, file: int) -> None:
    """End the process `pid` if its loop hangs. Returns when that process ends.

    A gateway that has no supervisor starts this process beside itself.
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
