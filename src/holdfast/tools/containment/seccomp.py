"""A filter of system calls: it refuses what neither namespaces nor Landlock can refuse.

Everywhere it refuses kernel keys, which belong to the user and the login in every namespace; memory that no
process has mapped, which no counter sees; and `io_uring`, which could bypass the filter.

Where Landlock alone contains a program, it refuses more. `connect` reaches sockets with a path (those of the
gateway, Docker, the desktop), and Landlock does not see that. So a program can make no such sockets at all,
and no pairs of the one kind that can send elsewhere. It cannot change limits, priorities and processors of
other processes. Memory shared by number, which outlives a program and may belong to another, is refused.
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
    pair: int
    prlimit: int
    priority: int
    io_priority: int
    scheduling: tuple[int, ...]
    """Calls whose first argument is the process to act on."""
    keys: tuple[int, ...]
    memory: tuple[int, ...]
    """Files in memory without a name."""
    shared: int
    """The call that makes shared memory; its second argument is the size."""
    by_number: tuple[int, ...]
    """Shared memory, semaphores and queues named by a number."""


_KNOWN = {
    "x86_64": _Calls(
        audit=0xC000003E,
        socket=41,
        pair=53,
        prlimit=302,
        priority=141,
        io_priority=251,
        scheduling=(142, 144, 203, 314),
        keys=(248, 249, 250),
        memory=(319, 447),
        shared=29,
        by_number=(29, 30, 31, 64, 65, 66, 68, 69, 70, 71, 220),
    ),
    "aarch64": _Calls(
        audit=0xC00000B7,
        socket=198,
        pair=199,
        prlimit=261,
        priority=140,
        io_priority=30,
        scheduling=(118, 119, 122, 274),
        keys=(217, 218, 219),
        memory=(279, 447),
        shared=194,
        by_number=(186, 187, 188, 189, 190, 191, 192, 193, 194, 195, 196),
    ),
}
_IO_URING = (425, 426, 427)
_X32 = 0x40000000
_UNIX, _DATAGRAM, _KIND_OF_SOCKET = 1, 2, 0xF
_OF_USER, _IO_OF_USER = 2, 3
_LARGEST_SHARED = 65_536
"""Bytes of one piece; databases ask for a few bytes each, and a system allows a few thousand pieces."""
_LOAD, _AND, _EQUAL, _ABOVE, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x25, 0x35, 0x06
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000
_NUMBER, _AUDIT, _FIRST, _SECOND, _SECOND_HIGH = 0, 4, 16, 24, 28

_Step = tuple[int, int, int, int]
_allow: _Step = (_RETURN, 0, 0, _ALLOW)
_unknown: _Step = (_RETURN, 0, 0, _FAIL | errno.ENOSYS)
_refused: _Step = (_RETURN, 0, 0, _FAIL | errno.EACCES)
_full: _Step = (_RETURN, 0, 0, _FAIL | errno.ENOSPC)


def call_filter(network: bool, alone: bool = True, machine: str = platform.machine()) -> bytes | None:
    """The filter in the kernel's format; None on a machine it is not known for.

    `alone`: only Landlock contains the program.
    """
    calls = _KNOWN.get(machine)
    if calls is None or sys.byteorder != "little" or sys.platform != "linux":
        return None
    steps: list[_Step] = [(_LOAD, 0, 0, _AUDIT), (_EQUAL, 1, 0, calls.audit), _unknown]
    steps += [(_LOAD, 0, 0, _NUMBER), (_AT_LEAST, 0, 1, _X32), _unknown]
    for number in (*_IO_URING, *calls.keys, *calls.memory, *(calls.by_number if alone else ())):
        steps += _when(number, _unknown)
    steps += _beside_landlock(calls, network) if alone else _shared(calls)
    steps.append(_allow)
    return b"".join(struct.pack("HBBI", *step) for step in steps)


def _shared(calls: _Calls) -> list[_Step]:
    size = [(_LOAD, 0, 0, _SECOND_HIGH), (_EQUAL, 1, 0, 0), _full]
    size += [(_LOAD, 0, 0, _SECOND), (_ABOVE, 0, 1, _LARGEST_SHARED), _full, _allow]
    return _when(calls.shared, *size)


def _beside_landlock(calls: _Calls, network: bool) -> list[_Step]:
    # Sockets: none with a path; without a network none at all. A pair is connected for good, unless it is
    # a pair of datagrams, which go to any address they name.
    family = [(_EQUAL, 0, 1, _UNIX), _refused, _allow] if network else [_refused]
    steps = _when(calls.socket, (_LOAD, 0, 0, _FIRST), *family)
    kind = [(_LOAD, 0, 0, _SECOND), (_AND, 0, 0, _KIND_OF_SOCKET), (_EQUAL, 0, 1, _DATAGRAM)]
    steps += _when(calls.pair, *kind, _refused, _allow)
    # Only for the process itself, which is process 0, and never for all processes of the user.
    only_own = [(_EQUAL, 1, 0, 0), _refused, _allow]
    for number in (calls.prlimit, *calls.scheduling):
        steps += _when(number, (_LOAD, 0, 0, _FIRST), *only_own)
    for number, of_user in ((calls.priority, _OF_USER), (calls.io_priority, _IO_OF_USER)):
        whose = [(_LOAD, 0, 0, _FIRST), (_EQUAL, 0, 1, of_user), _refused, (_LOAD, 0, 0, _SECOND)]
        steps += _when(number, *whose, *only_own)
    return steps


def _when(number: int, *block: _Step) -> list[_Step]:
    """The steps for one call; a block ends with a return."""
    return [(_EQUAL, 0, len(block), number), *block]
