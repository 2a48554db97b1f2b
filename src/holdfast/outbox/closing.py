"""The buttons of questions that are over: taken away, also after a restart, and in nobody's way."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from holdfast.clock import Bell, Clock, first_of, in_time
from holdfast.errors import Report, StoreClosed, StoreFault, SyncFailed, unreported
from holdfast.model import DeliveryId, DeliveryState, QuestionState, place_at
from holdfast.platforms import Platform, PlatformDown, Shows
from holdfast.policy.closing import as_closed
from holdfast.store import Buttons, Store

SOON = 5.0
"""Seconds between two looks while buttons are left that should be gone."""
LOOK_AGAIN = 60.0
WITHIN = 10.0
"""Seconds for one message; then it is tried again later."""


class Closing:
    """Lets the message of a question say what became of it once that is known, instead of its buttons.

    The ledger knows which messages still have some: whoever starts after a crash goes on with them. It is for
    eyes only, so whatever fails waits for the next look; a button pressed meanwhile is answered honestly.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        platforms: tuple[Platform, ...],
        connected: Callable[[], tuple[str, ...]],
        report: Report = unreported,
    ) -> None:
        self._store = store
        self._clock = clock
        can = [one for one in platforms if one.capabilities.buttons and one.capabilities.edit]
        self._platforms = {(one.name, one.account): one for one in can}
        self._connected = connected
        self._report = report
        self._after: DeliveryId | None = None
        """Up to here nothing has buttons that could ever be taken away."""
        self._bell = Bell()

    @property
    def is_needed(self) -> bool:
        """Whether anybody can do anything about buttons here."""
        return bool(self._platforms)

    def poke(self) -> None:
        """A platform is back."""
        self._bell.ring()

    async def work(self) -> None:
        """For ever: look whenever a question is closed; ever less often while something cannot be done."""
        left = 0
        while True:
            rung, seen = self._bell.rung, self._store.version("questions")
            try:
                left = left + 1 if await self._close_all() else 0
                wait = min(SOON * 2 ** (left - 1), LOOK_AGAIN) if left else LOOK_AGAIN
            except (SyncFailed, StoreClosed):
                raise
            except StoreFault as fault:
                self._report("taking buttons away", fault)
                wait = SOON
            await first_of(
                self._clock.sleep(wait), self._bell.since(rung), self._store.changed("questions", seen)
            )

    async def _close_all(self) -> bool:
        """Take away what can be taken away now; True if something was left that may go soon."""
        found, newest = await self._store.buttons(self._after)
        ours = [one for one in found if self._platform_of(one) is not None]
        over = [one for one in ours if one.state is not QuestionState.OPEN]
        # One may be over while its own message is still on its way; nothing rings when that has arrived.
        left = [one for one in over if not _is_sent(one) or not await self._close(one)]
        asked = [one for one in ours if one.state is QuestionState.OPEN]
        ids = [one.delivery.id for one in (*left, *asked)]
        self._after = DeliveryId(min(ids, default=newest + 1) - 1)
        return any(self._can_reach(one) for one in left)

    async def _close(self, buttons: Buttons) -> bool:
        platform, delivery = self._platform_of(buttons), buttons.delivery
        assert platform is not None
        assert delivery.platform_id is not None
        if not self._can_reach(buttons):
            return False
        text = as_closed(delivery, buttons.state, buttons.answer, platform.capabilities.longest)
        try:
            edit = cast("Shows", platform).edit(delivery.chat, delivery.platform_id, text)
            if not await in_time(self._clock, WITHIN, edit):
                return False
        except (PlatformDown, TimeoutError):
            return False
        except Exception as fault:  # noqa: BLE001 - the boundary to an adapter: tried again, others go on
            self._report(f"taking the buttons of {delivery.id} away", fault)
            return False
        await self._store.forget_buttons(delivery.id)
        return True

    def _can_reach(self, buttons: Buttons) -> bool:
        return place_at(buttons.delivery.chat).platform in self._connected()

    def _platform_of(self, buttons: Buttons) -> Platform | None:
        place = place_at(buttons.delivery.chat)
        return self._platforms.get((place.platform, place.account))


def _is_sent(buttons: Buttons) -> bool:
    return buttons.delivery.state is DeliveryState.SENT
