"""Readers of a chat's feed, who are cut off and come back with their cursor, and must miss nothing."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from functools import partial
from typing import Any

from holdfast.api.chat_feed import ChatFeed
from holdfast.api.chat_snapshot import watch
from holdfast.api.to_json import Json
from holdfast.clock import Clock, in_time
from holdfast.model import ChatAddress
from holdfast.records import dataclass
from holdfast.store import Store
from holdfast.testing.sim.faults import FaultPlan
from holdfast.testing.sim.ports import SeededRng

from .history import FeedRead, History
from .ledger_view import LedgerView

CUT = 0.06
"""How often an event is lost with the connection while faults are on."""
COMES_AGAIN = (0.05, 1.0)
"""Seconds until a reader who was cut off is back."""
IDLE, AWAY = 12.0, 120.0
"""Seconds after which an idle page is closed, and until it is opened again."""
OnDelivery = Callable[[Json], None]
Work = Callable[[], Coroutine[Any, Any, None]]


class Reader:
    """A person with a page open on one chat, over all processes; the page knows only its cursor."""

    def __init__(
        self, chat: ChatAddress, history: History, faults: FaultPlan, rng: SeededRng, on_delivery: OnDelivery
    ) -> None:
        self.chat = chat
        self._history = history
        self._faults = faults
        self._rng = rng
        self._on_delivery = on_delivery
        self._after = 0
        self._session: str | None = None
        self._seq = 0

    async def read(self, following: ChatFeed) -> None:
        """Follow the chat as long as this process lives."""
        while True:
            feed = following.follow(self.chat, self._after, self._session, self._seq)
            await self._listen(feed, self._take, following.clock)

    async def look(self, store: Store, clock: Clock) -> None:
        """Watch the state of the chat as long as this process lives."""
        while True:
            await self._listen(watch(store, clock, self.chat), self._see, clock)

    async def _listen(
        self, feed: AsyncGenerator[Json, None], take: Callable[[Json], None], clock: Clock
    ) -> None:
        """Read until the connection is lost, or closed because nothing comes; then pause."""
        pause = self._rng.uniform(*COMES_AGAIN)
        async with aclosing(feed):
            try:
                while not self._is_cut():
                    take(await in_time(clock, IDLE, anext(feed)))
                self._history.cut_readers += 1
            except TimeoutError:
                pause = AWAY
        await clock.sleep(pause)

    def _is_cut(self) -> bool:
        return self._faults.on and self._rng.random() < CUT

    def _see(self, found: Json) -> None:
        self._history.last_looks[self.chat] = found

    def is_behind(self, look: LedgerView) -> bool:
        """Whether the reader has not seen everything."""
        number, entry, turn = look.newest_of(self.chat)
        found = self._history.last_looks.get(self.chat)
        shown = found and found["turn"]
        shows = (shown["id"], shown["state"]) if shown else None
        return self._after < number or (self._session or "", self._seq) != entry or shows != turn

    def _take(self, event: Json) -> None:
        if "following" in event:
            # A reader from before the first conversation has seen nothing of it.
            self._session, self._seq = event.get("session") or "", event.get("seq", 0)
            self._note("cursor", self._seq)
        elif "delivery" in event:
            self._after = event["delivery"]["number"]
            self._note("delivery", self._after)
            self._on_delivery(event["delivery"])
        elif "entry" in event:
            self._session, self._seq = event["session"], event["entry"]["seq"]
            self._note("entry", self._seq)
        elif "began" in event:
            self._session, self._seq = event["session"], 0

    def _note(self, what: str, number: int) -> None:
        self._history.read.append(FeedRead(self.chat, what, number, self._session or ""))


@dataclass(frozen=True, slots=True)
class FeedReaders:
    """All readers."""

    all: tuple[Reader, ...] = ()

    def behind(self, look: LedgerView) -> list[str]:
        """The readers who have not seen everything yet."""
        return [f"a reader of {one.chat} is behind" for one in self.all if one.is_behind(look)]

    def beside(self, following: ChatFeed) -> tuple[tuple[str, Work], ...]:
        """The tasks of a process for its readers."""
        found: list[tuple[str, Work]] = []
        for one in self.all:
            found.append((f"reader of {one.chat}", partial(one.read, following)))
            found.append((f"watcher of {one.chat}", partial(one.look, following.store, following.clock)))
        return tuple(found)
