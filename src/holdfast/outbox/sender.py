"""Sending what is owed: claim before, record after; what a crash left in between is repeated, marked."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.clock import Clock
from holdfast.model import TryAgain
from holdfast.platforms import Platform
from holdfast.store import Store


@dataclass(frozen=True, slots=True)
class Sender:
    """Serves one platform."""

    store: Store
    clock: Clock
    platform: Platform

    async def send_due(self) -> int:
        """Send the next part of every chat that is due; returns how many were tried."""
        due = await self.store.claim_deliveries((self.platform.name,))
        for delivery in due:
            await self.store.record_delivery(delivery.id, await self.platform.send(delivery))
        return len(due)

    async def settle_doubts(self) -> None:
        """Sends of unknown outcome go out again, visibly marked: this platform cannot be asked."""
        for delivery in await self.store.in_doubt():
            if delivery.chat.startswith(f"{self.platform.name}/"):
                again = TryAgain(self.clock.now(), "outcome unknown, sent again")
                await self.store.settle_delivery(delivery.id, again, repeated=True)

    async def work(self) -> None:
        """Send for ever, whenever something is owed."""
        while True:
            seen = self.store.version("outbox")
            await self.settle_doubts()
            if not await self.send_due():
                await self.store.changed("outbox", seen)
