"""Readers of a chat's feed, who are cut off and come again with their cursor, and what they never miss."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import aclosing
from functools import partial
from typing import Any

from holdfast.app.chats import watch
from holdfast.app.following import Following
from holdfast.app.shown import Json
from holdfast.clock import Clock, in_time
from holdfast.model import TURN, ChatAddress
from holdfast.records import dataclass
from holdfast.store import Store

from .faults import Faults
from .history import History, Read
from .ledger_view import LedgerView
from .ports import SeededRng

CUT = 0.06
"""How often an event is lost with the connection, while things go wrong."""
COMES_AGAIN = (0.05, 1.0)
"""Seconds until a reader who was cut off is there again."""
IDLE, AWAY = 12.0, 120.0
"""Seconds after which a page on which nothing happens is closed, and until it is opened again."""
OnDelivery = Callable[[Json], None]
Work = Callable[[], Coroutine[Any, Any, None]]


class Reader:
    """Somebody with a page open on one chat, over all processes: all they know is their cursor."""

    def __init__(
        self, chat: ChatAddress, history: History, faults: Faults, rng: SeededRng, on_delivery: OnDelivery
    ) -> None:
        self.chat = chat
        self._history = history
        self._faults = faults
        self._rng = rng
        self._on_delivery = on_delivery
        self._after = 0
        self._session: str | None = None
        self._seq = 0

    async def read(self, following: Following) -> None:
        """Follow the chat for as long as this process lives."""
        while True:
            feed = following.follow(self.chat, self._after, self._session, self._seq)
            await self._listen(feed, self._take, following.clock)

    async def look(self, store: Store, clock: Clock) -> None:
        """Watch how the chat stands for as long as this process lives."""
        while True:
            await self._listen(watch(store, clock, self.chat), self._see, clock)

    async def _listen(
        self, feed: AsyncGenerator[Json, None], take: Callable[[Json], None], clock: Clock
    ) -> None:
        """Take what comes until the connection is lost, or closed because nothing comes; then pause."""
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
        """Whether there is something that they have not been shown."""
        number, entry, turn = look.newest_of(self.chat)
        found = self._history.last_looks.get(self.chat)
        shown = found and found["turn"]
        shows = (shown["id"], shown["state"]) if shown else None
        return self._after < number or (self._session or "", self._seq) != entry or shows != turn

    def _take(self, event: Json) -> None:
        if "following" in event:
            # Who came before there was any conversation has seen nothing of the first.
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
        self._history.read.append(Read(self.chat, what, number, self._session or ""))


@dataclass(frozen=True, slots=True)
class Readers:
    """Everybody who reads along."""

    all: tuple[Reader, ...] = ()

    def behind(self, look: LedgerView) -> list[str]:
        """Whoever has not been shown everything yet."""
        return [f"a reader of {one.chat} is behind" for one in self.all if one.is_behind(look)]

    def beside(self, following: Following) -> tuple[tuple[str, Work], ...]:
        """What a process does for them."""
        found: list[tuple[str, Work]] = []
        for one in self.all:
            found.append((f"reader of {one.chat}", partial(one.read, following)))
            found.append((f"watcher of {one.chat}", partial(one.look, following.store, following.clock)))
        return tuple(found)


def readers_miss_nothing(history: History) -> Iterator[str]:
    """R10.1: who comes again with their cursor has seen all there is, once and in order."""
    by_chat: dict[str, list[Read]] = defaultdict(list)
    for read in history.read:
        by_chat[read.chat].append(read)
    for chat, reads in by_chat.items():
        owed = [line.number for line in history.ledger.outbox if line.chat == chat]
        seen = [read.number for read in reads if read.what == "delivery"]
        if seen != sorted(owed):
            yield f"a reader of {chat} has seen {_short(seen)}, and {_short(sorted(owed))} were owed there"
        yield from _steps(history, chat, reads)
    yield from _looks(history)


def _steps(history: History, chat: str, reads: list[Read]) -> Iterator[str]:
    """Every entry of the conversation since the reader was first there, turn by turn."""
    first = next((read for read in reads if read.what == "cursor"), None)
    if first is None:
        return
    sessions = {turn.session for turn in history.ledger.turns if turn.key == chat}
    turns = {(line.session, line.seq): line.turn for line in history.ledger.entries}
    # A session that is taken up again goes on after later ones: what is new is told by its turn.
    last = turns.get((first.session, first.number), first.session)
    wanted: dict[str, list[int]] = defaultdict(list)
    for line in history.ledger.entries:
        known = line.seq <= first.number if line.session == first.session else line.turn < last
        if line.session in sessions and not known:
            wanted[line.session].append(line.seq)
    seen: dict[str, list[int]] = defaultdict(list)
    order = [(read.session, read.number) for read in reads if read.what == "entry"]
    for session, number in order:
        seen[session].append(number)
    began = [turns.get(one, "") for one in order]
    if began != sorted(began):
        yield f"a reader of {chat} has seen steps of a turn after those of a later one"
    for session in sorted({*wanted, *seen}):
        if seen[session] != wanted[session]:
            words = f"{_short(seen[session])} of session {session}, which has {_short(wanted[session])}"
            yield f"a reader of {chat} has seen the entries {words}"


def _looks(history: History) -> Iterator[str]:
    """At rest, what a page shows of a chat is how the chat stands."""
    for chat, found in history.last_looks.items():
        turns = [turn for turn in history.ledger.turns if turn.key == chat and turn.state not in TURN.finals]
        stands = {(turn.id, turn.state) for turn in turns}
        shows = {(found["turn"]["id"], found["turn"]["state"])} if found["turn"] else set()
        if shows != stands:
            yield f"a page of {chat} shows {sorted(shows)} at rest, and there is {sorted(stands)}"


def _short(numbers: list[int]) -> str:
    """A list with its runs shortened."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs) or "none"
