"""The one place that turns an arrival from a platform into a row of the inbox."""

from __future__ import annotations

from holdfast.model import Inbound, InboxKind, Sharing, conversation_key
from holdfast.platforms import Arrival
from holdfast.policy.intake.parse_input import parse_command
from holdfast.policy.settings import QueueSettings


def account_of(platform: str, account: str) -> str:
    """The account with its platform: two platforms may use one account name and number their events alike."""
    return f"{platform}/{account}"


def inbound_of(arrival: Arrival, sharing: Sharing, queue: QueueSettings) -> Inbound:
    """The row for an arrival. Only this function decides which texts are commands.

    A pressed button answers a question, whatever its label says. A text that is too long is no command:
    admission refuses it with a reply.
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
