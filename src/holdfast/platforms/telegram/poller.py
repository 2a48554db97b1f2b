"""Polls for updates in its own loop, which never confirms an update to Telegram before its commit."""

from __future__ import annotations

import logging

from holdfast.clock import Clock
from holdfast.platforms.base import PlatformDown

from .client import CallFault, Client
from .content import integer, text_in
from .results import down
from .wire import WANTED

LONG = 25
"""Seconds that Telegram waits for an update before it answers."""
SLACK = 15
MOST = 100
LOOK = 60.0
"""After so many seconds without an update, the bot asks Telegram how many are waiting."""
ALBUM = 1.0
"""Seconds to wait for the rest of an album, whose items come one by one."""
_WAITS = 3

log = logging.getLogger(__name__)


class Poller:
    """Reads with `getUpdates` from the ledger's position, which confirms all updates before it."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._heard = clock.monotonic()
        """When it was last certain that no update was waiting."""

    async def begin(self) -> None:
        """Remove a webhook, which would take all updates; those that wait are not lost."""
        info = await self._client.call("getWebhookInfo")
        if isinstance(info, dict) and text_in(info, "url"):
            log.warning("this bot had a webhook; the gateway removes it, because telegram.reading is polling")
            await self._client.call("deleteWebhook", {"drop_pending_updates": False})
        self._heard = self._clock.monotonic()

    async def read(self, offset: int | None) -> list[object]:
        """The next updates; empty if none came."""
        found = await self._get(offset, LONG)
        if not found and self._clock.monotonic() - self._heard >= LOOK:
            found = await self._check_for_waiting(offset)
        if found:
            self._heard = self._clock.monotonic()
        return await self._with_rest_of_album(found, offset)

    def confirm(self) -> None:
        """Do nothing: the position of the next read confirms the batch."""

    async def close(self) -> None:
        return None

    async def _get(self, offset: int | None, seconds: int) -> list[object]:
        wanted: dict[str, object] = {"timeout": seconds, "limit": MOST, "allowed_updates": list(WANTED)}
        if offset is not None:
            wanted["offset"] = offset
        try:
            found = await self._client.call("getUpdates", wanted, seconds + SLACK)
        except CallFault as fault:
            raise down(fault) from None
        if not isinstance(found, list):
            raise PlatformDown("Telegram sent something that is not a list of updates")
        return found

    async def _check_for_waiting(self, offset: int | None) -> list[object]:
        """Raise `PlatformDown` if updates wait at Telegram but do not arrive."""
        try:
            info = await self._client.call("getWebhookInfo")
        except CallFault as fault:
            raise down(fault) from None
        waiting = integer(info, "pending_update_count") if isinstance(info, dict) else None
        if waiting:
            found = await self._get(offset, 0) or await self._get(None, 0)
            if not found:
                raise PlatformDown(f"{waiting} updates wait at Telegram, but none arrives")
            return found
        self._heard = self._clock.monotonic()
        return []

    async def _with_rest_of_album(self, found: list[object], offset: int | None) -> list[object]:
        """The batch with the rest of its last album. It reads from the same position and confirms nothing."""
        for _ in range(_WAITS):
            if not found or not _ends_in_album(found[-1]) or len(found) >= MOST:
                break
            await self._clock.sleep(ALBUM)
            more = await self._get(offset, 0)
            if len(more) <= len(found):
                break
            found = more
        return found


def _ends_in_album(update: object) -> bool:
    message = update.get("message") if isinstance(update, dict) else None
    return isinstance(message, dict) and bool(text_in(message, "media_group_id"))
