"""Platforms outside this process, by the configuration; their tokens are read here and given to nobody else.

The library of a platform is imported only where that platform is configured.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib import import_module

from holdfast.clock import Clock
from holdfast.config.load import secret
from holdfast.config.settings import Reading, Settings
from holdfast.errors import BadConfig, Report, Unusable
from holdfast.gateway.files.blobs import BlobFiles
from holdfast.gateway.stage_tasks import to_log
from holdfast.inbox import COMMANDS
from holdfast.installation import missing_extra
from holdfast.model import ChatAddress, OwedKind, QuestionId
from holdfast.platforms import Platform
from holdfast.platforms.registry import made
from holdfast.store import Store
from holdfast.telemetry.secrets import SECRET

_TOKEN = re.compile(r"[0-9]{1,19}:[A-Za-z0-9_-]{1,200}")
DOWNLOADS = "downloads"
"""Where files stand of which only a part has come."""
_LATELY = 500
"""Messages of a chat among which the question of a button is looked for."""


def check_platforms(settings: Settings) -> tuple[Platform, ...]:
    """Those of other packages; raises `Unusable` for what a person has to change.

    Asked before a ledger is opened.
    """
    tables = settings.platform_tables
    others = tuple(made(name, settings.home, tables.get(name, {})) for name in settings.platforms)
    if not settings.telegram.is_on:
        return others
    line = missing_extra("telegram")
    if line is not None:
        raise Unusable(f"[telegram] needs packages that are not installed; this installs them: {line}")
    telegram_token(settings)
    # Its library takes seconds on a busy machine: here the loop may stand for that long, and later not.
    import_module("holdfast.platforms.telegram.bot")
    return others


def platforms_of(
    settings: Settings, clock: Clock, store: Store, blobs: BlobFiles, report: Report = to_log
) -> tuple[Platform, ...]:
    """Those of ours that are configured, and are usable as `check_platforms` has found."""
    return (_telegram(settings, clock, store, blobs, report),) if settings.telegram.is_on else ()


def telegram_token(settings: Settings, environment: Mapping[str, str] | None = None) -> str:
    """The bot's token; what stands before its colon is the bot's id, and the name of its account."""
    telegram = settings.telegram
    token = secret("telegram.token", telegram.token_env, telegram.token_file, settings.home, environment)
    if token is None or not _TOKEN.fullmatch(token):
        raise BadConfig("telegram.token", SECRET, "a token as BotFather gives it: digits, a colon, letters")
    return token


def _telegram(settings: Settings, clock: Clock, store: Store, blobs: BlobFiles, report: Report) -> Platform:
    from holdfast.platforms.telegram.bot import telegram_bot  # noqa: PLC0415 - only where it is served
    from holdfast.platforms.telegram.client import WebhookAddress  # noqa: PLC0415 - only where it is served

    given = settings.telegram
    listening = None
    if given.reading is Reading.WEBHOOK and given.webhook_url is not None:
        listening = WebhookAddress(given.webhook_url, given.webhook_host, given.webhook_port)
    menu = [(name, entry.says) for name, entry in COMMANDS.items()]
    token, downloads = telegram_token(settings), settings.home / DOWNLOADS / clock.uptime()[0]
    return telegram_bot(
        token,
        given.base_url,
        clock,
        kept_in(blobs),
        asked_in(store),
        menu,
        listening,
        report,
        blobs.path_of,
        downloads=downloads,
    )


def kept_in(blobs: BlobFiles) -> Callable[[bytes, str], Awaitable[str]]:
    """Keeps what people send, and gives its hash."""

    async def keep(content: bytes, media_type: str) -> str:
        return str((await blobs.keep(content, media_type))["digest"])

    return keep


def asked_in(store: Store) -> Callable[[ChatAddress], Awaitable[Sequence[QuestionId]]]:
    """Finds what was asked in a chat lately."""

    async def asked(chat: ChatAddress) -> Sequence[QuestionId]:
        last = await store.last_number(chat)
        lately = await store.deliveries(chat, max(0, last - _LATELY), _LATELY)
        return [QuestionId(one.dedupe) for one in lately if one.kind is OwedKind.QUESTION]

    return asked
