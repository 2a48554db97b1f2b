"""From what a platform brings to what the ledger keeps: one place that turns arrivals into rows."""

from __future__ import annotations

from holdfast.model import Inbound, InboxKind, Sharing, conversation_key
from holdfast.platforms import Arrival
from holdfast.policy.intake.parse_input import parse_command
from holdfast.policy.settings import QueueSettings


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
