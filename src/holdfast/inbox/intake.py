"""Taking messages in: the ledger has them before anybody is told that they arrived."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.model import Accepted, Batch, Inbound, Origin, Sharing, conversation_key
from holdfast.store import Store


@dataclass(frozen=True, slots=True)
class Intake:
    """The way in: one place that turns what a platform brings into rows."""

    store: Store
    sharing: Sharing = Sharing()

    async def take(self, origin: Origin, event_id: str, text: str) -> Accepted:
        """Keep one message; returning means that it is committed, and the same event again adds nothing."""
        message = Inbound(event_id, conversation_key(origin, self.sharing), origin.place, origin.person, text)
        place = origin.place
        # Two platforms may know the same account name and count their events alike.
        (accepted,) = await self.store.accept(Batch(f"{place.platform}/{place.account}", (message,)))
        return accepted
