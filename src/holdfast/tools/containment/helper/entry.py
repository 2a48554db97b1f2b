"""The last step into containment: runs inside, drops every remaining right and becomes the program.

    entry ORDER COMMAND [ARGUMENT ...]

ORDER is JSON (see `launcher.py`). This process stays as the parent of the program. It adopts orphans, reports
how the program ended, and ends everything that the program started, even when its helper outside is killed.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from .child import LIFELINE, STATUS
from .kernel import (
    KernelRefused,
    adopt_orphans,
    close_memory,
    die_with_parent,
    drop_capabilities,
    filter_calls,
    gain_nothing,
    outlive_parent,
)
from .landlock import restrict
from .limits import MEGABYTE, end_all, limit, processes_of

CANNOT = 126
_NICE = 5

Order = dict[str, Any]


def main(arguments: list[str]) -> int:
    order: Order = json.loads(arguments[0])
    changed = moved(order["same"])
    if changed is not None:
        return say(f"{changed} was replaced just before the program started; nothing was run")
    return attend(order, arguments[1:])


def moved(expected: Sequence[tuple[str, int, int]]) -> str | None:
    """The first path that is not the same file or folder as when the gateway looked."""
    for path, device, inode in expected:
        try:
            found = os.lstat(path)
        except OSError:
            return path
        if (found.st_dev, found.st_ino) != (device, inode):
            return path
    return None


def attend(order: Order, command: Sequence[str]) -> int:
    """Start the program, adopt orphans, report how it ended, and end everything that is left."""
    adopt_orphans()
    # The lifeline shows the helper's end. A signal would kill this process, and the program would live on.
    outlive_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    woken, wakes = os.pipe()
    for fd in (woken, wakes):
        os.set_blocking(fd, False)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    # This process keeps rights that the program gives up. A tracer could use them, so none may trace it.
    close_memory()
    attendant = os.getpid()
    child = os.fork()
    if child == 0:
        signal.set_wakeup_fd(-1)
        for ours in (signal.SIGCHLD, signal.SIGINT):
            signal.signal(ours, signal.SIG_DFL)
        os._exit(become(order, command, attendant))
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(STATUS):
        os.dup2(nothing, number)
    stay_for(child, woken, order["lingers"])
    end_all(child)
    return 0


def stay_for(child: int, woken: int, lingers: bool) -> None:
    """Wait until no process is left to stay for, or the helper outside is gone."""
    eyes = select.poll()
    eyes.register(LIFELINE, select.POLLIN)
    eyes.register(woken, select.POLLIN)
    while LIFELINE not in dict(eyes.poll()):
        os.read(woken, 4096)
        if not took_in(child, lingers):
            return


def took_in(child: int, lingers: bool) -> bool:
    """Collect every ended process and report the program's end; False when no process is left to stay for."""
    try:
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            if found[0] == child:
                os.write(STATUS, str(found[1]).encode())
                if not lingers:
                    return False
    except ChildProcessError:
        return False
    return True


def become(order: Order, command: Sequence[str], attendant: int) -> int:
    """Become the program; returns only if that fails."""
    die_with_parent()
    if os.getppid() != attendant:
        return CANNOT
    os.setsid()
    os.nice(_NICE)
    limit(resource.RLIMIT_CORE, 0)
    # RLIMIT_AS would also count memory that a program reserves and never uses, and some reserve a lot.
    limit(resource.RLIMIT_DATA, order["memory"] * MEGABYTE)
    # The kernel counts this per user, and not at all for root: there only the helper outside watches.
    limit(resource.RLIMIT_NPROC, order["processes"] + processes_of(os.getuid()))
    place = enter(order["cwd"], order["workspace"])
    try:
        give_up(order)
    except KernelRefused as error:
        return say(f"the program could not be contained: {error}")
    if place:
        os.write(1, place.encode())
    if order["joined"]:
        os.dup2(1, 2)
    os.closerange(order["files"], 256)
    try:
        os.execvp(command[0], list(command))
    except OSError as error:
        return say(f"{command[0]}: {error.strerror}")


def give_up(order: Order) -> None:
    """Drop every right that the order does not name."""
    if not order["contained"]:
        return
    gain_nothing()
    drop_capabilities()
    if order["rules"]:
        restrict(order["rules"])
    filter_calls(bytes.fromhex(order["filter"]))


def enter(folder: str, workspace: str) -> str:
    """Change to the folder, or else to the workspace; returns a note in that case."""
    with suppress(OSError):
        os.chdir(folder)
        return ""
    os.chdir(workspace)
    return f"[{folder} does not exist any more; the command started in the workspace instead]\n"


def say(words: str) -> int:
    os.write(2, f"{words}\n".encode())
    return CANNOT
