"""Calls of the Bot API. A fault is one of four errors, whose words never contain the token.

Answers are returned unparsed: an update of an unknown form must not stop the others of its batch, and a
message that was sent counts as sent, even if the rest of the answer cannot be read.
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
"""Seconds to wait for an answer."""


@dataclass(frozen=True, slots=True)
class WebhookAddress:
    """The address that Telegram sends updates to, and the address that the gateway listens at."""

    url: str
    host: str
    port: int


class CallFault(Exception):
    """A call failed; the words are for people and hold no secret."""


class CallRefused(CallFault):
    """The Bot API did nothing, and says why."""

    def __init__(self, code: int, words: str, moved_to: int | None = None) -> None:
        super().__init__(words)
        self.code = code
        self.words = words
        self.moved_to = moved_to
        """The id of the supergroup that this group became."""


class FloodWait(CallFault):
    """The Bot API did nothing, and refuses all calls for so many seconds."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"too many requests; wait {seconds} s")
        self.seconds = seconds


class Unreached(CallFault):
    """The call did not leave this machine, so the Bot API did nothing."""


class Unanswered(CallFault):
    """No answer came: the Bot API may or may not have done it."""


class Client:
    """One bot at one Bot API server. Call `open` first."""

    def __init__(self, token: str, base_url: str, http: Http | None = None) -> None:
        self._token = token
        self._base_url = base_url
        self._http = http
        """Makes the HTTP sessions; None: the library's own."""
        self._session: BotSession | None = None

    async def open(self) -> None:
        """Get ready. It imports the library in a thread, since that takes seconds during the start."""
        if self._session is None:
            found = await asyncio.to_thread(import_module, "holdfast.platforms.telegram.session")
            given = () if self._http is None else (self._http,)
            self._session = found.BotSession(self._token, self._base_url, *given)

    async def call(
        self, method: str, parameters: Mapping[str, object] | None = None, within: int = WITHIN
    ) -> Any:
        """Call a method; returns the answer unparsed."""
        return await self._opened.call(method, parameters or {}, within)

    def upload(self, path: Path, name: str) -> object:
        """A local file as a parameter; it is read while it is sent."""
        return self._opened.upload(path, name)

    def download(self, path: str, begin: int) -> AsyncIterator[tuple[int, bytes]]:
        """The bytes of a file from `begin` on, in pieces as they come; `path` is from `getFile`.

        Each piece has its place, because some servers always send a file from its first byte.
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
