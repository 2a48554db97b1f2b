"""Minds one background process; its argument is the folder with the plan.

A second argument is the descriptor with the secrets to leave out of the output.

The minder runs between the gateway and the command, in a session of its own, so no kill and no restart of the
gateway reaches either of them. It stays outside the containment of the command. It feeds the command from a
named pipe, limits its output and its use of the machine, and records its exit code. It ends when the command
and everything the command started have ended. If the minder is killed, they end with it.
"""

from __future__ import annotations

import json
import os
import select
import signal
from typing import Any

from .child import STATUS, start, status_from
from .kernel import adopt_orphans
from .limits import UsageWatch, end_all
from .masker import Masked, told

PLAN = "plan.json"
STARTED = "started.json"
"""Who minds the process. The first minder makes this file; a minder that finds it starts nothing."""
ENDED = "ended.json"
INPUT = "input"
OUTPUT = "output."
"""Followed by a number: each of these files holds one segment, and the oldest are deleted first."""

LOOK_EVERY = 100
"""Milliseconds between two looks at what the process uses: it may run for days."""
_PIECE = 65_536
Plan = dict[str, Any]
_STATE, _PARENT, _SESSION, _TICKS = 0, 1, 3, 19
"""Positions in /proc/PID/stat, counted after the name, which may contain anything."""


def stat_of(pid: int) -> tuple[int, int, int] | None:
    """Start time of a living process in ticks since the boot of the machine, its session and its parent."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    if len(fields) <= _TICKS or fields[_STATE] in (b"Z", b"X"):
        return None
    return int(fields[_TICKS]), int(fields[_SESSION]), int(fields[_PARENT])


def boot_id() -> str:
    """Identifies this boot of the machine."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


def write_whole(path: str, content: object, once: bool = False) -> bool:
    """Write a file completely or not at all, even in a crash; False if `once` and the file exists."""
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


class KeptOutput:
    """The kept output without known secrets: the last `keep` files of `segment` bytes."""

    def __init__(self, segment: int, keep: int, masked: Masked) -> None:
        self._masked = masked
        self._segment = segment
        self._keep = keep
        self._size = 0
        self._lost = 0
        self._file = -1

    def add(self, data: bytes) -> None:
        """Keep this; if a secret may begin at its end, the end waits for what follows."""
        self._keep_now(self._masked.feed(data))

    def end(self) -> None:
        """Keep the rest, after the last output."""
        self._keep_now(self._masked.end())

    def _keep_now(self, data: bytes) -> None:
        """Write what fits. What does not fit is counted and noted in the output, and the command runs on."""
        try:
            if self._lost:
                note, self._lost = f"\n[{self._lost} bytes of output could not be kept here]\n".encode(), 0
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
    """Ignore the signal: a signal to the whole session is for the command, and the minder records its end."""


def mind(folder: str, ready: int, secrets: int | None) -> None:
    """Start the command of this folder's plan, unless that was done before, and mind it until its end."""
    os.chdir(folder)
    with open(PLAN, encoding="utf-8") as file:
        plan = json.load(file)
    if not os.path.exists(INPUT):
        os.mkfifo(INPUT, 0o600)
    # The minder holds the writing end, too: the command never sees an end of input between two writers.
    held = os.open(INPUT, os.O_RDWR)
    ourselves = stat_of(os.getpid())
    assert ourselves is not None
    first = write_whole(STARTED, {"pid": os.getpid(), "ticks": ourselves[0], "boot": boot_id()}, once=True)
    os.write(ready, b".")
    os.close(ready)
    if not first:
        return
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGCHLD):
        signal.signal(number, _nothing)
    # Orphans of the command come to the minder, from any session, so that it can end them.
    adopt_orphans()
    code = _run(plan, secrets)
    os.close(held)
    write_whole(ENDED, {"code": code})


def _run(plan: Plan, secrets: int | None) -> int:
    """Run the command until none of its processes is left; its exit code."""
    stdin = os.open(INPUT, os.O_RDONLY)
    out, into = os.pipe()
    status_in, status_out = os.pipe()
    child = start(plan["argv"], {0: stdin, 1: into, 2: into, STATUS: status_out})
    for ours in (stdin, into, status_out):
        os.close(ours)
    kept = KeptOutput(plan["segment"], plan["keep"], told(secrets).stream())
    status, over = _see_to_its_end(
        child, out, kept, UsageWatch(plan["memory"], plan["processes"], LOOK_EVERY)
    )
    kept.end()
    if over:
        most = f"{plan['memory']} MB" if over == "memory" else f"{plan['processes']} processes"
        kept.add(f"\n[the process used more than {most} and was ended]\n".encode())
        kept.end()
        return -signal.SIGKILL
    said = status_from(status_in)
    return os.waitstatus_to_exitcode(status if said is None else said)


def _see_to_its_end(child: int, out: int, kept: KeptOutput, usage: UsageWatch) -> tuple[int, str | None]:
    """Keep the output until none of its processes is left; how the child ended, or why it was ended."""
    woken, wakes = os.pipe()
    for fd in (out, woken, wakes):
        os.set_blocking(fd, False)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    eyes = select.poll()
    eyes.register(out, select.POLLIN)
    eyes.register(woken, select.POLLIN)
    status, over = 0, None
    while True:
        events = dict(eyes.poll(usage.every))
        if woken in events:
            os.read(woken, _PIECE)
        if out in events and not _take(out, kept):
            eyes.unregister(out)
        over = usage.over()
        if over:
            end_all(child)
        try:
            while (found := os.waitpid(-1, os.WNOHANG))[0]:
                status = found[1] if found[0] == child else status
        except ChildProcessError:
            while _take(out, kept):
                continue
            return status, over


def _take(out: int, kept: KeptOutput) -> bool:
    """Keep a piece of the output; False if there is none."""
    try:
        data = os.read(out, _PIECE)
    except BlockingIOError:
        return False
    kept.add(data)
    return bool(data)


def main(arguments: list[str]) -> int:
    """Start a minder without a parent in this session, and return when it has begun."""
    folder, *descriptor = arguments
    heard, ready = os.pipe()
    if os.fork():
        os.close(ready)
        return 0 if os.read(heard, 1) else 1
    os.close(heard)
    os.setsid()
    code = 1
    try:
        mind(folder, ready, int(descriptor[0]) if descriptor else None)
        code = 0
    except Exception as error:  # noqa: BLE001 - the last line of this program: the gateway reads the reason
        os.write(2, f"{error!r}\n".encode())
    finally:
        os._exit(code)
