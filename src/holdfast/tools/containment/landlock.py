"""The Landlock rules of a view: pure functions of the view and the machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from .helper.landlock import READ, WRITE, Rule
from .machine import Machine
from .view import ProgramView

DEVICES = ("null", "zero", "full", "random", "urandom")
PROCESSES = (
    *("cpuinfo", "meminfo", "stat", "uptime", "loadavg", "version", "filesystems", "self", "thread-self"),
    *("sys/kernel/osrelease", "sys/kernel/ostype", "sys/kernel/version", "sys/kernel/pid_max"),
    *("sys/kernel/ngroups_max", "sys/kernel/random/uuid", "sys/vm/overcommit_memory", "sys/fs/file-max"),
    *("sys/kernel/cap_last_cap", "sys/net/core/somaxconn"),
)
"""The parts of /proc that say nothing about other processes; /proc/self is the program's own."""

Children = Callable[[Path], Iterable[Path]]


def beside_bubblewrap(view: ProgramView) -> tuple[Rule, ...]:
    """The rules inside a view that bubblewrap has built: a program may read all of it and change little."""
    places = (*view.writable, Path("/tmp"), Path("/var/tmp"), Path("/dev"))
    return ((("/", READ)), *((str(path), WRITE) for path in places))


def alone(view: ProgramView, machine: Machine, children: Children) -> tuple[Rule, ...]:
    """The rules where Landlock alone protects the files of the machine."""
    holes = [*machine.secrets, *(() if view.hidden is None else (view.hidden,))]
    read = (*machine.folders, *machine.runtime, *view.read)
    devices = (f"/dev/{name}" for name in DEVICES)
    processes = (f"/proc/{name}" for name in PROCESSES)
    return (
        *((str(path), READ) for folder in read for path in around(folder, holes, children)),
        *((path, READ) for path in processes),
        *((path, WRITE) for path in devices),
        *((str(path), WRITE) for path in view.writable),
    )


def around(folder: Path, holes: Sequence[Path], children: Children) -> Iterator[Path]:
    """The paths to allow so that everything in a folder but the holes is allowed: no rule can forbid."""
    if any(folder.is_relative_to(hole) for hole in holes):
        return
    inside = [hole for hole in holes if hole.is_relative_to(folder)]
    if not inside:
        yield folder
        return
    for child in children(folder):
        yield from around(child, inside, children)
