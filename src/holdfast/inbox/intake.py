"""Taking messages in: the ledger has them before anybody is told that they arrived."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.model import Accepted, Batch, Inbound, Origin, Sharing, conversation_key
from holdfast.store import Store


@dataclass(frozen=True, slots=True)
class Intake:
    """The way in for one account of one platform."""

    store: Store
    account: str
    sharing: Sharing = Sharing()

    async def take(self, origin: Origin, event_id: str, text: str) -> Accepted:
        """Keep one message; returning means that it is committed, and the same event again adds nothing."""
        message = Inbound(event_id, conversation_key(origin, self.sharing), origin.place, origin.person, text)
        (accepted,) = await self.store.accept(Batch(self.account, (message,)))
        return accepted
