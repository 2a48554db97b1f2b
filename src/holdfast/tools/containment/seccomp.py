"""A filter of system calls for programs that Landlock alone contains: what Landlock cannot refuse.

Sockets with a path (the gateway's, Docker's, the desktop's) are reached by `connect`, which Landlock does not
see; so such sockets cannot be made at all. `prlimit` of other processes is refused, and `io_uring`, by which
a program could do both past the filter.
"""

from __future__ import annotations

import errno
import platform
import struct
import sys

from holdfast.records import dataclass


@dataclass(frozen=True, slots=True)
class _Calls:
    audit: int
    """The kernel's name for this kind of machine."""
    socket: int
    prlimit: int


_KNOWN = {"x86_64": _Calls(0xC000003E, 41, 302), "aarch64": _Calls(0xC00000B7, 198, 261)}
_IO_URING = (425, 426, 427)
_X32 = 0x40000000
_UNIX = 1
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000
_NUMBER, _AUDIT, _FIRST = 0, 4, 16

_Step = tuple[int, int, int, int]


def call_filter(network: bool, machine: str = platform.machine()) -> bytes | None:
    """The filter as the kernel takes it; None on a machine it is not known for."""
    calls = _KNOWN.get(machine)
    if calls is None or sys.byteorder != "little" or sys.platform != "linux":
        return None
    unknown, refused = (_RETURN, 0, 0, _FAIL | errno.ENOSYS), (_RETURN, 0, 0, _FAIL | errno.EACCES)
    allow = (_RETURN, 0, 0, _ALLOW)
    steps: list[_Step] = [(_LOAD, 0, 0, _AUDIT), (_EQUAL, 1, 0, calls.audit), unknown]
    steps += [(_LOAD, 0, 0, _NUMBER), (_AT_LEAST, 0, 1, _X32), unknown]
    for number in _IO_URING:
        steps += [(_EQUAL, 0, 1, number), unknown]
    # Sockets: none with a path; without a network none at all.
    family = [(_EQUAL, 0, 1, _UNIX), refused, allow] if network else [refused]
    steps += [(_EQUAL, 0, len(family) + 1, calls.socket), (_LOAD, 0, 0, _FIRST), *family]
    # Limits: only one's own, which is process 0.
    steps += [(_EQUAL, 0, 4, calls.prlimit), (_LOAD, 0, 0, _FIRST), (_EQUAL, 1, 0, 0), refused, allow]
    steps.append(allow)
    return b"".join(struct.pack("HBBI", *step) for step in steps)
