"""Parts whose sends fail: when to try them early, and when to let later parts of the chat overtake them."""

from __future__ import annotations

from collections.abc import Container
from contextlib import suppress

from holdfast.clock import Clock
from holdfast.errors import WrongState
from holdfast.model import Delivery, DeliveryId
from holdfast.policy.delivery.retry import (
    FailingPart,
    RetryEvent,
    is_tried_at_once,
    next_judged,
    steps_aside,
)
from holdfast.policy.settings import RetrySettings
from holdfast.store import Store

from .undelivered import Insist, line_for_late

BELIEVED = 60.0
"""For so many seconds the sender trusts its last look that no part fails, unless the ledger changes."""


class Failures:
    """The failing parts of one platform, as the ledger has them. Memory holds only when to look again."""

    def __init__(
        self, store: Store, clock: Clock, platform: str, settings: RetrySettings, insist: Insist
    ) -> None:
        self._store = store
        self._clock = clock
        self._platform = platform
        self._settings = settings
        self._insist = insist
        self._none: tuple[int, float] | None = None
        """When the ledger had none: the version of the topic, and the monotonic time."""
        self._is_back = False

    def reconnected(self) -> None:
        """The platform is back: the next look tries every failed part that certainly did not arrive."""
        self._is_back = True
        self._none = None

    async def judge(self, busy: Container[DeliveryId]) -> None:
        """Move parts aside that block their chat, and make parts due that have a reason for a try now."""
        events = (RetryEvent.RECONNECTED, RetryEvent.HOLDS) if self._is_back else (RetryEvent.HOLDS,)
        for part in await self._found(busy):
            now, delivery = self._clock.now(), part.delivery
            if steps_aside(part, now, self._settings):
                await self._step_aside(delivery)
            elif any(is_tried_at_once(part, event, now, self._settings) for event in events):
                await self._hurry(delivery)
        self._is_back = False

    async def overtaken(self) -> list[DeliveryId]:
        """Note a successful send on all failing parts; returns those that are tried at once."""
        hurried: list[DeliveryId] = []
        for part in await self._found():
            delivery = part.delivery
            if delivery.overtaken_at is not None:
                continue
            at_once = is_tried_at_once(part, RetryEvent.OVERTAKEN, self._clock.now(), self._settings)
            await self._hurry(delivery, at_once, overtaken=True)
            if at_once:
                hurried.append(delivery.id)
        return hurried

    async def next_at(self, busy: Container[DeliveryId]) -> int | None:
        """When the next of them needs a decision again."""
        now = self._clock.now()
        times = [next_judged(part, now, self._settings) for part in await self._found(busy)]
        return min((time for time in times if time is not None), default=None)

    async def _found(self, busy: Container[DeliveryId] = ()) -> tuple[FailingPart, ...]:
        """The failing parts that are not busy. An empty answer of the ledger is trusted for a while."""
        seen, now = self._store.version("failing"), self._clock.monotonic()
        if self._none is not None and self._none[0] == seen and now - self._none[1] < BELIEVED:
            return ()
        found = await self._store.failing(self._platform)
        self._none = None if found else (seen, now)
        return tuple(part for part in found if part.delivery.id not in busy)

    async def _step_aside(self, delivery: Delivery) -> None:
        owe = line_for_late(delivery)
        await self._insist(lambda: self._store.step_aside(delivery.id, owe), delivery)

    async def _hurry(self, delivery: Delivery, at_once: bool = True, overtaken: bool = False) -> None:
        async def write() -> None:
            # A part that was settled meanwhile needs no hurry.
            with suppress(WrongState):
                await self._store.hurry_delivery(delivery.id, at_once, overtaken)

        await self._insist(write, delivery)
