"""What people see of turns while they run here, and what of those that ran still says that they do."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from holdfast.clock import Bell, Clock, first_of, in_time
from holdfast.errors import StoreClosed, StoreFault, SyncFailed
from holdfast.model import ChatAddress, Claimed, place_at
from holdfast.platforms import Platform, PlatformDown, Shows
from holdfast.policy.settings import ProgressSettings
from holdfast.policy.working import Ending, ending, last_words
from holdfast.store import LiveNotice, Store

from .live import Live, Unseen
from .report import Report, unreported
from .shown import AWAY, Shown

SOON = 2.0
"""Seconds between two looks while a message of a run that is over has not got its last words."""
LOOK_AGAIN = 60.0
AT_ONCE = 0.1


class Showing:
    """Shows runs as they go on, and ends the messages of those that are over, whoever ran them.

    The ledger has one row per session for such a message: the next run's waits until that one is ended.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        platforms: tuple[Platform, ...],
        settings: ProgressSettings = ProgressSettings(),  # noqa: B008 - frozen
        connected: Callable[[], tuple[str, ...]] | None = None,
        report: Report = unreported,
    ) -> None:
        self.store = store
        self.clock = clock
        self.settings = settings
        self.report = report
        self._platforms = {(platform.name, platform.account): platform for platform in platforms}
        self._connected = connected or (lambda: tuple(platform.name for platform in platforms))
        self._newest: dict[ChatAddress, Shown] = {}
        self._left: list[Shown] = []
        self._bell = Bell()

    def begin(self, claimed: Claimed, silent: Callable[[], int]) -> Live:
        """Show a run from now on (`Watch`); one on a platform nobody knows is not shown."""
        platform = self._platform_of(claimed.session.chat)
        if platform is None:
            return Unseen()
        return Shown(self, platform, claimed, silent)

    def poke(self) -> None:
        """A platform is back, or something else may have changed."""
        self._bell.ring()

    async def work(self) -> None:
        """For ever: end the messages of runs that are over, whenever one may be."""
        faults = 0
        while True:
            rung, seen = self._bell.rung, self.store.version("doubts")
            try:
                await self._clear_left()
                wait = LOOK_AGAIN if await self.close_notices() else SOON
                faults = 0
            except (SyncFailed, StoreClosed):
                raise
            except StoreFault as fault:
                self.report("ending notices", fault)
                # At first at once: whoever sends tries again as well.
                faults += 1
                wait = min(AWAY, AT_ONCE * 2**faults)
            # One that may have arrived gets its last words before anybody sends it again.
            await first_of(self.clock.sleep(wait), self._bell.since(rung), self.store.changed("doubts", seen))

    # What the runs share.

    def can_show(self, platform: Platform) -> bool:
        return platform.name in self._connected()

    def shows(self, shown: Shown) -> None:
        self._newest[shown.chat] = shown

    def is_newest(self, shown: Shown) -> bool:
        return self._newest.get(shown.chat) is shown

    def left(self, shown: Shown) -> None:
        if shown.is_seen:
            self._left.append(shown)
            self._bell.ring()
        elif self.is_newest(shown):
            del self._newest[shown.chat]

    async def close_notice(self, dedupe: str) -> None:
        if not await self.close_notices(dedupe):
            self._bell.ring()

    async def close_notices(self, dedupe: str | None = None) -> bool:
        """Give messages of runs that are over their last words; False while some still wait for that."""
        live = await self.store.live_notices()
        over = [one for one in live if not one.running and dedupe in (None, one.delivery.dedupe)]
        return all([await self._close(notice) for notice in over])

    async def _close(self, notice: LiveNotice) -> bool:
        """Take one message a step further; True if it is ended, or nothing can be done for it now."""
        platform = self._platform_of(notice.delivery.chat)
        if platform is None:
            return True
        words = last_words(notice.state)
        match ending(notice.delivery, platform.capabilities.edit):
            case Ending.WAIT:
                return False
            case Ending.REWORD:
                await self.store.reword_notice(notice.delivery.id, words)
                return False
            case Ending.EDIT if not self.can_show(platform):
                return True
            case Ending.EDIT if not await self._edited(platform, notice, words):
                return False
            case _:
                await self.store.forget_notice(notice.delivery.id)
                return True

    async def _edited(self, platform: Platform, notice: LiveNotice, words: str) -> bool:
        message = notice.delivery.platform_id
        assert message is not None
        try:
            edit = cast("Shows", platform).edit(notice.delivery.chat, message, words)
            return await in_time(self.clock, AWAY, edit)
        except (PlatformDown, TimeoutError):
            return False
        except Exception as fault:  # noqa: BLE001 - the boundary to an adapter: tried again, others go on
            self.report(f"ending the notice {notice.delivery.id}", fault)
            return False

    async def _clear_left(self) -> None:
        while self._left:
            shown = self._left.pop(0)
            try:
                await in_time(self.clock, AWAY, shown.clear())
            except Exception as fault:  # noqa: BLE001 - the boundary to an adapter: only eyes miss this
                self.report("clearing what a run showed", fault)
            self.left(shown)

    def _platform_of(self, chat: ChatAddress) -> Platform | None:
        place = place_at(chat)
        return self._platforms.get((place.platform, place.account))
