"""The only home of time and chance: everything not deterministic about them comes in through these ports."""

from __future__ import annotations

import asyncio
import os
import random
import threading
import time
from typing import Protocol

__all__ = ["Clock", "Ids", "Rng", "SystemClock", "SystemIds", "SystemRng"]

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS = [first + second for first in _ALPHABET for second in _ALPHABET]
_RANDOM_BITS = 80
_LENGTH = 26


class Clock(Protocol):
    """Where stages read the time and wait."""

    def now(self) -> int:
        """Wall time in milliseconds since 1970, UTC; may jump."""
        ...

    def monotonic(self) -> float:
        """Seconds that never run backwards; only differences mean something."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after that many seconds of this clock."""
        ...


class Rng(Protocol):
    """Where chance comes from (jitter, idle order)."""

    def random(self) -> float:
        """A number in [0, 1)."""
        ...


class Ids(Protocol):
    """Where new ids come from."""

    def new(self) -> str:
        """A fresh id; later ids sort after earlier ones, also when the clock jumps back."""
        ...

    def start_after(self, known: str) -> None:
        """Give only ids that sort after this one, which an earlier process gave."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class SystemRng:
    """The machine's randomness."""

    def random(self) -> float:
        return random.random()


class SystemIds:
    """Time-ordered ids: 48 bits of milliseconds, 80 of chance, as 26 lower-case characters."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = 0
        self._lock = threading.Lock()

    def new(self) -> str:
        chance = int.from_bytes(os.urandom(_RANDOM_BITS // 8), "big")
        # Stages and the store's writer ask from different threads.
        with self._lock:
            number = self._last = max((self._clock.now() << _RANDOM_BITS) | chance, self._last + 1)
        return encode_id(number)

    def start_after(self, known: str) -> None:
        with self._lock:
            self._last = max(self._last, decode_id(known))


def encode_id(number: int) -> str:
    """Write a 128-bit number as 26 characters that sort like the number."""
    return "".join([_PAIRS[(number >> shift) & 1023] for shift in range(120, -1, -10)])


def decode_id(id_: str) -> int:
    """The number an id was written from; anything else sorts before all of them."""
    if len(id_) != _LENGTH or not set(id_) <= set(_ALPHABET):
        return 0
    number = 0
    for character in id_:
        number = number * 32 + _ALPHABET.index(character)
    return number
