"""A bot, put together; whoever has none to serve imports none of it."""

from __future__ import annotations

from holdfast.clock import Clock
from holdfast.errors import Report, unreported
from holdfast.platforms.base import Ack

from .adapter import Asked, Menu, Telegram, nothing_asked
from .client import Client
from .files import Files, Keep
from .polling import Polling
from .webhook import Listening, Webhook


def telegram_bot(
    token: str,
    base_url: str,
    clock: Clock,
    keep: Keep,
    asked: Asked = nothing_asked,
    menu: Menu = (),
    listening: Listening | None = None,
    report: Report = unreported,
) -> Telegram:
    """The bot that has this token; it asks for updates, or, with `listening`, has them brought."""
    client = Client(token, base_url)
    webhook = Webhook(client, clock, listening, token) if listening is not None else None
    return Telegram(
        client,
        token.partition(":")[0],
        clock,
        webhook or Polling(client, clock),
        Files(client, clock, keep),
        Ack.OFFSET if webhook is None else Ack.ANSWER,
        asked,
        menu,
        report,
    )
