"""Runs one command of a terminal and ends all that it started.

A line of JSON on the input says what to run: `{"argv": [...], "memory": MB, "processes": N}`.
The input then stays open. It ends when the gateway wants the command to end, or when the gateway itself ends.
Then this program kills everything that the command started. The output of the command goes to this program's
own output. A line of JSON on the error output says how the command ended.
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

LOOK_EVERY = 20
_CWD = 3
_NO_STATUS = 125

Order = dict[str, Any]


def main(_arguments: list[str]) -> int:
    order = read_order()
    if order is None:
        return _NO_STATUS
    # Ctrl-C in a terminal reaches the whole group of the gateway. This process ends when its input ends.
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(ignored, signal.SIG_IGN)
    woken, wakes = os.pipe()
    for fd in (woken, wakes):
        os.set_blocking(fd, False)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    adopt_orphans()
    os.write(2, json.dumps(run(order, woken)).encode() + b"\n")
    return 0


def run(order: Order, woken: int) -> dict[str, object]:
    cwd_in, cwd_out = os.pipe()
    status_in, status_out = os.pipe()
    nothing = os.open(os.devnull, os.O_RDONLY)
    child = start(order["argv"], {0: nothing, 1: 1, 2: 2, _CWD: cwd_out, STATUS: status_out})
    for ours in (cwd_out, status_out, nothing):
        os.close(ours)
    why, status = watch(UsageWatch(order["memory"], order["processes"], LOOK_EVERY), child, woken)
    end_all(child)
    if why is None:
        said = status_from(status_in)
        status = status if said is None else said
    return {"cwd": last_line(cwd_in), **ended(why, status)}


def watch(usage: UsageWatch, child: int, woken: int) -> tuple[str | None, int | None]:
    """Wait for the command: why it has to be ended, or its exit status if it ended by itself."""
    eyes = select.poll()
    eyes.register(0, select.POLLIN | select.POLLHUP)
    eyes.register(woken, select.POLLIN)
    while True:
        events = dict(eyes.poll(usage.every))
        if woken in events:
            os.read(woken, 4096)
        status = reaped(child)
        if status is not None:
            return None, status
        if 0 in events and not os.read(0, 4096):
            return "asked", None
        over = usage.over()
        if over:
            return over, None


def reaped(child: int) -> int | None:
    """Collect every ended process; the status of the child if it is one of them."""
    try:
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            if found[0] == child:
                return found[1]
    except ChildProcessError:
        return None
    return None


def ended(why: str | None, status: int | None) -> dict[str, object]:
    if why is not None or status is None:
        return {"ended": why or "lost"}
    code = os.waitstatus_to_exitcode(status)
    return {"signal": -code} if code < 0 else {"exit": code}


def last_line(fd: int) -> str | None:
    os.set_blocking(fd, False)
    try:
        lines = os.read(fd, 65_536).decode("utf-8", "surrogateescape").splitlines()
    except BlockingIOError:
        return None
    return lines[-1] if lines else None


def read_order() -> Order | None:
    data = b""
    while not data.endswith(b"\n"):
        more = os.read(0, 65_536)
        if not more:
            return None
        data += more
    order: Order = json.loads(data)
    return order
