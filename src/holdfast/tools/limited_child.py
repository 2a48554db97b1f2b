"""Runs parsers of foreign files, each in a child process that can do no harm.

Each input gets a new child. It has no environment and no files, little memory and little time, and the
gateway kills it at its deadline. So no page, and later no PDF, can block the event loop, fill the memory or
end the gateway, whatever the parser does with it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from pathlib import Path

from holdfast.clock import Clock, in_time
from holdfast.records import dataclass

from . import child_limits

_AT_ONCE = 64 * 1024
_ENDS = 3.0
"""Seconds until a killed child is gone."""


class ChildFailed(Exception):
    """A child gave no result; the words say why."""


@dataclass(frozen=True, slots=True)
class ChildLimits:
    """What one child may use."""

    cpu: int = 10
    """Seconds of processor time."""
    deadline: float = 20.0
    """Seconds from the start to the end of a child."""
    memory: int = 512 * 1024 * 1024
    """Bytes, including the interpreter."""
    most_in: int = 16 * 1024 * 1024
    most_out: int = 8 * 1024 * 1024


class LimitedChildren:
    """Runs parsers, a few at a time; further ones wait."""

    def __init__(self, clock: Clock, limits: ChildLimits = ChildLimits(), at_once: int = 2) -> None:  # noqa: B008 - frozen
        self._clock = clock
        self._limits = limits
        self._turns = asyncio.Semaphore(at_once)

    async def run(self, parser: Path, function: str, data: bytes) -> bytes:
        """The result of `function` (bytes to bytes) in the file `parser`; raises `ChildFailed`."""
        limits = self._limits
        if len(data) > limits.most_in:
            raise ChildFailed(f"it has more than {limits.most_in} bytes")
        async with self._turns:
            child = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", child_limits.__file__, str(parser), function),
                *(str(limits.cpu), str(limits.memory)),
                stdin=PIPE,
                stdout=PIPE,
                stderr=DEVNULL,
                env={},
                cwd="/",
                start_new_session=True,
            )
            try:
                result = await in_time(self._clock, limits.deadline, _talk(child, data, limits.most_out))
            except TimeoutError:
                raise ChildFailed(f"reading it took longer than {limits.deadline:g} seconds") from None
            finally:
                await self._end(child)
        return _given(result, child.returncode, limits)

    async def _end(self, child: Process) -> None:
        """Kill the child if it still runs, and return when it is gone."""
        if child.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            # Bounded: another process may hold the pipe if the input took the parser over.
            with suppress(TimeoutError):
                await in_time(self._clock, _ENDS, _gone(child))


async def _gone(child: Process) -> None:
    """Read its output to the end: asyncio notices the end of the process only after that."""
    assert child.stdout is not None
    while await child.stdout.read(_AT_ONCE):
        continue
    await child.wait()


async def _talk(child: Process, data: bytes, most: int) -> bytes:
    """Give the input and read the output, at most one byte more than allowed."""
    assert child.stdin is not None
    assert child.stdout is not None
    giving = asyncio.ensure_future(_give(child.stdin, data))
    try:
        result = bytearray()
        while len(result) <= most and (piece := await child.stdout.read(_AT_ONCE)):
            result += piece
        if len(result) <= most:
            await child.wait()
        return bytes(result)
    finally:
        giving.cancel()


async def _give(stdin: asyncio.StreamWriter, data: bytes) -> None:
    # The exit code says why a child ended before it read everything.
    with suppress(ConnectionError):
        stdin.write(data)
        await stdin.drain()
        stdin.close()


def _given(result: bytes, code: int | None, limits: ChildLimits) -> bytes:
    if len(result) > limits.most_out:
        raise ChildFailed(f"its text has more than {limits.most_out} bytes")
    if code == child_limits.TOO_LARGE:
        raise ChildFailed(f"reading it takes more than {limits.memory // 1024 // 1024} MB of memory")
    if code:
        raise ChildFailed(f"reading it takes more than {limits.cpu} seconds, or it cannot be read at all")
    return result
