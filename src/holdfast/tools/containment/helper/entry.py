"""The last step into containment: run inside, it gives up every right that is left and becomes the program.

    entry ORDER COMMAND [ARGUMENT ...]

ORDER is JSON (see `launcher.py`). This process stays as the parent of the program: it takes in orphans, says
how the program ended, and ends everything that the program started, also when its helper outside is killed.
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
        return say(f"{changed} was exchanged while the program was about to start; nothing was run")
    return attend(order, arguments[1:])


def moved(expected: Sequence[tuple[str, int, int]]) -> str | None:
    """The first path that is not the very file or folder it was when the gateway looked."""
    for path, device, inode in expected:
        try:
            found = os.lstat(path)
        except OSError:
            return path
        if (found.st_dev, found.st_ino) != (device, inode):
            return path
    return None


def attend(order: Order, command: Sequence[str]) -> int:
    """Start the program, take in orphans, say how it ended, and end what is left."""
    adopt_orphans()
    # The lifeline tells of the helper's end: a signal would leave nobody to end what the program started.
    outlive_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    woken, wakes = os.pipe()
    for fd in (woken, wakes):
        os.set_blocking(fd, False)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    # This process keeps rights that the program gives up: it could be made to use them, if it were traced.
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
    """Wait until nothing is left to stay for, or the helper outside is gone."""
    eyes = select.poll()
    eyes.register(LIFELINE, select.POLLIN)
    eyes.register(woken, select.POLLIN)
    while LIFELINE not in dict(eyes.poll()):
        os.read(woken, 4096)
        if not took_in(child, lingers):
            return


def took_in(child: int, lingers: bool) -> bool:
    """Take in all that has ended, and say how the program did; False when nothing is left to stay for."""
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
    """Be the program; returns only if that fails."""
    die_with_parent()
    if os.getppid() != attendant:
        return CANNOT
    os.setsid()
    os.nice(_NICE)
    limit(resource.RLIMIT_CORE, 0)
    # What is reserved and never used does not count, as it would for RLIMIT_AS; some reserve a lot.
    limit(resource.RLIMIT_DATA, order["memory"] * MEGABYTE)
    # Counted for the whole user, and not at all for root: there only the guard outside looks.
    limit(resource.RLIMIT_NPROC, order["processes"] + processes_of(os.getuid()))
    place = enter(order["cwd"], order["workspace"])
    try:
        give_up(order)
    except KernelRefused as error:
        return say(f"it could not be contained: {error}")
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
    """Every right beyond those the order names."""
    if not order["contained"]:
        return
    gain_nothing()
    drop_capabilities()
    if order["rules"]:
        restrict(order["rules"])
    filter_calls(bytes.fromhex(order["filter"]))


def enter(folder: str, workspace: str) -> str:
    """Begin in this folder, or in the workspace; says so then."""
    with suppress(OSError):
        os.chdir(folder)
        return ""
    os.chdir(workspace)
    return f"[{folder} is not there any more; this began in the workspace instead]\n"


def say(words: str) -> int:
    os.write(2, f"{words}\n".encode())
    return CANNOT
