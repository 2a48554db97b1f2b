"""Runs one command and answers for all that it begins. A program of its own: nothing of Holdfast is imported.

It is told what to run by a line of JSON on its input, which then stays open: when that ends, because the
gateway wants the command's end or has itself ended in whatever way, everything the command has begun is
killed. What the command puts out goes to the guard's own output; how it ended is a line of JSON on its
error output.

Where Linux allows it the command is *contained*: in a namespace of processes in which it is alone, so that it
sees and signals nothing else, and which dies as a whole; the gateway's home is not there, but for the
workspace. Elsewhere it is *guarded*: what it begins is inherited by the guard, however it detaches itself,
and killed by it; system calls that would signal or trace the gateway are refused.
"""

from __future__ import annotations

import ctypes
import itertools
import json
import os
import resource
import select
import signal
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

Order = dict[str, Any]
"""What to run: see `terminal.py`, which gives it."""

LOOK_EVERY = 20
"""Milliseconds between two looks: what multiplies has to be seen before it is many."""
MEMORY_EVERY = 10
"""Looks after which the memory is looked at, too."""
MEGABYTE = 1_048_576
_CWD = 3
_NO_STATUS = 125
_NICE = 5
_SHELL = 'trap "pwd -P >&3" EXIT\neval "$1"'

_PDEATHSIG, _SUBREAPER, _NO_NEW_PRIVS, _SECCOMP, _FILTER, _DROP = 1, 36, 38, 22, 2, 24
_NEWNS, _NEWUSER, _NEWPID = 0x00020000, 0x10000000, 0x20000000
_NOSUID, _NODEV, _NOEXEC, _BIND, _REC, _PRIVATE = 2, 4, 8, 4096, 16384, 1 << 18
# Capabilities with which root could undo what is done here: modules, raw memory, tracing, mounts, limits.
_UNDOING = (16, 17, 19, 21, 24)


class Refused(Exception):
    """The machine does not allow it."""


def libc(name: str, *arguments: object) -> None:
    """Call the C library; raises `Refused` when it says no, or has no such thing."""
    try:
        call = getattr(ctypes.CDLL(None, use_errno=True), name)
    except (OSError, AttributeError) as error:
        raise Refused(f"there is no {name}") from error
    if call(*arguments) != 0:
        code = ctypes.get_errno()
        raise Refused(f"{name}: {os.strerror(code)}")


def prctl(option: int, value: int = 0) -> None:
    libc("prctl", option, ctypes.c_ulong(value), 0, 0, 0)


def die_with(parent: int) -> None:
    """Be killed when the parent ends; it may have ended already. 0 is one of another namespace."""
    prctl(_PDEATHSIG, signal.SIGKILL)
    if parent and os.getppid() != parent:
        os._exit(_NO_STATUS)


def mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    def c(text: str | None) -> bytes | None:
        return None if text is None else os.fsencode(text)

    libc("mount", c(source), c(target), c(kind), ctypes.c_ulong(flags), c(data))


# The command itself.


