"""Checks of a bot at the Bot API, for setup and diagnosis.

A check changes nothing and does not disturb a gateway that serves the bot, unless its docstring says so. The
token is part of every URL, so no error contains a URL or a text of the HTTP library.
"""

from __future__ import annotations

import re
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from holdfast.clock import Clock
from holdfast.errors import HoldfastError
from holdfast.records import dataclass

if TYPE_CHECKING:
    import httpx

TOKEN = re.compile(r"[0-9]+:[A-Za-z0-9_-]+")
"""The form of a token."""
_PATIENCE = 10.0
_LISTENS = 5
"""Seconds within which another reader of this bot would poll again."""
_CONFLICT = 409
_REFUSED = (401, 404)
"""Telegram's status for an unknown or malformed token."""


class TokenRefused(HoldfastError):
    """The Bot API does not know this token."""

    def __init__(self, where: str) -> None:
        super().__init__(
            f"{where} does not know this token; check it for typing errors, or get a new one from @BotFather"
        )


class ApiNotReached(HoldfastError):
    """The Bot API gave no answer, or one that cannot be read."""


class ApiDeclined(HoldfastError):
    """The Bot API refused the call and says why."""


@dataclass(frozen=True, slots=True)
class Bot:
    """The bot a token belongs to."""

    id: int
    name: str
    username: str
    joins_groups: bool
    reads_groups: bool
    """Whether it gets all messages of a group, not only those addressed to it."""
    has_topics: bool
    ahead: float
    """Seconds by which this machine's clock is ahead of the server's; 0 if the server sends no date."""


@dataclass(frozen=True, slots=True)
class Hook:
    """The bot's webhook: its address, empty without one, and how many updates wait."""

    url: str
    waiting: int
    trouble: str


class SetupChecks:
    """Calls the Bot API at one address with one token."""

    def __init__(self, base_url: str, token: str, clock: Clock) -> None:
        self._address = f"{base_url.rstrip('/')}/bot{token}"
        self._clock = clock
        self.where = urlsplit(base_url).netloc

    async def bot(self) -> Bot:
        """The bot of this token; raises `TokenRefused` or `ApiNotReached`."""
        answer = await self._get("getMe")
        me = _object(self._result(answer), self.where)
        return Bot(
            int(me.get("id", 0)),
            str(me.get("first_name", "")),
            str(me.get("username", "")),
            bool(me.get("can_join_groups", True)),
            bool(me.get("can_read_all_group_messages", True)),
            bool(me.get("has_topics_enabled", False)),
            self._ahead(answer),
        )

    async def hook(self) -> Hook:
        """The webhook, and how many updates wait to be read."""
        found = _object(self._result(await self._get("getWebhookInfo")), self.where)
        waiting = int(found.get("pending_update_count", 0))
        return Hook(str(found.get("url", "")), waiting, str(found.get("last_error_message", "")))

    async def is_read_elsewhere(self) -> bool:
        """Whether another program polls for this bot's updates; do not call it while a gateway polls.

        It confirms nothing. Telegram serves the latest poll and ends the one before; this waits until the
        other program polls again.
        """
        answer = await self._get("getUpdates", timeout=str(_LISTENS), limit="1")
        if answer.status_code == _CONFLICT:
            return True
        self._result(answer)
        return False

    async def drop_hook(self) -> None:
        """Remove the webhook, so that the bot can poll; waiting updates are not lost."""
        self._result(await self._get("deleteWebhook"))

    async def chat(self, chat: str) -> str:
        """The name of a chat; `ApiDeclined` has Telegram's reason if the bot may not speak there."""
        found = _object(self._result(await self._get("getChat", chat_id=chat)), self.where)
        return str(found.get("title") or found.get("first_name") or chat)

    async def _get(self, method: str, **params: str) -> httpx.Response:
        import httpx  # noqa: PLC0415 - slow; no other command needs it

        try:
            async with httpx.AsyncClient(timeout=_PATIENCE, follow_redirects=False) as client:
                return await client.get(f"{self._address}/{method}", params=params)
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            # Its text may hold the URL, and so the token.
            kind = type(error).__name__
            raise ApiNotReached(
                f"{self.where} gives no answer ({kind}); check the address and the network"
            ) from None

    def _result(self, answer: httpx.Response) -> object:
        try:
            told = _object(answer.json(), self.where)
        except ValueError:
            raise ApiNotReached(
                f"{self.where} answers, but not like the Bot API (HTTP {answer.status_code})"
            ) from None
        if told.get("ok") is True:
            return told.get("result")
        if answer.status_code in _REFUSED:
            raise TokenRefused(self.where)
        raise ApiDeclined(str(told.get("description", f"HTTP {answer.status_code}")))

    def _ahead(self, answer: httpx.Response) -> float:
        try:
            there = parsedate_to_datetime(answer.headers["date"]).timestamp()
        except (KeyError, TypeError, ValueError):
            return 0.0
        return self._clock.now() / 1_000 - there


def _object(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ApiNotReached(f"{where} answers, but not like the Bot API")
    return value
