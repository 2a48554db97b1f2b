"""A bot, put together; whoever has none to serve imports none of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.clock import Clock
from holdfast.errors import Report, unreported
from holdfast.platforms.base import Ack

from .adapter import Asked, Menu, Source, Telegram, nothing_asked
from .client import Client, WebhookAddress
from .files import Downloads, Keep, PartialDownloads
from .poller import Poller
from .upload import Stored, nothing_stored

if TYPE_CHECKING:
    from .session import Http


def telegram_bot(
    token: str,
    base_url: str,
    clock: Clock,
    keep: Keep,
    asked: Asked = nothing_asked,
    menu: Menu = (),
    listening: WebhookAddress | None = None,
    report: Report = unreported,
    stored: Stored = nothing_stored,
    *,
    downloads: Path,
    http: Http | None = None,
) -> Telegram:
    """The bot that has this token; it asks for updates, or, with `listening`, has them brought.

    What came of files whose download was cut off stands in `downloads`, a folder below one of its own.
    """
    client = Client(token, base_url, http)
    source: Source = Poller(client, clock)
    if listening is not None:
        from .webhook import WebhookListener  # noqa: PLC0415 - brings a server with it, which most do not need

        source = WebhookListener(client, clock, listening, token)
    return Telegram(
        client,
        token.partition(":")[0],
        clock,
        source,
        Downloads(client, clock, keep, PartialDownloads(downloads, clock)),
        Ack.OFFSET if listening is None else Ack.ANSWER,
        asked,
        menu,
        report,
        stored,
    )
