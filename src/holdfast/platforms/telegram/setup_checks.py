"""A few questions to the Bot API, for whoever sets a bot up or looks after one.

None of them changes anything or gets in the way of a gateway that serves the bot, unless it says so. The
token is part of every address that is asked, so no address, and no words of a client library, are ever passed
on.
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
"""How a token looks."""
_PATIENCE = 10.0
_LISTENS = 5
"""Seconds in which who also reads this bot would come back."""
_CONFLICT = 409
_REFUSED = (401, 404)
"""What Telegram answers to a token it does not know, or to one that is no token."""


class TokenRefused(HoldfastError):
    """The Bot API does not know this token."""

    def __init__(self, where: str) -> None:
        super().__init__(f"{where} does not know this token; it may be mistyped, or revoked by @BotFather")


class ApiNotReached(HoldfastError):
    """The Bot API gave no answer, or none that makes sense."""


class ApiDeclined(HoldfastError):
    """The Bot API answered, and did not do what it was asked."""


@dataclass(frozen=True, slots=True)
class Bot:
    """The bot a token belongs to."""

    id: int
    name: str
    username: str
    joins_groups: bool
    reads_groups: bool
    """Whether it sees all messages of a group, not only those that are meant for it."""
    has_topics: bool
    ahead: float
    """Seconds by which our clock is ahead of the server's; 0 if it does not say."""


@dataclass(frozen=True, slots=True)
class Hook:
    """Where updates are brought to, if they are, and how many wait."""

    url: str
    waiting: int
    trouble: str


class SetupChecks:
    """Asks the Bot API at one address with one token."""

    def __init__(self, base_url: str, token: str, clock: Clock) -> None:
        self._address = f"{base_url.rstrip('/')}/bot{token}"
        self._clock = clock
        self.where = urlsplit(base_url).netloc

    async def bot(self) -> Bot:
        """Whose token it is; raises `TokenRefused` or `ApiNotReached`."""
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
        """Where updates go, and how many wait for somebody to take them."""
        found = _object(self._result(await self._get("getWebhookInfo")), self.where)
        waiting = int(found.get("pending_update_count", 0))
        return Hook(str(found.get("url", "")), waiting, str(found.get("last_error_message", "")))

    async def is_read_elsewhere(self) -> bool:
        """Whether somebody asks for this bot's updates; not to be asked while a gateway of ours does.

        Nothing is confirmed. Who asks last is served, and who asked before is sent away and comes back, which
        is waited for.
        """
        answer = await self._get("getUpdates", timeout=str(_LISTENS), limit="1")
        if answer.status_code == _CONFLICT:
            return True
        self._result(answer)
        return False

    async def drop_hook(self) -> None:
        """Let updates be asked for again; none of those that wait is lost."""
        self._result(await self._get("deleteWebhook"))

    async def chat(self, chat: str) -> str:
        """The name of a chat; `ApiDeclined` has Telegram's reason if the bot may not speak there."""
        found = _object(self._result(await self._get("getChat", chat_id=chat)), self.where)
        return str(found.get("title") or found.get("first_name") or chat)

    async def _get(self, method: str, **params: str) -> httpx.Response:
        import httpx  # noqa: PLC0415 - no other command waits for it

        try:
            async with httpx.AsyncClient(timeout=_PATIENCE, follow_redirects=False) as client:
                return await client.get(f"{self._address}/{method}", params=params)
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            # Its own words may hold the address, and so the token.
            kind = type(error).__name__
            raise ApiNotReached(
                f"{self.where} gives no answer ({kind}); is it the right address, and the network up?"
            ) from None

    def _result(self, answer: httpx.Response) -> object:
        try:
            told = _object(answer.json(), self.where)
        except ValueError:
            raise ApiNotReached(
                f"{self.where} answers, but not as the Bot API does (HTTP {answer.status_code})"
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
        raise ApiNotReached(f"{where} answers, but not as the Bot API does")
    return value
