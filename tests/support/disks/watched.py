"""System calls of a child, seen by its parent before they are carried out: on Linux, without privileges.

The child installs a filter that hands some of its calls to a listener (seccomp user notification); the parent
gets the listener, reads the arguments out of the child's memory, and says of each call whether it goes on,
fails, or counts as done. A call waits until its parent has spoken.
"""

import ctypes
import errno
import fcntl
import os
import platform
import select
import signal
import socket
import struct
import sys
from dataclasses import dataclass

_ARCHES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

# The calls that change what a disk holds, by machine. A machine that lacks one has only its newer form.
CALLS: dict[str, dict[str, int]] = {
    "x86_64": {
        "write": 1,
        "open": 2,
        "pwrite64": 18,
        "writev": 20,
        "fsync": 74,
        "fdatasync": 75,
        "truncate": 76,
        "ftruncate": 77,
        "rename": 82,
        "mkdir": 83,
        "rmdir": 84,
        "creat": 85,
        "link": 86,
        "unlink": 87,
        "openat": 257,
        "mkdirat": 258,
        "unlinkat": 263,
        "renameat": 264,
        "linkat": 265,
        "fallocate": 285,
        "pwritev": 296,
        "renameat2": 316,
        "copy_file_range": 326,
        "pwritev2": 328,
    },
    "aarch64": {
        "mkdirat": 34,
        "unlinkat": 35,
        "linkat": 37,
        "renameat": 38,
        "truncate": 45,
        "ftruncate": 46,
        "fallocate": 47,
        "openat": 56,
        "write": 64,
        "writev": 66,
        "pwrite64": 68,
        "pwritev": 70,
        "fsync": 82,
        "fdatasync": 83,
        "renameat2": 276,
        "copy_file_range": 285,
        "pwritev2": 287,
    },
}
_SECCOMP = {"x86_64": 317, "aarch64": 277}

_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38
_SET_MODE_FILTER, _NEW_LISTENER = 1, 1 << 3
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _NOTIFY = 0x7FFF0000, 0x7FC00000
_RECEIVE, _ANSWER = 0xC0502100, 0xC0182101
_GO_ON = 1


def can_watch() -> bool:
    """Whether this machine lets a parent see its child's calls: tried, since nothing else tells."""
    if sys.platform != "linux" or platform.machine() not in _ARCHES:
        return False
    here, there = socket.socketpair()
    child = os.fork()
    if child == 0:
        try:
            be_watched(there)
            signal.pause()
        finally:
            os._exit(1)
    there.close()
    try:
        Listener(child, here).close()
    except (OSError, ValueError):
        return False
    finally:
        here.close()
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return True


def be_watched(parent: socket.socket) -> None:
    """In the child: from now on these calls, by this thread and those it starts, wait for the parent.

    Without a parent it dies: nobody is left to answer.
    """
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    listener = _install()
    socket.send_fds(parent, [b"!"], [listener])
    os.close(listener)


def _install() -> int:
    machine = platform.machine()
    numbers = sorted(CALLS[machine].values())
    steps = [(_LOAD, 0, 0, 4), (_JUMP_IF_EQUAL, 0, len(numbers) + 1, _ARCHES[machine]), (_LOAD, 0, 0, 0)]
    steps += [(_JUMP_IF_EQUAL, len(numbers) - place, 0, one) for place, one in enumerate(numbers)]
    steps += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _NOTIFY)]
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    header = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(program)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "new privileges could not be given up")
    listener: int = libc.syscall(_SECCOMP[machine], _SET_MODE_FILTER, _NEW_LISTENER, header)
    if listener < 0:
        raise OSError(ctypes.get_errno(), "the filter was refused")
    return listener


@dataclass(frozen=True, slots=True)
class Call:
    """One call that waits."""

    id: int
    thread: int
    name: str
    args: tuple[int, ...]


class Listener:
    """The parent's end: calls as they come, and an answer to each."""

    def __init__(self, child: int, connection: socket.socket) -> None:
        self._names = {number: name for name, number in CALLS[platform.machine()].items()}
        _, (self._fd,), _, _ = socket.recv_fds(connection, 1, 1)
        self._threads = f"/proc/{child}/task"
        self._memory = os.open(f"/proc/{child}/mem", os.O_RDONLY)
        self._poll = select.poll()
        self._poll.register(self._fd, select.POLLIN)

    def close(self) -> None:
        os.close(self._memory)
        os.close(self._fd)

    def next(self, seconds: float | None) -> Call | None:
        """The next call; None when none came in that time. Raises `EOFError` when the child is gone."""
        while True:
            ready = self._poll.poll(None if seconds is None else seconds * 1_000)
            if not ready:
                return None
            if not ready[0][1] & select.POLLIN:
                raise EOFError
            notice = bytearray(80)
            try:
                fcntl.ioctl(self._fd, _RECEIVE, notice)
            except OSError as error:
                # It was killed between the two.
                if error.errno in (errno.ENOENT, errno.EINTR):
                    continue
                raise
            found = struct.unpack("QIIiIQ6Q", notice)
            call = Call(found[0], found[1], self._names[found[3]], found[6:])
            if os.path.exists(f"{self._threads}/{call.thread}"):
                return call
            # A process that the child started: it has the filter too, and a memory of its own.
            self.go_on(call)

    def go_on(self, call: Call) -> None:
        """Let it be carried out."""
        self._answer(call, 0, 0, _GO_ON)

    def fail(self, call: Call, code: int) -> None:
        """Nothing is done, and the caller gets this error."""
        self._answer(call, 0, -code, 0)

    def done(self, call: Call, result: int = 0) -> None:
        """Nothing is done, and the caller is told it was."""
        self._answer(call, result, 0, 0)

    def _answer(self, call: Call, value: int, error: int, flags: int) -> None:
        try:
            fcntl.ioctl(self._fd, _ANSWER, struct.pack("QqiI", call.id, value, error, flags))
        except OSError as gone:
            # Killed, or woken by a signal: in the second case the call comes again.
            if gone.errno != errno.ENOENT:
                raise

    def read(self, address: int, size: int) -> bytes:
        """What stands in the child's memory."""
        return os.pread(self._memory, size, address) if size else b""

    def text(self, address: int) -> str:
        """A path that stands there."""
        found = b""
        while b"\0" not in found:
            # Never across the end of a page beyond which nothing may be.
            found += self.read(address + len(found), 4096 - (address + len(found)) % 4096)
        return os.fsdecode(found.split(b"\0", 1)[0])
