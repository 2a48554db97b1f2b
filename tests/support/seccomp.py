"""Making system calls of this process fail for real, on Linux, without privileges or a compiler."""

import ctypes
import errno
import platform
import struct
import sys

# Of each machine: its name for the kernel's audit, and the numbers of fsync and fdatasync.
_MACHINES = {"x86_64": (0xC000003E, (74, 75)), "aarch64": (0xC00000B7, (82, 83))}

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _FILTER = 38, 22, 2
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _FAIL_WITH = 0x7FFF0000, 0x00050000


def syncs_can_be_made_to_fail() -> bool:
    return sys.platform == "linux" and platform.machine() in _MACHINES


def make_syncs_fail() -> None:
    """From now on this thread, and every thread it starts, gets EIO from fsync and fdatasync."""
    arch, calls = _MACHINES[platform.machine()]
    steps = [
        (_LOAD, 0, 0, 4),
        (_JUMP_IF_EQUAL, 0, 3, arch),
        (_LOAD, 0, 0, 0),
        (_JUMP_IF_EQUAL, 2, 0, calls[0]),
        (_JUMP_IF_EQUAL, 1, 0, calls[1]),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _FAIL_WITH | errno.EIO),
    ]
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    header = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(program)))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    for arguments in ((_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (_PR_SET_SECCOMP, _FILTER, header, 0, 0)):
        if prctl(*arguments):
            raise OSError(ctypes.get_errno(), "the filter was refused")
