"""A small binding of Landlock: which files a process and everything it starts may use.

https://docs.kernel.org/userspace-api/landlock.html
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Sequence
from contextlib import suppress

from .kernel import KernelRefused, system_call

READ, WRITE = "read", "write"
SCOPED = 6
"""The first version of Landlock that also keeps signals and abstract sockets inside."""
_CREATE, _ADD, _RESTRICT = 444, 445, 446
_VERSION = 1
_BENEATH = 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_CHAR, _MAKE_BLOCK = 1 << 6, 1 << 11
_REFER, _TRUNCATE, _IOCTL = 1 << 13, 1 << 14, 1 << 15
_FIRST = (1 << 13) - 1
_SINCE = ((2, _REFER), (3, _TRUNCATE), (5, _IOCTL))
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL
_SCOPES = 0b11

Rule = tuple[str, str]
"""A path and the access beneath it: `READ` or `WRITE`."""


def version() -> int:
    """The version of Landlock in this kernel; 0 without Landlock."""
    with suppress(KernelRefused):
        return system_call(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION))
    return 0


def restrict(rules: Sequence[Rule]) -> None:
    """Allow this process the files of the rules and no others; rules for absent paths have no effect.

    `gain_nothing` must come first. Raises `KernelRefused` if the kernel refuses.
    """
    known = version()
    handled = _FIRST | sum(bit for since, bit in _SINCE if known >= since)
    attributes = [handled, 0, _SCOPES if known >= SCOPED else 0]
    size = 24 if known >= SCOPED else 16 if known >= 4 else 8
    made = ctypes.create_string_buffer(struct.pack("3Q", *attributes))
    ruleset = system_call(_CREATE, made, ctypes.c_size_t(size), ctypes.c_uint32(0))
    try:
        for path, access in rules:
            _add(ruleset, path, access, handled)
        system_call(_RESTRICT, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    finally:
        os.close(ruleset)


def _add(ruleset: int, path: str, access: str, handled: int) -> None:
    try:
        beneath = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        allowed = _EXECUTE | _READ_FILE | _READ_DIR
        if access == WRITE:
            # No program may make devices.
            allowed = handled & ~(_MAKE_CHAR | _MAKE_BLOCK)
        if not stat.S_ISDIR(os.fstat(beneath).st_mode):
            allowed &= _OF_FILES
        rule = ctypes.create_string_buffer(struct.pack("=Qi", allowed & handled, beneath))
        system_call(_ADD, ctypes.c_int(ruleset), _BENEATH, rule, ctypes.c_uint32(0))
    finally:
        os.close(beneath)
