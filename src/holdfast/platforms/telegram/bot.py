"""Builds a bot; a gateway without a bot imports none of this."""

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
    """The bot with this token. It polls for updates, or takes them by a webhook with `listening`.

    Unfinished downloads are in `downloads`, a subfolder of a folder that holds nothing else.
    """
    client = Client(token, base_url, http)
    source: Source = Poller(client, clock)
    if listening is not None:
        from .webhook import WebhookListener  # noqa: PLC0415 - it imports a server, which few bots need

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
