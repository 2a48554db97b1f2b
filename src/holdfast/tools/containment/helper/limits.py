"""How much a program and everything it starts use together, and how all of it is ended."""

from __future__ import annotations

import os
import resource
import signal
import sys
from contextlib import suppress

MEGABYTE = 1_048_576
MEMORY_EVERY = 200
"""Milliseconds between two looks at the memory, which take longer than counting processes."""


class UsageWatch:
    """Measures at intervals what everything below this process uses."""

    def __init__(self, memory: int, processes: int, every: int) -> None:
        self.every = every
        """Milliseconds between two looks: a program that multiplies must be found before it is too many."""
        self._memory = memory
        self._processes = processes
        self._usual = _on_machine()
        self._looks = 0

    def over(self) -> str | None:
        """The limit that is exceeded, if any: `memory` or `processes`."""
        self._looks += 1
        # The number of processes on the whole machine costs nothing to read.
        many = _on_machine() - self._usual > self._processes
        if many and len(below(os.getpid(), self._processes)) > self._processes:
            return "processes"
        if self._looks * self.every % MEMORY_EVERY < self.every:
            pids = below(os.getpid())
            if len(pids) > self._processes:
                return "processes"
            if _used(pids) > self._memory and _used_exactly(pids) > self._memory:
                return "memory"
        return None


def below(pid: int, most: int = sys.maxsize) -> list[int]:
    """The living descendants of a process; about `most` of them at most."""
    found: list[int] = []
    open_ = [pid]
    while open_ and len(found) <= most:
        one = open_.pop()
        with suppress(OSError):
            for thread in os.listdir(f"/proc/{one}/task"):
                with open(f"/proc/{one}/task/{thread}/children") as file:
                    children = [int(child) for child in file.read().split()]
                found += children
                open_ += children
    return found


def end_all(first: int) -> None:
    """Kill every descendant of this process and return when none is left; orphans come to this process.

    `first` leads the command's group or holds its namespaces: one signal to it ends most descendants, however
    fast they multiply.
    """
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for meant in (-first, first):
            _kill(meant, number)
    while True:
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                continue
        found = below(os.getpid())
        # All are stopped first, so that none starts another while the others are killed.
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in found:
                _kill(pid, number)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def limit(what: int, most: int) -> None:
    """Set a limit of this process, never above the current one."""
    _, hard = resource.getrlimit(what)
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(what, (most, most))


def processes_of(user: int) -> int:
    """The number of processes and threads of a user that this process sees."""
    count = 0
    try:
        listed = os.listdir("/proc")
    except OSError:
        return 0
    for pid in listed:
        with suppress(OSError):
            if pid.isdigit() and os.stat(f"/proc/{pid}").st_uid == user:
                count += len(os.listdir(f"/proc/{pid}/task"))
    return count


def _kill(pid: int, number: int) -> None:
    with suppress(OSError):
        os.kill(pid, number)


def _on_machine() -> int:
    return os.stat("/proc").st_nlink if sys.platform == "linux" else 0


def _used(pids: list[int]) -> int:
    """Megabytes that these processes use together at most: shared memory counts for each of them."""
    pages = sum(_number(f"/proc/{pid}/statm", 1) for pid in pids)
    return pages * resource.getpagesize() // MEGABYTE


def _used_exactly(pids: list[int]) -> int:
    """The same, with shared memory counted once; this takes longer to measure."""
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/smaps_rollup") as file:
                total += sum(int(line.split()[1]) for line in file if line.startswith("Pss:"))
        except OSError:
            continue
    return total // 1024


def _number(path: str, place: int) -> int:
    try:
        with open(path) as file:
            return int(file.read().split()[place])
    except (OSError, ValueError, IndexError):
        return 0
