"""Edit the card of a closed question, also after a restart: no buttons, and how the question ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from holdfast.clock import Bell, Clock, first_of, in_time
from holdfast.errors import Report, StoreClosed, StoreFault, SyncFailed, unreported
from holdfast.model import (
    DELIVERY,
    AskedBy,
    DeliveryId,
    DeliveryState,
    Owed,
    OwedKind,
    QuestionKind,
    QuestionState,
    place_at,
)
from holdfast.model.states import SILENT
from holdfast.platforms import Platform, PlatformDown, Shows
from holdfast.policy.consent.closed_question import as_closed, unanswered_line, withdrawn_line
from holdfast.store import QuestionCard, Store

SOON = 5.0
"""Seconds between two looks while a closed question still shows its buttons."""
LOOK_AGAIN = 60.0
WITHIN = 10.0
"""Seconds for the edit of one message; after that it is tried again later."""


class ClosedCards:
    """Replaces the buttons of a closed question's card with how the question ended.

    The ledger knows which cards are not edited yet, so a fresh process goes on with them. Where the platform
    cannot edit a message, one new line says that no answer came. An edit only changes what people see: a
    failed edit waits for the next look, and a press on an old button still gets a true answer.
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
        self._platforms = {(one.name, one.account): one for one in platforms if not one.capabilities.cards}
        self._connected = connected
        self._report = report
        self._after: DeliveryId | None = None
        """No card up to this delivery needs an edit or a line."""
        self._bell = Bell()

    @property
    def is_needed(self) -> bool:
        """Whether any platform here leaves the cards of questions to the gateway."""
        return bool(self._platforms)

    def poke(self) -> None:
        """Look again at once: a platform is back."""
        self._bell.ring()

    async def work(self) -> None:
        """Look for ever: whenever a question is closed, and ever less often while an edit fails."""
        left = 0
        while True:
            rung, seen = self._bell.rung, self._store.version("questions")
            try:
                left = left + 1 if await self._close_all() else 0
                wait = min(SOON * 2 ** (left - 1), LOOK_AGAIN) if left else LOOK_AGAIN
            except (SyncFailed, StoreClosed):
                raise
            except StoreFault as fault:
                self._report("closing the cards of questions", fault)
                wait = SOON
            await first_of(
                self._clock.sleep(wait), self._bell.since(rung), self._store.changed("questions", seen)
            )

    async def _close_all(self) -> bool:
        """Close every card that can be closed now; True if another try soon may close the rest."""
        found, newest = await self._store.cards(self._after)
        ours = [one for one in found if self._platform_of(one) is not None]
        over = [one for one in ours if one.state is not QuestionState.OPEN]
        # A question may close while its card is still being sent. No bell rings when the card has arrived.
        left = [one for one in over if not _is_settled(one) or not await self._close(one)]
        asked = [one for one in ours if one.state is QuestionState.OPEN]
        ids = [one.delivery.id for one in (*left, *asked)]
        self._after = DeliveryId(min(ids, default=newest + 1) - 1)
        return any(self._can_reach(one) for one in left)

    async def _close(self, card: QuestionCard) -> bool:
        platform, delivery = self._platform_of(card), card.delivery
        assert platform is not None
        if platform.capabilities.edit and delivery.platform_id is not None:
            if not await self._edit(platform, card, delivery.platform_id):
                return False
            await self._store.close_card(delivery.id)
        elif card.state in SILENT and (words := _line_for(card)) is not None:
            line = Owed(
                delivery.chat, f"unanswered:{card.question}", (words,), OwedKind.NOTICE, delivery.reply_to
            )
            await self._store.close_card(delivery.id, (line,))
        return True

    async def _edit(self, platform: Platform, card: QuestionCard, message: str) -> bool:
        if not self._can_reach(card):
            return False
        delivery = card.delivery
        longest = platform.capabilities.longest
        text = as_closed(delivery, card.kind, card.state, card.answer, longest, card.asked_by)
        try:
            edit = cast("Shows", platform).edit(delivery.chat, message, text)
            return await in_time(self._clock, WITHIN, edit)
        except (PlatformDown, TimeoutError):
            return False
        except Exception as fault:  # noqa: BLE001 - a fault of an adapter: this card is tried again
            self._report(f"closing the card of delivery {delivery.id}", fault)
            return False

    def _can_reach(self, card: QuestionCard) -> bool:
        return place_at(card.delivery.chat).platform in self._connected()

    def _platform_of(self, card: QuestionCard) -> Platform | None:
        place = place_at(card.delivery.chat)
        return self._platforms.get((place.platform, place.account))


def _line_for(card: QuestionCard) -> str | None:
    """The line for a question that was closed without an answer; None when no line is needed."""
    was_shown = card.delivery.state is DeliveryState.SENT
    if card.asked_by is AskedBy.SAFE_MODE:
        return withdrawn_line(card.delivery.text) if was_shown else None
    return unanswered_line(card.delivery.text, was_shown) if card.kind is QuestionKind.CLARIFY else None


def _is_settled(card: QuestionCard) -> bool:
    return card.delivery.state in DELIVERY.finals
