"""From what a platform brings to what the ledger keeps: one place that turns arrivals into rows."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.model import Accepted, Batch, Inbound, InboxKind, Origin, Sharing, conversation_key
from holdfast.platforms import Arrival
from holdfast.policy.answers import parse_command
from holdfast.policy.settings import QueueSettings
from holdfast.records import dataclass
from holdfast.store import ArrivalSettings, Store


def account_of(platform: str, account: str) -> str:
    """Whose events these are: two platforms may know the same account name and count their events alike."""
    return f"{platform}/{account}"


def inbound_of(arrival: Arrival, sharing: Sharing, queue: QueueSettings) -> Inbound:
    """The row an arrival becomes; which texts are commands is decided here and nowhere else.

    A press answers a question whatever its label says, and a text too long is no command: admission refuses
    it in words.
    """
    origin = arrival.origin
    plain = arrival.pressed is not None or len(arrival.text) > queue.longest
    is_command = not plain and parse_command(arrival.text) is not None
    return Inbound(
        arrival.event_id,
        conversation_key(origin, sharing),
        origin.place,
        origin.person,
        arrival.text,
        InboxKind.COMMAND if is_command else InboxKind.MESSAGE,
        arrival.attachments,
        arrival.message_id,
        arrival.sent_at,
        pressed=arrival.pressed,
        replies_to=arrival.replies_to,
    )


@dataclass(frozen=True, slots=True)
class Intake:
    """The way in for whoever has one message in hand; a platform is read by a `Receiver`."""

    store: Store
    sharing: Sharing = Sharing()
    arrival: Callable[[], ArrivalSettings] = ArrivalSettings

    async def take(self, origin: Origin, event_id: str, text: str) -> Accepted:
        """Keep one message; returning means that it is committed, and the same event again adds nothing."""
        settings = self.arrival()
        row = inbound_of(Arrival(event_id, origin, text), self.sharing, settings.queue)
        account = account_of(origin.place.platform, origin.place.account)
        (accepted,) = await self.store.accept(Batch(account, (row,)), settings)
        return accepted
