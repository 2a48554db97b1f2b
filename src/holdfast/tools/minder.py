"""Minds one background process: a program of its own, run as `python -I -S minder.py FOLDER`.

It stands between the gateway and the command, in a session of its own, so that neither a kill nor a restart
of the gateway reaches them. It gives the command its input from a pipe with a name, keeps what it puts out
within bounds, and leaves its exit code behind. It ends when the command has ended and nobody holds its output
any more.

Nothing but the standard library, and as little of that as possible: there is one of these per process.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys

PLAN = "plan.json"
STARTED = "started.json"
"""Who minds it. Made once, by whoever is first: a minder that finds it there starts nothing."""
ENDED = "ended.json"
INPUT = "input"
OUTPUT = "output."
"""Followed by a number: each of these files holds as much, and the oldest go first."""

_PIECE = 65_536
_PR_SET_PDEATHSIG = 1
_STATE, _SESSION, _TICKS = 0, 3, 19
"""Places in /proc/PID/stat, counted after the name, which may have anything in it."""


def stat_of(pid: int) -> tuple[int, int] | None:
    """When a living process started, in ticks since the machine did, and its session; None if none lives."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    if len(fields) <= _TICKS or fields[_STATE] in (b"Z", b"X"):
        return None
    return int(fields[_TICKS]), int(fields[_SESSION])


def boot_id() -> str:
    """Names this start of the machine."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


def write_whole(path: str, content: object, once: bool = False) -> bool:
    """Write a file that is there whole or not at all, whatever happens; False if it had to be the first."""
    new = f"{path}.{os.getpid()}.new"
    with open(new, "w", encoding="utf-8") as file:
        json.dump(content, file)
        file.flush()
        os.fsync(file.fileno())
    try:
        if once:
            os.link(new, path)
        else:
            os.replace(new, path)
    except FileExistsError:
        return False
    finally:
        if once:
            os.unlink(new)
    folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return True


class Kept:
    """What is kept of the output: the last so many files of so many bytes."""

    def __init__(self, segment: int, keep: int) -> None:
        self._segment = segment
        self._keep = keep
        self._size = 0
        self._lost = 0
        self._file = -1

    def add(self, data: bytes) -> None:
        """Keep this; what finds no room is counted, told where it is missing, and stops nobody."""
        try:
            if self._lost:
                note, self._lost = f"\n[{self._lost} bytes of output found no room here]\n".encode(), 0
                self._write(note)
            self._write(data)
        except OSError:
            self._lost += len(data)

    def _write(self, data: bytes) -> None:
        while data:
            number, within = divmod(self._size, self._segment)
            if within == 0 or self._file < 0:
                self._begin(number)
            written = os.write(self._file, data[: self._segment - within])
            self._size += written
            data = data[written:]

    def _begin(self, number: int) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        self._file = os.open(f"{OUTPUT}{number}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        if number >= self._keep and os.path.exists(f"{OUTPUT}{number - self._keep}"):
            os.unlink(f"{OUTPUT}{number - self._keep}")


def _nothing(_number: int, _frame: object) -> None:
    """A signal to the whole session is for the command; who minds it stays to see how it ends."""


def _become(command: str, folder: str, stdin: int, stdout: int) -> None:
    """What the child does: be the command, with nothing of ours."""
    try:
        # Ignored signals would be inherited, and so would be the life of a command nobody minds.
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        os.dup2(stdin, 0)
        os.dup2(stdout, 1)
        os.dup2(stdout, 2)
        os.chdir(folder)
        os.execv("/bin/sh", ["sh", "-c", command])
    except OSError as error:
        os.write(2, f"{error}\n".encode())
    finally:
        os._exit(127)


def mind(folder: str, ready: int) -> None:
    """Start the command that stands in this folder's plan, unless somebody has, and see it to its end."""
    os.chdir(folder)
    with open(PLAN, encoding="utf-8") as file:
        plan = json.load(file)
    if not os.path.exists(INPUT):
        os.mkfifo(INPUT, 0o600)
    # Held by us for writing, too: the command never sees an end of its input while nobody writes.
    held = os.open(INPUT, os.O_RDWR)
    ourselves = stat_of(os.getpid())
    assert ourselves is not None
    first = write_whole(STARTED, {"pid": os.getpid(), "ticks": ourselves[0], "boot": boot_id()}, once=True)
    os.write(ready, b".")
    os.close(ready)
    if not first:
        return
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, _nothing)
    stdin = os.open(INPUT, os.O_RDONLY)
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        _become(plan["command"], plan["folder"], stdin, into)
    os.close(into)
    os.close(stdin)
    kept = Kept(plan["segment"], plan["keep"])
    while data := os.read(out, _PIECE):
        kept.add(data)
    _, status = os.waitpid(child, 0)
    os.close(held)
    write_whole(ENDED, {"code": os.waitstatus_to_exitcode(status)})


def main(folder: str) -> int:
    """Leave a minder behind, of which nobody is the parent, and return once it has begun."""
    heard, ready = os.pipe()
    if os.fork():
        os.close(ready)
        return 0 if os.read(heard, 1) else 1
    os.close(heard)
    os.setsid()
    code = 1
    try:
        mind(folder, ready)
        code = 0
    except Exception as error:  # noqa: BLE001 - the end of this program: whoever looks for it finds the reason
        os.write(2, f"{error!r}\n".encode())
    finally:
        os._exit(code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
