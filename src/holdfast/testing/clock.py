"""Clocks and ids for tests: time moves only when a test moves it."""

from __future__ import annotations

import asyncio
import hashlib
import heapq
from itertools import count

from holdfast.clock import Clock, decode_id, encode_id

_CHANCE_BYTES = 10
_CHANCE_BITS = 8 * _CHANCE_BYTES


class ManualClock:
    """A clock that moves only when it is advanced; a sleeper wakes when its time has come."""

    def __init__(self, now: int = 1_800_000_000_000) -> None:
        self._now = now
        self._monotonic = 0
        self._boots = 1
        self._sleepers: list[tuple[int, int, asyncio.Future[None]]] = []
        self._numbers = count()

    def now(self) -> int:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic / 1_000

    def uptime(self) -> tuple[str, int]:
        return f"run-{self._boots}", self._monotonic

    async def sleep(self, seconds: float) -> None:
        wake: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._monotonic + round(seconds * 1_000), next(self._numbers), wake))
        await wake

    def advance(self, milliseconds: int) -> None:
        """Let time pass on both clocks and wake the sleepers that are due, in the order of their times."""
        self._now += milliseconds
        self._monotonic += milliseconds
        while self._sleepers and self._sleepers[0][0] <= self._monotonic:
            _, _, wake = heapq.heappop(self._sleepers)
            if not wake.done():
                wake.set_result(None)

    def jump(self, milliseconds: int) -> None:
        """Set the wall clock forwards or back, as an operator or a time server does; no time passes."""
        self._now += milliseconds

    def reboot(self) -> None:
        """Start the machine again: no earlier mark can be measured from."""
        self._boots += 1


class SeededIds:
    """Time-ordered ids like the real ones, whose random part depends only on the seed."""

    def __init__(self, clock: Clock, seed: str = "") -> None:
        self._clock = clock
        self._seed = seed.encode()
        self._numbers = count()
        self._last = 0

    def new(self) -> str:
        drawn = b"%s:%d" % (self._seed, next(self._numbers))
        chance = int.from_bytes(hashlib.blake2b(drawn, digest_size=_CHANCE_BYTES).digest(), "big")
        self._last = max((self._clock.now() << _CHANCE_BITS) | chance, self._last + 1)
        return encode_id(self._last)

    def start_after(self, known: str) -> None:
        self._last = max(self._last, decode_id(known))
