"""Runs inside a limited child, as a file by itself: drops every right a parser does not need, then parses.

    child_limits.py PARSER FUNCTION CPU MEMORY

PARSER is a Python file, FUNCTION a function of bytes to bytes in it. The input comes from the standard
input, the result goes to the standard output. CPU is in seconds, MEMORY in bytes.
"""

from __future__ import annotations

import contextlib
import os
import resource
import runpy
import sys
from collections.abc import Callable

TOO_LARGE = 3
"""The exit code of a parser that ran out of memory."""
_NICE = 10


def give_up(cpu: int, memory: int) -> None:
    """Allow no files and no processes, and only this much time and memory, whatever the parser does."""
    limits = {
        resource.RLIMIT_CPU: cpu,
        resource.RLIMIT_AS: memory,
        resource.RLIMIT_NOFILE: 0,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NPROC: 0,
        resource.RLIMIT_CORE: 0,
    }
    for which, most in limits.items():
        # Not every system knows all of them; the deadline and the limits of the parent hold everywhere.
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(which, (most, most))
    os.nice(_NICE)


def main(parser: str, function: str, cpu: str, memory: str) -> int:
    parse: Callable[[bytes], bytes] = runpy.run_path(parser)[function]
    give_up(int(cpu), int(memory))
    try:
        result = parse(sys.stdin.buffer.read())
    except (MemoryError, RecursionError):
        return TOO_LARGE
    sys.stdout.buffer.write(result)
    sys.stdout.buffer.flush()
    return 0


if __name__ == "__main__":
    # Exit at once: Python would first free everything that the parser built, piece by piece.
    os._exit(main(*sys.argv[1:]))
