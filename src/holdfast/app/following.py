"""Following a chat: what it is owed, by number, and what its turns commit, as it is committed."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator

from holdfast.clock import Clock, first_of
from holdfast.model import ChatAddress, Key, SessionId
from holdfast.records import dataclass
from holdfast.store import SessionLine, Store, chat_topic

from .looks import address_of, key_of
from .previews import Previews
from .shown import Json, delivery, entry

_PAGE = 100
_LOOK_AGAIN = 5.0
"""Seconds after which the ledger is looked at unasked: a wake-up is a hint."""
_PREVIEW_EVERY = 0.1
"""Seconds between two looks at what a model is writing."""


@dataclass(frozen=True, slots=True)
class Following:
    """Reads for one who listens; everything comes once and in order."""

    store: Store
    clock: Clock
    previews: Previews

    async def follow(
        self, chat: str, after: int = 0, session: str | None = None, seq: int = 0
    ) -> AsyncGenerator[Json, None]:
        """For ever: everything the chat is owed after that number, and the steps of its turns.

        The steps are those from now on, or those after `seq` of `session`: who was cut off misses none. A
        `session` without a name is that of a reader who came before there was any: all steps are new. The
        first event says that somebody listens. Also what the model is writing, as it grows: some of it and
        never all, and no text when that is committed or given up; and that a turn is at work here, with the
        words for one that takes long, and with nothing once it is over.
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
        """Whether the ledger is to be looked at again."""
        news = any(self.store.version(topic) > seen for topic, seen in versions)
        return news or self.clock.monotonic() >= until

    async def _owed(self, chat: ChatAddress, after: int) -> AsyncIterator[Json]:
        while page := await self.store.deliveries(chat, after, _PAGE):
            for one in page:
                yield delivery(one)
            after = page[-1].order


class _Live:
    """How much of what a chat is shown of a run has been passed on."""

    def __init__(self, previews: Previews, chat: ChatAddress) -> None:
        self._previews = previews
        self._chat = chat
        self._draft = ""
        self._work: Json | None = None
        self._rung = 0
        self._not_before = 0.0

    def new(self, now: float) -> list[Json]:
        """What has changed, if it is time: text grows faster than people read."""
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
    """How far the transcript of a conversation has been shown."""

    def __init__(self, store: Store, key: Key) -> None:
        self._store = store
        self._key = key
        self._session: SessionId | None = None
        self._seq = 0

    async def skip(self, session: str | None = None, seq: int = 0) -> None:
        """What was seen, or without a word on that what is there already, is history."""
        if session is not None:
            self._session, self._seq = SessionId(session), seq
            return
        live = await self._store.live_session(self._key)
        # Between two conversations the last one is the one that is known.
        newest = [live.id] if live is not None else [one.id for one in await self._newest()]
        for session in newest:
            # Its last turn knows how far the transcript goes: however long that is, none of it is read.
            last = await self._store.turns(session, 1)
            self._session, self._seq = session, last[0].last_seq if last else 0

    async def _newest(self) -> tuple[SessionLine, ...]:
        return await self._store.sessions(None, 1, key=self._key)

    @property
    def cursor(self) -> Json:
        """What to give back after a break."""
        return {"session": self._session, "seq": self._seq} if self._session else {}

    async def new(self) -> AsyncIterator[Json]:
        """Every step since the last look, of all sessions that were live meanwhile, in their order."""
        later = await self._later()
        # The session that was shown may have grown until its end, which the look at later ones comes after.
        async for found in self._rest():
            yield found
        for session, began in later:
            self._session, self._seq = session, 0
            yield {"session": session, "began": began}
            async for found in self._rest():
                yield found

    async def _later(self) -> list[tuple[SessionId, str]]:
        """Sessions of this conversation after the one that was shown, and what each began with."""
        live = await self._store.live_session(self._key)
        if live is not None and live.id == self._session:
            return []
        # A session that was taken up again has turns that are younger than the session it was left for.
        last = await self._store.turns(self._session, 1) if self._session else ()
        shown = last[0].id if last else self._session or ""
        found: list[tuple[SessionId, str]] = []
        while page := await self._store.sessions(found[-1][0] if found else None, _PAGE, key=self._key):
            later = [(one.id, one.began) for one in page if one.id > shown]
            found += later
            if len(later) < _PAGE:
                break
        if live is not None and not found:
            # An earlier conversation was taken up again.
            return [(live.id, live.began.value)]
        return found[::-1]

    async def _rest(self) -> AsyncIterator[Json]:
        """What the transcript of the session holds that was not shown yet."""
        if not self._session:
            return
        for one in await self._store.transcript(self._session, self._seq):
            self._seq = one.seq
            yield {"entry": entry(one), "session": self._session}
