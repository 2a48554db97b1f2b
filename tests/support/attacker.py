"""What code of an agent tries against its gateway. Run as a program, contained: it says what it reached.

    attacker.py FACTS

FACTS is JSON: what the test has laid out for it. Each line of output is one thing that it could do and should
not have been able to; the last line is `over`.
"""

import ctypes
import json
import os
import signal
import socket
import stat
import sys
from collections.abc import Callable
from typing import Any

Facts = dict[str, Any]


def say(words: str) -> None:
    sys.stdout.write(f"REACHED {words}\n")


def attempt(words: str, what: Callable[..., object], *arguments: object) -> None:
    """Try it; without words only to try it."""
    try:
        what(*arguments)
    except OSError:
        return
    if words:
        say(words)


def read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(10)


def touch(path: str, flags: int = os.O_RDONLY | os.O_NONBLOCK) -> None:
    os.close(os.open(path, flags, 0o600))


def read_by_link(path: str) -> None:
    os.symlink(path, "link")
    try:
        read("link")
    finally:
        os.unlink("link")


def replace(path: str) -> None:
    touch("mine", os.O_CREAT | os.O_WRONLY)
    os.rename("mine", path)


def signal_by_handle(pid: int) -> None:
    signal.pidfd_send_signal(os.pidfd_open(pid), 0)


def connect(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(path)


def send(path: str) -> None:
    """By a pair: where no socket can be made, two that are connected may be, and theirs can go elsewhere."""
    ours, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with ours, other:
        ours.sendto(b"planted", path)


def system_call(number: int, *arguments: object) -> None:
    if ctypes.CDLL(None, use_errno=True).syscall(number, *arguments) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def reads(facts: Facts) -> None:
    """Files with secrets, directly and by detours."""
    for path in facts["secrets"]:
        attempt(f"read {path} by a link", read_by_link, path)
        for root in ("", "/proc/self/root", "/proc/1/root", f"/proc/{facts['gateway']}/root"):
            attempt(f"read {root}{path}", read, root + path)


def writes(facts: Facts) -> None:
    """Files that the gateway executes or trusts. They are only opened: a failing test breaks no machine."""
    for path in facts["trusted"]:
        attempt(f"open {path}", touch, path, os.O_WRONLY | os.O_APPEND)
        attempt(f"take {path}", os.link, path, f"taken-{os.path.basename(path)}")
    for path in facts["owned"]:
        # What becomes of these the test sees from outside.
        attempt("", os.rename, path, f"{path}.gone")
        attempt("", replace, path)
        attempt("", os.symlink, "/", os.path.join(os.path.dirname(path), "planted-link"))
        attempt("", touch, os.path.join(os.path.dirname(path), "planted"), os.O_CREAT | os.O_WRONLY)


def processes(facts: Facts) -> None:
    """Other processes: see, signal, trace, read their memory and environment, change their limits."""
    libc = ctypes.CDLL(None, use_errno=True)
    for pid in facts["processes"]:
        for name in ("environ", "maps", "cmdline", "status"):
            attempt(f"/proc/{pid}/{name}", read, f"/proc/{pid}/{name}")
        attempt(f"/proc/{pid}/fd", os.listdir, f"/proc/{pid}/fd")
        attempt(f"/proc/{pid}/mem", touch, f"/proc/{pid}/mem")
        for whom in (pid, -pid):
            attempt(f"signal 0 to {whom}", os.kill, whom, 0)
            attempt(f"signal to {whom}", os.kill, whom, signal.SIGCONT)
        attempt(f"handle of {pid}", signal_by_handle, pid)
        if libc.ptrace(16, pid, 0, 0) == 0:
            say(f"trace {pid}")
        attempt(f"processors of {pid}", lambda one: os.sched_setaffinity(one, os.sched_getaffinity(one)), pid)
        attempt(f"priority of {pid}", lambda one: os.setpriority(0, one, os.getpriority(0, one)), pid)
        if libc.prlimit(pid, 7, None, ctypes.create_string_buffer(16)) == 0:
            say(f"limits of {pid}")


def sockets(facts: Facts) -> None:
    for path in facts["sockets"]:
        attempt(f"socket {path!r}", connect, path)
    for path in facts["datagrams"]:
        attempt(f"datagrams to {path!r}", send, path)


def keys(facts: Facts) -> None:
    """Keys of the kernel: those of the login (-3), and those of the user (-4)."""
    asks = {"x86_64": 250, "aarch64": 219}.get(os.uname().machine)
    for whose in (-3, -4) if asks else ():
        attempt(f"keys {whose}", system_call, asks, 0, whose, 1)


def kernel(facts: Facts) -> None:
    """What only root could do, also without its rights: knobs that hold for the whole machine."""
    for path in ("/proc/sys/kernel/domainname", "/proc/sys/vm/stat_interval", "/sys/power/state"):
        attempt(f"write {path}", touch, path, os.O_WRONLY)
    for name in ("kmsg", "mem", "sda", "vda", "fuse"):
        attempt(f"device {name}", touch, f"/dev/{name}")
    attempt("make a device", os.mknod, "device", stat.S_IFBLK | 0o600, os.makedev(8, 0))
    attempt("", os.mkdir, "mounted")
    if ctypes.CDLL(None).mount(b"none", b"mounted", b"tmpfs", 0, None) == 0:
        ctypes.CDLL(None).umount2(b"mounted", 2)
        say("mount")
    with open("/proc/self/status") as file:
        rights = [line.split() for line in file if line.startswith(("CapEff", "CapPrm", "CapAmb"))]
    for name, value in rights:
        if int(value, 16):
            say(f"{name} {value}")


def main(facts: Facts) -> None:
    # Never at the kernel where nothing contains this program: root would change the machine.
    for attack in (reads, writes, processes, sockets, keys, *((kernel,) if facts["contained"] else ())):
        attack(facts)
    sys.stdout.write("over\n")


if __name__ == "__main__":
    with open(sys.argv[1]) as _file:
        main(json.load(_file))
