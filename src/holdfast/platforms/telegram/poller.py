"""Asking for updates: our own loop, that never lets Telegram forget what is not committed."""

from __future__ import annotations

import logging

from holdfast.clock import Clock
from holdfast.platforms.base import PlatformDown

from .client import CallFault, Client
from .content import integer, text_in
from .results import down
from .wire import WANTED

LONG = 25
"""Seconds Telegram waits for something to bring."""
SLACK = 15
MOST = 100
LOOK = 60.0
"""Seconds without anything after which Telegram is asked whether something waits all the same."""
ALBUM = 1.0
"""Seconds for the rest of an album, whose items come one by one."""
_WAITS = 3

log = logging.getLogger(__name__)


class Poller:
    """Reads by `getUpdates`, each time from where the ledger is: only that confirms what came before."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._heard = clock.monotonic()
        """When it was last certain that nothing waits unheard."""

    async def begin(self) -> None:
        """A webhook would keep everything from us; what waits there is kept."""
        info = await self._client.call("getWebhookInfo")
        if isinstance(info, dict) and text_in(info, "url"):
            log.warning("this bot had a webhook; it is taken away, since telegram.reading is polling")
            await self._client.call("deleteWebhook", {"drop_pending_updates": False})
        self._heard = self._clock.monotonic()

    async def read(self, offset: int | None) -> list[object]:
        """What comes next, or nothing for now."""
        found = await self._get(offset, LONG)
        if not found and self._clock.monotonic() - self._heard >= LOOK:
            found = await self._check(offset)
        if found:
            self._heard = self._clock.monotonic()
        return await self._whole(found, offset)

    def confirm(self) -> None:
        """The next read says so."""

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
            raise PlatformDown("Telegram brought something that is no list of updates")
        return found

    async def _check(self, offset: int | None) -> list[object]:
        """Never connected but deaf: if something waits that does not come, that is said aloud."""
        try:
            info = await self._client.call("getWebhookInfo")
        except CallFault as fault:
            raise down(fault) from None
        waiting = integer(info, "pending_update_count") if isinstance(info, dict) else None
        if waiting:
            found = await self._get(offset, 0) or await self._get(None, 0)
            if not found:
                raise PlatformDown(f"deaf: {waiting} updates wait at Telegram and none of them comes")
            return found
        self._heard = self._clock.monotonic()
        return []

    async def _whole(self, found: list[object], offset: int | None) -> list[object]:
        """With the rest of an album it ends with: read again from the same place, nothing is confirmed."""
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
