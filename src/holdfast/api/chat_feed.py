"""Follow a chat: its deliveries by number, and each step of its turns as it is committed."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator

from holdfast.clock import Clock, first_of
from holdfast.model import ChatAddress, Entry, Key, SessionId, TurnId
from holdfast.records import dataclass
from holdfast.store import SessionLine, Store, chat_topic

from .draft_cache import DraftCache
from .queries import address_of, key_of
from .to_json import Json, delivery, entry

_PAGE = 100
_LOOK_AGAIN = 5.0
"""Seconds until the next look at the ledger without a wake-up: a wake-up is only a hint."""
_PREVIEW_EVERY = 0.1
"""Seconds between two looks at a model's draft."""


@dataclass(frozen=True, slots=True)
class ChatFeed:
    """Reads for one listener. Every event comes once and in order."""

    store: Store
    clock: Clock
    previews: DraftCache

    async def follow(
        self, chat: str, after: int = 0, session: str | None = None, seq: int = 0
    ) -> AsyncGenerator[Json, None]:
        """Without end: every delivery of the chat after that number, and the steps of its turns.

        The steps are those from now on, or those after `seq` of `session`, so that a reader who reconnects
        misses none. An empty `session` means that the reader came before there was a session: all steps are
        new. The first event says that the reader is connected. Other events show the model's draft as it
        grows (in part, and empty once it is committed or given up), and that a turn is at work, with the
        notice of a long one (and nothing once the turn is over).
        """
        address, watched = address_of(chat), _Steps(self.store, key_of(chat))
        topics = (chat_topic(address), "steps")
        await watched.skip(session, seq)
        live = _Live(self.previews, address)
        yield {"following": chat, **watched.cursor}
        while True:
            versions = [(topic, self.store.version(topic)) for topic in topics]
            async for found in watched.new():
                yield found
            async for one in self._owed(address, after):
                after = one["number"]
                yield {"delivery": one}
            until = self.clock.monotonic() + _LOOK_AGAIN
            while not self._is_time(versions, until):
                for shown in live.new(self.clock.monotonic()):
                    yield shown
                await first_of(
                    *(self.store.changed(topic, seen) for topic, seen in versions),
                    self.clock.sleep(max(0.0, until - self.clock.monotonic())),
                    live.more(self.clock),
                )

    def _is_time(self, versions: list[tuple[str, int]], until: float) -> bool:
        """Whether to look at the ledger again."""
        news = any(self.store.version(topic) > seen for topic, seen in versions)
        return news or self.clock.monotonic() >= until

    async def _owed(self, chat: ChatAddress, after: int) -> AsyncIterator[Json]:
        while page := await self.store.deliveries(chat, after, _PAGE):
            for one in page:
                yield delivery(one)
            after = page[-1].order


class _Live:
    """How much of a run's draft and notice this reader has got."""

    def __init__(self, previews: DraftCache, chat: ChatAddress) -> None:
        self._previews = previews
        self._chat = chat
        self._draft = ""
        self._work: Json | None = None
        self._rung = 0
        self._not_before = 0.0

    def new(self, now: float) -> list[Json]:
        """The changes since the last look, if it is time: text grows faster than people read."""
        rung, working = self._previews.bell.rung, self._previews.of(self._chat)
        draft = working.draft if working is not None else ""
        work: Json | None = {"notice": working.notice} if working is not None else None
        if draft and draft != self._draft and now < self._not_before:
            return []
        self._rung = rung
        found: list[Json] = []
        if work != self._work:
            self._work = work
            found.append({"working": work})
        if draft != self._draft:
            self._draft, self._not_before = draft, now + _PREVIEW_EVERY
            found.append({"preview": draft})
        return found

    async def more(self, clock: Clock) -> None:
        """Return when there may be something new to show."""
        await clock.sleep(_PREVIEW_EVERY)
        await self._previews.bell.since(self._rung)


class _Steps:
    """Which steps of a conversation the reader has got, in the order of its turns.

    A resumed session continues after later ones. So the turn of the last step that was sent says what is new
    in every session: the steps of all later turns.
    """

    def __init__(self, store: Store, key: Key) -> None:
        self._store = store
        self._key = key
        self._session: SessionId | None = None
        self._seq = 0
        self._turn = ""
        """The turn of that last step. Without a step: the id of the session, which sorts before its turns."""
        self._live: tuple[SessionId, int] | None = None
        """The live session and its incarnation at the last look at all sessions."""

    async def skip(self, session: str | None = None, seq: int = 0) -> None:
        """Start after the steps that the reader has, or without `session` after all existing steps."""
        if session is not None:
            self._session, self._seq = SessionId(session), seq
            shown = await self._store.transcript(self._session, seq - 1) if seq > 0 else ()
            self._turn = shown[0].turn if shown else session
            return
        for _, newest in sorted(await self._last_turns())[-1:]:
            # The last turn knows how long the transcript is, so the transcript itself is not read.
            (last,) = await self._store.turns(newest.id, 1)
            self._session, self._seq, self._turn = newest.id, last.last_seq, last.id

    @property
    def cursor(self) -> Json:
        """What the reader sends back after a break."""
        return {"session": self._session, "seq": self._seq} if self._session else {}

    async def new(self) -> AsyncIterator[Json]:
        """Every step since the last look, of all sessions that were live meanwhile, in order."""
        rest = await self._store.transcript(self._session, self._seq) if self._session else ()
        # Read after the steps: if the same session is still live, there are no other new steps.
        live = await self._store.live_session(self._key)
        now = None if live is None else (live.id, live.incarnation)
        if now is not None and now == self._live and now[0] == self._session:
            for one in rest:
                yield self._show(self._session, one)
            return
        self._live = now
        for line, one in await self._later():
            if one.seq == 1 and line.id != self._session:
                self._session, self._seq, self._turn = line.id, 0, line.id
                yield {"session": line.id, "began": line.began}
            yield self._show(line.id, one)

    async def _later(self) -> list[tuple[SessionLine, Entry]]:
        """The steps after the last one sent. The next look finds what begins during this one."""
        found = await self._last_turns()
        until = max((turn for turn, _ in found), default="")
        steps: list[tuple[SessionLine, Entry]] = []
        for turn, line in found:
            own = line.id == self._session
            if own or turn > self._turn:
                entries = await self._store.transcript(line.id, self._seq if own else 0)
                steps += [
                    (line, one) for one in entries if one.turn <= until and (own or one.turn > self._turn)
                ]
        return sorted(steps, key=lambda step: step[1].turn)

    async def _last_turns(self) -> list[tuple[TurnId, SessionLine]]:
        """The sessions of the conversation that have turns, each with its last turn."""
        found: list[SessionLine] = []
        while page := await self._store.sessions(found[-1].id if found else None, _PAGE, key=self._key):
            found += page
            if len(page) < _PAGE:
                break
        return [(line.turn, line) for line in found if line.turn is not None]

    def _show(self, session: SessionId, one: Entry) -> Json:
        self._session, self._seq, self._turn = session, one.seq, one.turn
        return {"entry": entry(one), "session": session}
