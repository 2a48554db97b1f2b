"""Time and chance: these ports are the only source of both, so that a simulation can replace them.

The functions that wait for several tasks are here too, so that all code waits in the same way.
"""

from __future__ import annotations

import asyncio
import os
import random
import threading
import time
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

__all__ = [
    "Bell",
    "Clock",
    "Ids",
    "Rng",
    "SystemClock",
    "SystemIds",
    "SystemRng",
    "between",
    "boot_id",
    "both",
    "first_of",
    "in_time",
    "mark",
    "new_secret",
    "since",
]

T = TypeVar("T")
U = TypeVar("U")

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS = [first + second for first in _ALPHABET for second in _ALPHABET]
_RANDOM_BITS = 80
_LENGTH = 26


def boot_id() -> str:
    """The id of this run of the machine, which changes with every boot; empty where there is none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


_MACHINE = boot_id()
_PROCESS = os.urandom(16).hex()
"""Replaces the boot id where there is none: then a process measures only from its own marks."""


class Clock(Protocol):
    """The clock by which stages read the time and wait."""

    def now(self) -> int:
        """Wall time in milliseconds since 1970, UTC; may jump."""
        ...

    def monotonic(self) -> float:
        """Seconds that never run backwards; only differences have a meaning."""
        ...

    def uptime(self) -> tuple[str, int]:
        """The id of this run of the machine and its age in milliseconds, including its sleep.

        It cannot be set, and all processes of this run read the same value: one process can measure from a
        mark that another wrote.
        """
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after that many seconds of this clock."""
        ...


class Rng(Protocol):
    """The source of chance (jitter, idle order)."""

    def random(self) -> float:
        """A number in [0, 1)."""
        ...


class Ids(Protocol):
    """The source of new ids."""

    def new(self) -> str:
        """A new id; it sorts after all earlier ones, also when the clock jumps back."""
        ...

    def start_after(self, known: str) -> None:
        """From now on, give only ids that sort after this one, which an earlier process gave."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic()

    def uptime(self) -> tuple[str, int]:
        lasted = time.clock_gettime_ns(time.CLOCK_BOOTTIME) if _MACHINE else time.monotonic_ns()
        return _MACHINE or _PROCESS, lasted // 1_000_000

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class SystemRng:
    """The machine's randomness; with a seed it gives the same numbers every time."""

    def __init__(self, seed: int | None = None) -> None:
        self._random = random.Random(seed)

    def random(self) -> float:
        return self._random.random()


class SystemIds:
    """Time-ordered ids: 48 bits of milliseconds and 80 bits of chance, as 26 lower-case characters."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = 0
        self._lock = threading.Lock()

    def new(self) -> str:
        chance = int.from_bytes(os.urandom(_RANDOM_BITS // 8), "big")
        # Stages and the store's writer call this from different threads.
        with self._lock:
            number = self._last = max((self._clock.now() << _RANDOM_BITS) | chance, self._last + 1)
        return encode_id(number)

    def start_after(self, known: str) -> None:
        with self._lock:
            self._last = max(self._last, decode_id(known))


def new_secret() -> str:
    """256 random bits, as text that is safe in a URL and a header."""
    return os.urandom(32).hex()


def encode_id(number: int) -> str:
    """Write a 128-bit number as 26 characters that sort like the number."""
    return "".join([_PAIRS[(number >> shift) & 1023] for shift in range(120, -1, -10)])


def first_id_at(at: int) -> str:
    """The smallest id of that millisecond: earlier ids sort before it, later ones after it."""
    return encode_id(max(0, at) << _RANDOM_BITS)


def decode_id(id_: str) -> int:
    """The number of an id; 0 for text that is no id."""
    if len(id_) != _LENGTH or not set(id_) <= set(_ALPHABET):
        return 0
    number = 0
    for character in id_:
        number = number * 32 + _ALPHABET.index(character)
    return number


def mark(clock: Clock) -> str:
    """A mark of this moment, to store and measure from later; changes of the wall clock do not affect it."""
    machine, lasted = clock.uptime()
    return f"{machine}:{lasted}"


def since(clock: Clock, marked: str | None) -> int | None:
    """Milliseconds since that mark; None without a mark or if it is from another run of the machine."""
    return between(marked, clock.uptime())


def between(marked: str | None, uptime: tuple[str, int]) -> int | None:
    """Milliseconds from that mark to this `Clock.uptime`; None as in `since`, or if the mark is damaged."""
    machine, lasted = uptime
    of, _, at = (marked or "").rpartition(":")
    if of != machine or not at.isdecimal() or int(at) > lasted:
        return None
    return lasted - int(at)


class Bell:
    """A wake-up that is never missed: read `rung`, look, then wait for a ring since then. Only a hint."""

    def __init__(self) -> None:
        self.rung = 0
        self._waiters: list[asyncio.Future[None]] = []

    def ring(self) -> None:
        """Wake all waiting tasks, in the order they came."""
        self.rung += 1
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def since(self, rung: int) -> None:
        """Return once the bell has rung more often than that."""
        while self.rung <= rung:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                # A task in `first_of` is cancelled often, and a bell may never ring: do not keep its waiter.
                self._waiters = [other for other in self._waiters if other is not waiter]
                raise


async def both(one: Coroutine[Any, Any, T], other: Coroutine[Any, Any, U]) -> tuple[T, U]:
    """Run two coroutines side by side and return both results; an error is raised after both have ended."""
    first, second = await asyncio.gather(one, other, return_exceptions=True)
    if isinstance(first, BaseException):
        raise first
    if isinstance(second, BaseException):
        raise second
    return first, second


async def first_of(*waits: Coroutine[Any, Any, object]) -> None:
    """Return when the first of these returns, and cancel the others; an error of the first is raised."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finished = [task for task in tasks if task.done()]
    finally:
        await _cancel(tasks)
    for task in finished:
        task.result()


async def in_time(clock: Clock, seconds: float, work: Coroutine[Any, Any, T]) -> T:
    """Return what `work` gives, or cancel it and raise `TimeoutError` when it takes longer than that."""
    task = asyncio.ensure_future(work)
    bound = asyncio.ensure_future(clock.sleep(seconds))
    try:
        await asyncio.wait([task, bound], return_when=asyncio.FIRST_COMPLETED)
        finished = task.done()
    finally:
        await _cancel([task, bound])
    if not finished:
        raise TimeoutError(f"no answer within {seconds:g} seconds")
    if task.cancelled():
        # The work cancelled itself: raised as it is, the error would look like a cancellation of the caller.
        raise RuntimeError("the work cancelled itself")
    return task.result()


async def _cancel(tasks: Sequence[asyncio.Future[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
