"""A filter of system calls by which a command cannot reach the gateway where it can see it.

Refused is what signals, traces, reads the memory of or limits one of these processes. A filter cannot follow
a path: what stands in files, and under /proc, is not its business.
"""

from __future__ import annotations

import errno
import os
import platform
import struct
import sys
from contextlib import suppress

# Of each machine: its name for the kernel's audit, and for each call the argument that names a process.
_CALLS = {
    "x86_64": (
        0xC000003E,
        {62: 0, 234: 0, 200: 0, 129: 0, 297: 0, 434: 0, 101: 1, 310: 0, 311: 0, 302: 0},
    ),
    "aarch64": (
        0xC00000B7,
        {129: 0, 131: 0, 130: 0, 138: 0, 240: 0, 434: 0, 117: 1, 270: 0, 271: 0, 261: 0},
    ),
}
_BY_HANDLE = 424
"""Signals by a handle, which does not say whom: whoever is refused this asks in the old way."""
_X32 = 0x40000000
_WORD = 0xFFFFFFFF
_LOAD, _EQUAL, _AT_LEAST, _GO, _RETURN = 0x20, 0x15, 0x35, 0x05, 0x06
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000

_Step = tuple[int, int, int, int]


def shield(pids: tuple[int, ...]) -> bytes:
    """The filter for these processes, as the kernel takes it; empty on a machine it is not known for."""
    if sys.platform != "linux" or sys.byteorder != "little" or platform.machine() not in _CALLS:
        return b""
    audit, calls = _CALLS[platform.machine()]
    reached = sorted({number for pid in pids for number in _reaches(pid)} | {_WORD})
    unknown, refused = (_RETURN, 0, 0, _FAIL | errno.ENOSYS), (_RETURN, 0, 0, _FAIL | errno.EPERM)
    steps: list[_Step] = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, audit), unknown, (_LOAD, 0, 0, 0)]
    steps += [(_AT_LEAST, 0, 1, _X32), unknown, (_EQUAL, 0, 1, _BY_HANDLE), unknown]
    tests: list[_Step] = [step for number in reached for step in ((_EQUAL, 0, 1, number), refused)]
    for call, argument in calls.items():
        body = [(_LOAD, 0, 0, 16 + 8 * argument), *tests, (_RETURN, 0, 0, _ALLOW)]
        steps += [(_EQUAL, 1, 0, call), (_GO, 0, 0, len(body)), *body]
    steps.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("HBBI", *step) for step in steps)


def _reaches(pid: int) -> set[int]:
    """Every number by which a process can be meant: itself, its threads, its group."""
    found = {pid, -pid & _WORD}
    # One that is gone nobody can reach any more.
    with suppress(OSError):
        found.add(-os.getpgid(pid) & _WORD)
        found.update(int(thread) for thread in os.listdir(f"/proc/{pid}/task"))
    return found
