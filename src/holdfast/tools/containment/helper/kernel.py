"""The few kernel calls that Python has no name for."""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import struct
from contextlib import suppress

_PDEATHSIG, _DUMPABLE, _SUBREAPER, _NO_NEW_PRIVS, _SECCOMP, _FILTER = 1, 4, 36, 38, 22, 2
_BOUNDING_DROP, _AMBIENT, _AMBIENT_CLEAR = 24, 47, 4
_CAPABILITIES = 64
_CAPABILITY_VERSION = 0x20080522
_CAPSET = {"x86_64": 126, "aarch64": 91}


class KernelRefused(Exception):
    """The kernel does not allow or does not know the call."""


def call(name: str, *arguments: object) -> int:
    """Call the C library; `KernelRefused` when it answers below 0, or has no such function."""
    try:
        function = getattr(ctypes.CDLL(None, use_errno=True), name)
    except (OSError, AttributeError) as error:
        raise KernelRefused(f"there is no {name}") from error
    answer = int(function(*arguments))
    if answer < 0:
        raise KernelRefused(f"{name}: {os.strerror(ctypes.get_errno())}")
    return answer


def system_call(number: int, *arguments: object) -> int:
    """Make a system call that the C library has no function for."""
    return call("syscall", ctypes.c_long(number), *arguments)


def prctl(option: int, first: int = 0, second: int = 0) -> None:
    call("prctl", option, ctypes.c_ulong(first), ctypes.c_ulong(second), 0, 0)


def die_with_parent(number: int = signal.SIGKILL) -> None:
    """Let the kernel send this signal when the parent ends."""
    with suppress(KernelRefused):
        prctl(_PDEATHSIG, number)


def outlive_parent() -> None:
    """Let the kernel send no signal when the parent ends."""
    with suppress(KernelRefused):
        prctl(_PDEATHSIG, 0)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends."""
    with suppress(KernelRefused):
        prctl(_SUBREAPER, 1)


def close_memory() -> None:
    """Let no process of the same user trace this one or read its memory; its children can be traced."""
    with suppress(KernelRefused):
        prctl(_DUMPABLE, 0)


def gain_nothing() -> None:
    """No program that this process starts from now on gets more rights than it has."""
    prctl(_NO_NEW_PRIVS, 1)


def drop_capabilities() -> None:
    """Drop every right of root, for good; raises `KernelRefused` if that fails."""
    if os.geteuid() != 0:
        return
    for capability in range(_CAPABILITIES):
        # This kernel may not know every number.
        with suppress(KernelRefused):
            prctl(_BOUNDING_DROP, capability)
    with suppress(KernelRefused):
        prctl(_AMBIENT, _AMBIENT_CLEAR)
    header = ctypes.create_string_buffer(struct.pack("Ii", _CAPABILITY_VERSION, 0))
    none = ctypes.create_string_buffer(struct.pack("6I", *[0] * 6))
    number = _CAPSET.get(platform.machine())
    if number is None:
        raise KernelRefused("the rights of root cannot be dropped on this machine")
    system_call(number, header, none)


def filter_calls(program: bytes) -> None:
    """Refuse the system calls that the filter names, in this process and everything it starts."""
    if program:
        code = ctypes.create_string_buffer(program)
        header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
        call("prctl", _SECCOMP, _FILTER, ctypes.create_string_buffer(header), 0, 0)
