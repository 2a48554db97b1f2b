"""The Bot API as it is asked; what goes wrong comes as one of four, in words without the token.

Answers are given as they came: an update that no type fits must not keep the others of its batch from us, and
a message that was sent is sent, whatever else its answer holds.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.records import dataclass

if TYPE_CHECKING:
    from .session import BotSession, Http

WITHIN = 60
"""Seconds for an answer."""


@dataclass(frozen=True, slots=True)
class WebhookAddress:
    """Where Telegram is to bring updates, and where we take them."""

    url: str
    host: str
    port: int


class CallFault(Exception):
    """Something did not go as asked; the words are for people and hold no secret."""


class CallRefused(CallFault):
    """Nothing was done, and the Bot API says why."""

    def __init__(self, code: int, words: str, moved_to: int | None = None) -> None:
        super().__init__(words)
        self.code = code
        self.words = words
        self.moved_to = moved_to
        """The supergroup that this group is now."""


class FloodWait(CallFault):
    """Nothing was done, and nothing will be for so many seconds."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"too many requests; {seconds} s to wait")
        self.seconds = seconds


class Unreached(CallFault):
    """It never left us."""


class Unanswered(CallFault):
    """It may have been done."""


class Client:
    """One bot at one Bot API server, once it is opened."""

    def __init__(self, token: str, base_url: str, http: Http | None = None) -> None:
        self._token = token
        self._base_url = base_url
        self._http = http
        """What carries the requests, if not the library's own sessions."""
        self._session: BotSession | None = None

    async def open(self) -> None:
        """Be ready. The library takes seconds to be imported: it is, beside everything else that starts."""
        if self._session is None:
            found = await asyncio.to_thread(import_module, "holdfast.platforms.telegram.session")
            given = () if self._http is None else (self._http,)
            self._session = found.BotSession(self._token, self._base_url, *given)

    async def call(
        self, method: str, parameters: Mapping[str, object] | None = None, within: int = WITHIN
    ) -> Any:
        """Ask for something; what is answered, as it came."""
        return await self._opened.call(method, parameters or {}, within)

    def upload(self, path: Path, name: str) -> object:
        """A file of this machine, to be given as a parameter and read as it is sent."""
        return self._opened.upload(path, name)

    def download(self, path: str, begin: int) -> AsyncIterator[tuple[int, bytes]]:
        """What a file holds from there on, or all of it, as it comes; `path` as `getFile` gave it.

        Each piece with its place: not every server can begin elsewhere than at the beginning.
        """
        return self._opened.download(path, begin, WITHIN)

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    @property
    def _opened(self) -> BotSession:
        if self._session is None:
            raise Unreached("not connected yet")
        return self._session