def become_command(order: Order, cwd_out: int, shielded: bool) -> None:
    """In the process that is to be the command: give up what it may not have, and begin."""
    os.setsid()
    write("/proc/self/oom_score_adj", "1000")
    limit(resource.RLIMIT_CORE, 0)
    # What is reserved and never used does not count, as it would for RLIMIT_AS; some reserve a lot.
    limit(resource.RLIMIT_DATA, order["memory"] * MEGABYTE)
    # Counted for the whole user, and not at all for root: then only the guard looks.
    limit(resource.RLIMIT_NPROC, order["processes"] + processes_of(os.getuid()))
    # The gateway, and its guard, go first.
    os.nice(_NICE)
    # Elsewhere than on Linux there is neither.
    with suppress(Refused):
        prctl(_NO_NEW_PRIVS, 1)
        shield(bytes.fromhex(order["shield"]) if shielded else b"")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(1, 2)
    os.dup2(cwd_out, _CWD)
    os.set_inheritable(_CWD, True)
    os.closerange(_CWD + 1, 256)
    for number in (signal.SIGPIPE, signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.chdir(order["cwd"])
    except OSError as error:
        os.write(1, f"[{order['cwd']}: {error.strerror}; this began in the workspace instead]\n".encode())
        os.chdir(order["show"])
    shell = order["shell"]
    flags = ["--noprofile", "--norc"] if shell.endswith("bash") else []
    os.execv(shell, [shell, *flags, "-c", _SHELL, shell, order["command"]])


def write(path: str, text: str) -> bool:
    """Write a word to the kernel, if it takes it."""
    try:
        with open(path, "w") as file:
            file.write(text)
    except OSError:
        return False
    return True


def limit(what: int, most: int) -> None:
    _, hard = resource.getrlimit(what)
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(what, (most, most))


def processes_of(user: int) -> int:
    """How many processes and threads a user has."""
    count = 0
    for pid in os.listdir("/proc") if os.path.isdir("/proc") else ():
        with suppress(OSError):
            if pid.isdigit() and os.stat(f"/proc/{pid}").st_uid == user:
                count += len(os.listdir(f"/proc/{pid}/task"))
    return count


# Contained: a namespace of processes that dies with its first.


def contain(order: Order, ready: int, cwd_out: int) -> None:
    """In the child of the guard: make the namespaces, and wait for the first process in them."""
    uid, gid = os.geteuid(), os.getegid()
    libc("unshare", _NEWNS | _NEWPID | (0 if uid == 0 else _NEWUSER))
    if uid != 0:
        write("/proc/self/setgroups", "deny")
        for who, id_ in (("uid", uid), ("gid", gid)):
            if not write(f"/proc/self/{who}_map", f"{id_} {id_} 1"):
                raise Refused("no mapping of users")
    # Only now: changing what one may do takes this back.
    die_with(os.getppid())
    first = os.fork()
    if first == 0:
        answer_for(lambda: first_process(order, ready, cwd_out))
    os.close(ready)
    os.waitpid(first, 0)
    os._exit(0)


def first_process(order: Order, ready: int, cwd_out: int) -> None:
    """The first of its namespace: what it began, and everything below, ends with it."""
    die_with(0)
    mount(None, "/", None, _REC | _PRIVATE)
    mount("proc", "/proc", "proc", _NOSUID | _NODEV | _NOEXEC)
    hide(order)
    if os.geteuid() == 0:
        for capability in _UNDOING:
            prctl(_DROP, capability)
    command = os.fork()
    if command == 0:
        os.close(ready)
        answer_for(lambda: become_command(order, cwd_out, shielded=False))
    os.write(ready, b"!")
    os.close(cwd_out)
    while True:
        pid, status = os.wait()
        if pid == command:
            os.write(ready, json.dumps(status).encode())
            os._exit(0)


def hide(order: Order) -> None:
    """Lay an empty folder over the gateway's home, with only the workspace in it."""
    home, show = order["hide"], order["show"]
    if not home:
        return
    shown = os.open(show, os.O_RDONLY | os.O_DIRECTORY)
    mount("holdfast", home, "tmpfs", _NOSUID | _NODEV, "size=64m,mode=700")
    os.makedirs(show, 0o700, exist_ok=True)
    mount(f"/proc/self/fd/{shown}", show, None, _BIND | _REC)
    os.close(shown)


def answer_for(work: Callable[[], None]) -> NoReturn:
    """Do the work of a process that has nobody above it: it ends here, whatever happens."""
    try:
        work()
    except BaseException as error:  # noqa: BLE001 - there is nobody above it: what went wrong is told below
        os.write(2, f"{error!r}\n".encode())
    os._exit(_NO_STATUS)


def shield(program: bytes) -> None:
    """Refuse, from now on and for all that is begun, the system calls that this filter knows."""
    if program:
        code = ctypes.create_string_buffer(program)
        header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
        libc("prctl", _SECCOMP, _FILTER, ctypes.create_string_buffer(header), 0, 0)


# The guard.


def below(pid: int, most: int = sys.maxsize) -> list[int]:
    """What a process has begun that still is, itself left out; no more than about so many."""
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
    """Kill everything below us until there is nothing left; what is orphaned comes to us.

    `first` leads the command's group, or is the first process of its namespace: one blow ends what has not
    gone away from it, however fast it multiplies.
    """
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for meant in (-first, first):
            kill(meant, number)
    while True:
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                continue
        found = below(os.getpid())
        # Stopped first, so that none begins another while its fellows are killed.
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in found:
                kill(pid, number)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def kill(pid: int, number: int) -> None:
    with suppress(OSError):
        os.kill(pid, number)


def used(pids: list[int]) -> int:
    """Megabytes that these use together, or less: what they share counts for each of them."""
    pages = sum(number(f"/proc/{pid}/statm", 1) for pid in pids)
    return pages * resource.getpagesize() // MEGABYTE


def used_exactly(pids: list[int]) -> int:
    """The same, with what they share counted once; this takes longer to find out."""
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/smaps_rollup") as file:
                total += sum(int(line.split()[1]) for line in file if line.startswith("Pss:"))
        except OSError:
            continue
    return total // 1024


def number(path: str, place: int) -> int:
    try:
        with open(path) as file:
            return int(file.read().split()[place])
    except (OSError, ValueError, IndexError):
        return 0


def too_much(order: Order, look: int, usual: int) -> str | None:
    """What the command and all that it has begun use more of than they may."""
    # How many there are on the whole machine costs nothing to ask.
    many = processes() - usual > order["processes"]
    if many and len(below(os.getpid(), order["processes"])) > order["processes"]:
        return "processes"
    if look % MEMORY_EVERY == 0:
        pids = below(os.getpid())
        if len(pids) > order["processes"]:
            return "processes"
        if used(pids) > order["memory"] and used_exactly(pids) > order["memory"]:
            return "memory"
    return None


def processes() -> int:
    return os.stat("/proc").st_nlink if sys.platform == "linux" else 0


def watch(order: Order, child: int, woken: int) -> tuple[str | None, int | None]:
    """Wait for the end of the command; says why it was ended, if it was, and how it ended by itself."""
    eyes = select.poll()
    eyes.register(0, select.POLLIN | select.POLLHUP)
    eyes.register(woken, select.POLLIN)
    usual = processes()
    for look in itertools.count():
        events = dict(eyes.poll(LOOK_EVERY))
        if woken in events:
            os.read(woken, 4096)
        status = reaped(child)
        if status is not None:
            return None, status
        if 0 in events and not os.read(0, 4096):
            return "asked", None
        over = too_much(order, look, usual)
        if over:
            return over, None
    raise AssertionError("counting never ends")


def reaped(child: int) -> int | None:
    """Take in all that has ended; how the child did, if it has."""
    with suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            if found[0] == child:
                return found[1]
    return None


def attempt(order: Order, contained: bool, woken: int) -> dict[str, object] | None:
    """Run the command in one of the two ways; None when the machine does not allow the first."""
    cwd_in, cwd_out = os.pipe()
    ready_in, ready_out = os.pipe()
    guard = os.getpid()
    child = os.fork()
    if child == 0:
        os.close(ready_in)
        os.close(cwd_in)
        if contained:
            answer_for(lambda: contain(order, ready_out, cwd_out))
        os.close(ready_out)
        answer_for(lambda: guarded(order, cwd_out, guard))
    os.close(ready_out)
    os.close(cwd_out)
    if contained and os.read(ready_in, 1) != b"!":
        os.waitpid(child, 0)
        return None
    why, status = watch(order, child, woken)
    end_all(next(iter(below(child)), child) if contained else child)
    if contained and why is None:
        status = int(os.read(ready_in, 64) or b"-1")
    os.set_blocking(cwd_in, False)
    return {"contained": contained, "cwd": last_line(cwd_in), **ended(why, status)}


def guarded(order: Order, cwd_out: int, guard: int) -> None:
    """In the child of the guard, where it cannot be contained: begin, and die with the guard."""
    with suppress(Refused):
        die_with(guard)
    become_command(order, cwd_out, shielded=True)


def ended(why: str | None, status: int | None) -> dict[str, object]:
    if why is not None:
        return {"ended": why}
    if status is None or status < 0:
        return {"ended": "lost"}
    code = os.waitstatus_to_exitcode(status)
    return {"signal": -code} if code < 0 else {"exit": code}


def last_line(fd: int) -> str | None:
    try:
        lines = os.read(fd, 65_536).decode("utf-8", "surrogateescape").splitlines()
    except BlockingIOError:
        return None
    return lines[-1] if lines else None


def read_order() -> Order:
    data = b""
    while not data.endswith(b"\n"):
        more = os.read(0, 65_536)
        if not more:
            sys.exit(_NO_STATUS)
        data += more
    order: Order = json.loads(data)
    return order


def main() -> None:
    order = read_order()
    # What a terminal sends to the gateway's group is not for us: our end comes with our input's.
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(ignored, signal.SIG_IGN)
    woken, wakes = os.pipe()
    for fd in (woken, wakes):
        os.set_blocking(fd, False)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    with suppress(Refused):
        prctl(_SUBREAPER, 1)
    ways = (True, False) if order["contain"] and sys.platform == "linux" else (False,)
    found = None
    for contained in ways:
        found = found or attempt(order, contained, woken)
    os.write(2, json.dumps(found).encode() + b"\n")


if __name__ == "__main__":
    main()
