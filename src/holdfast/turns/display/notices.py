"""Show running turns to people, and end the progress notices of runs that are over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

from holdfast.clock import Bell, Clock, first_of, in_time
from holdfast.errors import Report, StoreClosed, StoreFault, SyncFailed, unreported
from holdfast.model import ChatAddress, Claimed, DeliveryId, DeliveryState, TurnState, place_at
from holdfast.platforms import Platform, PlatformDown, Shows
from holdfast.policy.settings import ProgressSettings
from holdfast.policy.turn.progress_notice import Ending, ending, last_words
from holdfast.store import LiveNotice, Store

from .port import RunDisplayPort, Unseen
from .run import AWAY, MOMENT, RunDisplay

SOON = 2.0
"""Seconds between two looks while the notice of an ended run lacks its last words."""
LOOK_AGAIN = 60.0
AT_ONCE = 0.1


class Showing:
    """Shows runs while they go on, and ends the notices of ended runs, also of earlier processes.

    The ledger has one row per session for a notice: the next run's notice waits until that row is ended.
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
        self._newest: dict[ChatAddress, RunDisplay] = {}
        self._left: list[RunDisplay] = []
        self._bell = Bell()
        self._ending: dict[DeliveryId, asyncio.Future[bool]] = {}
        self._none: tuple[int, float] | None = None
        """When the ledger had no notice: the version of the topic, and the monotonic time."""

    def begin(self, claimed: Claimed, silent: Callable[[], int]) -> RunDisplayPort:
        """Show a run from now on (implements `Watch`); a run on an unknown platform is not shown."""
        platform = self._platform_of(claimed.session.chat)
        if platform is None:
            return Unseen()
        return RunDisplay(self, platform, claimed, silent)

    def poke(self) -> None:
        """Look again at once: a platform is back."""
        self._bell.ring()

    async def work(self) -> None:
        """End the notices of ended runs, for ever."""
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
                # Begin with a short pause: the sender retries at the same time.
                faults += 1
                wait = min(AWAY, AT_ONCE * 2**faults)
            # A notice of unknown outcome must get its last words before the sender repeats it.
            await first_of(self.clock.sleep(wait), self._bell.since(rung), self.store.changed("doubts", seen))

    # Called by the displays of runs.

    def can_show(self, platform: Platform) -> bool:
        return platform.name in self._connected()

    def shows(self, shown: RunDisplay) -> None:
        self._newest[shown.chat] = shown

    def is_newest(self, shown: RunDisplay) -> bool:
        return self._newest.get(shown.chat) is shown

    def left(self, shown: RunDisplay) -> None:
        if shown.is_seen:
            self._left.append(shown)
            self._bell.ring()
        elif self.is_newest(shown):
            del self._newest[shown.chat]

    async def before_send(self, chat: ChatAddress) -> None:
        """Wait a moment until the ended runs of the chat have their last words; only then comes the send."""
        try:
            seen, now = self.store.version("notices"), self.clock.monotonic()
            if self._none is not None and self._none[0] == seen and now - self._none[1] < LOOK_AGAIN:
                return
            live = await self.store.live_notices()
            self._none = None if live else (seen, now)
            over = [one for one in live if not one.running and _is_seen_in(chat, one)]
            for notice in over:
                await in_time(self.clock, MOMENT, self._close(notice))
        except TimeoutError:
            self._bell.ring()
        except StoreFault as fault:
            self.report("ending notices", fault)

    async def close_notice(self, dedupe: str, state: TurnState | None = None) -> None:
        live = [one for one in await self.store.live_notices() if one.delivery.dedupe == dedupe]
        if state is not None:
            live = [one._replace(state=state, running=False) for one in live if one.running]
        if not all([await self._close(notice) for notice in live if not notice.running]):
            self._bell.ring()

    async def close_notices(self) -> bool:
        """Give the notices of ended runs their last words; False while some still lack them."""
        live = await self.store.live_notices()
        return all([await self._close(notice) for notice in live if not notice.running])

    async def _close(self, notice: LiveNotice) -> bool:
        """Take one notice a step further; True if it is ended or cannot be ended now.

        Its run, a send and the next look may ask at the same moment: it is done once for all of them.
        """
        id_ = notice.delivery.id
        ending = self._ending.get(id_)
        if ending is None:
            ending = self._ending[id_] = asyncio.ensure_future(self._close_alone(notice))
            ending.add_done_callback(lambda done: self._closed(id_, done))
        return await asyncio.shield(ending)

    def _closed(self, id_: DeliveryId, done: asyncio.Future[bool]) -> None:
        del self._ending[id_]
        if not done.cancelled():
            # Read the exception: its caller may have been cancelled.
            done.exception()

    async def _close_alone(self, notice: LiveNotice) -> bool:
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
            edit = cast("Shows", platform).edit(notice.delivery.chat, message, words, in_line=True)
            return await in_time(self.clock, AWAY, edit)
        except (PlatformDown, TimeoutError):
            return False
        except Exception as fault:  # noqa: BLE001 - a fault of an adapter: the notice is tried again
            self.report(f"ending the notice {notice.delivery.id}", fault)
            return False

    async def _clear_left(self) -> None:
        while self._left:
            shown = self._left.pop(0)
            try:
                await in_time(self.clock, AWAY, shown.clear())
            except Exception as fault:  # noqa: BLE001 - a fault of an adapter: only the display misses this
                self.report("clearing what a run showed", fault)
            self.left(shown)

    def _platform_of(self, chat: ChatAddress) -> Platform | None:
        place = place_at(chat)
        return self._platforms.get((place.platform, place.account))


def _is_seen_in(chat: ChatAddress, notice: LiveNotice) -> bool:
    return notice.delivery.chat == chat and notice.delivery.state is DeliveryState.SENT
