"""The queue of updates that the bot has not confirmed: read by polling, kept for a day at most."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from holdfast.clock import Bell, Clock, first_of
from holdfast.records import dataclass

from .entities import Json
from .errors import conflict

DAY = 24 * 60 * 60 * 1_000
WEEK = 7 * DAY
FIRST = 100_000_001
MOST = 100
LONGEST_POLL = 50

ONLY_IF_ASKED = frozenset({"chat_member", "message_reaction", "message_reaction_count"})
"""Kinds that come only to a bot that names them."""


@dataclass(frozen=True, slots=True)
class Update:
    """One update in the queue."""

    id: int
    at: int
    kind: str
    content: Json
    chat: int | None

    def payload(self) -> Json:
        return {"update_id": self.id, self.kind: self.content}


def _unseen(update: Update) -> None:
    """Ignore the call."""


class Updates:
    """The updates that wait for the bot, in order."""

    def __init__(self, clock: Clock, changed: Bell) -> None:
        self._clock = clock
        self._changed = changed
        self._waiting: list[Update] = []
        self._next = FIRST
        self._last_at: int | None = None
        self._poll = 0
        self._stopped_by = ""
        self.allowed: frozenset[str] | None = None
        """The kinds the bot asked for; None: all but those in `ONLY_IF_ASKED`."""
        self.expired: list[Update] = []
        """Updates that the bot did not fetch within a day."""
        self.on_confirmed: Callable[[Update], None] = _unseen
        """Called with each update that will not come again."""

    @property
    def last(self) -> int:
        """The id of the last update."""
        return self._next - 1

    def add(self, kind: str, content: Json, chat: int | None = None) -> None:
        """Queue an update if the bot wants updates of its kind."""
        wanted = kind not in ONLY_IF_ASKED if self.allowed is None else kind in self.allowed
        if not wanted:
            return
        now = self._clock.now()
        if self._last_at is not None and now - self._last_at >= WEEK:
            # After a week of silence the next id is random, possibly below the earlier ones.
            self._next = _anywhere(self._next)
        self._last_at = now
        self._waiting.append(Update(self._next, now, kind, content, chat))
        self._next += 1
        self._changed.ring()

    def pending(self) -> list[Update]:
        """The waiting updates; those older than a day are dropped."""
        fresh = [update for update in self._waiting if self._clock.now() - update.at < DAY]
        self.expired += [update for update in self._waiting if update not in fresh]
        self._waiting = fresh
        return list(fresh)

    def drop(self, update_id: int | None = None) -> None:
        """Forget this one, or all of them."""
        self._waiting = [one for one in self._waiting if update_id not in (None, one.id)]
        self._changed.ring()

    def allow(self, kinds: frozenset[str] | None) -> None:
        """From now on only these kinds; an empty set restores the beginning."""
        if kinds is not None:
            self.allowed = kinds or None

    def stop_polling(self, by: str) -> None:
        """Answer the running poll that another reader came."""
        self._poll += 1
        self._stopped_by = by
        self._changed.ring()

    async def poll(self, offset: int, limit: int, seconds: int) -> list[Update]:
        """The updates from `offset` on; all before it are confirmed. Waits this many seconds for one.

        A new poll ends the one before it: one bot has one reader.
        """
        self.stop_polling("other getUpdates request; make sure that only one bot instance is running")
        mine = self._poll
        self._confirm(offset)
        deadline = self._clock.monotonic() + min(seconds, LONGEST_POLL)
        while True:
            rung = self._changed.rung
            found = self.pending()
            left = deadline - self._clock.monotonic()
            if found or left <= 0:
                return found[: limit if 0 < limit <= MOST else MOST]
            await first_of(self._changed.since(rung), self._clock.sleep(left))
            if self._poll != mine:
                raise conflict(f"terminated by {self._stopped_by}")

    def _confirm(self, offset: int) -> None:
        waiting = self.pending()
        if offset < 0:
            self._waiting = waiting[offset:]
        else:
            self._waiting = [update for update in waiting if update.id >= offset]
        for update in waiting[: len(waiting) - len(self._waiting)]:
            self.on_confirmed(update)


def _anywhere(number: int) -> int:
    drawn = hashlib.sha256(str(number).encode()).digest()
    return int.from_bytes(drawn[:4], "big") % 900_000_000 + 1
