"""A commit during a look is looked at at once: each worker reads the version before it looks, not after.

If it read the version after its look, what is committed in between would wait for the next look that time
alone brings: seconds, or a minute.
"""

import asyncio
import inspect
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any, cast

import pytest

from holdfast.api.access import AccessCheck
from holdfast.api.chat_feed import ChatFeed
from holdfast.api.chat_snapshot import watch
from holdfast.api.draft_cache import DraftCache
from holdfast.clock import Bell, Clock, first_of
from holdfast.gateway.restart_requests import RestartRequests
from holdfast.inbox import CommandContext, Commands, Watcher
from holdfast.model import StopKind, TurnState
from holdfast.outbox import ClosedCards, Sender
from holdfast.platforms import Ack, Capabilities
from holdfast.policy.intake.access import Access
from holdfast.policy.settings import PairingSettings, ProcessSettings, RecoverySettings
from holdfast.recovery import Outside, Reconciler
from holdfast.store import Store
from holdfast.store.sqlite.changes import Changes
from holdfast.testing import ManualClock, SimProcesses
from holdfast.turns import Pool, PoolSettings, Runner, Showing
from tests.support.ledger import SETTINGS, Ledger, address, key, resume_all
from tests.support.platforms import FakePlatform, HalfRng
from tests.support.stage import Stage, hangs, soon

SHORT = 0.3
"""Seconds that pass at once here: what a worker waits between two looks at the least."""


class Still(ManualClock):
    """A clock that stands still; only the shortest waits end."""

    async def sleep(self, seconds: float) -> None:
        if seconds > SHORT:
            await super().sleep(seconds)


class Meanwhile:
    """A store on which something is committed, of every topic, right after a verb has read."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._changes = Changes()
        self._topics: set[str] = set()
        self._reading = 0
        self._waiting = 0
        self._during: str | None = None
        self._news = Bell()
        self.calls: Counter[str] = Counter()

    def version(self, topic: str) -> int:
        self._topics.add(topic)
        return self._store.version(topic) + self._changes.version(topic)

    async def changed(self, topic: str, since: int) -> int:
        self._waiting += 1
        self._news.ring()
        try:
            while self.version(topic) <= since:
                theirs, ours = self._store.version(topic), self._changes.version(topic)
                await first_of(self._store.changed(topic, theirs), self._changes.changed(topic, ours))
        finally:
            self._waiting -= 1
        return self.version(topic)

    def commit(self) -> None:
        self._changes.announce(self._topics)

    def commit_during(self, verb: str) -> None:
        """The next time this verb has read, and whoever called it does not know yet what it found."""
        self._during = verb

    async def until(self, is_so: Callable[[], bool]) -> None:
        while not is_so():
            await self._news.since(self._news.rung)

    def at_rest(self, verb: str) -> bool:
        return bool(self.calls[verb]) and self._waiting > 0 and not self._reading

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._store, name)
        if not inspect.iscoroutinefunction(real):
            return real

        async def read(*given: Any, **named: Any) -> Any:
            self._reading += 1
            try:
                found = await real(*given, **named)
            finally:
                self._reading -= 1
            self.calls[name] += 1
            if self._during == name:
                self._during = None
                self.commit()
            self._news.ring()
            return found

        return read


def shows() -> FakePlatform:
    return FakePlatform(Capabilities(Ack.OFFSET, buttons=True, edit=True, notices=True))


def connected() -> tuple[str, ...]:
    return (FakePlatform.name,)


def nothing_outside() -> Outside:
    return Outside(frozenset(), frozenset(), frozenset(), lambda person: True)


async def drained(events: AsyncGenerator[Any, None]) -> None:
    async for _ in events:
        pass


def claiming(store: Store, clock: Clock) -> Coroutine[Any, Any, None]:
    """Nothing is ready for it, so nobody is needed who would run it."""
    return Pool(store, clock, cast(Runner, None), lambda: SETTINGS, resume_all, PoolSettings()).work()


Work = Callable[[Store, Clock], Coroutine[Any, Any, None]]

WORKERS: dict[str, tuple[str, Work]] = {
    "turns": ("claim_ready", claiming),
    "requests": ("requests", lambda s, c: RestartRequests(s, c, 0, lambda: True, lambda why: None).work()),
    "people": ("grants", lambda s, c: AccessCheck(s, c, Access(), PairingSettings()).work()),
    "question cards": ("cards", lambda s, c: ClosedCards(s, c, (shows(),), connected).work()),
    "sender": ("claim_deliveries", lambda s, c: Sender(s, c, HalfRng(), FakePlatform()).work()),
    "sends in doubt": ("in_doubt", lambda s, c: Sender(s, c, HalfRng(), FakePlatform()).work()),
    "commands": ("commands", lambda s, c: Commands(CommandContext(s, c, Access), HalfRng()).work()),
    "processes": ("processes", lambda s, c: Watcher(s, SimProcesses(), c, ProcessSettings()).work()),
    "notices": ("live_notices", lambda s, c: Showing(s, c, (shows(),), connected=connected).work()),
    "recovery": (
        "interrupt_orphans",
        lambda s, c: Reconciler(s, c, RecoverySettings(), nothing_outside).work(),
    ),
    "a page that follows a chat": (
        "deliveries",
        lambda s, c: drained(ChatFeed(s, c, DraftCache()).follow(address())),
    ),
    "a page that shows how a chat is": ("waiting", lambda s, c: drained(watch(s, c, address()))),
}


@pytest.mark.parametrize("worker", WORKERS)
async def test_what_is_committed_during_a_look_is_looked_at_at_once(ledger: Ledger, worker: str) -> None:
    await ledger.complete()
    store, clock = Meanwhile(ledger.store), Still(ledger.clock.now())
    verb, work = WORKERS[worker]
    task = asyncio.ensure_future(work(cast(Store, store), clock))
    try:
        await soon(store.until(lambda: store.at_rest(verb)))
        before = store.calls[verb]
        store.commit_during(verb)
        store.commit()
        await soon(store.until(lambda: store.calls[verb] >= before + 2))
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_a_stop_that_comes_during_the_look_for_stops_is_heard(ledger: Ledger) -> None:
    """Nothing else wakes the look for stops: one that it missed would wait for the next stop."""
    chats = ("c1", "c2")
    for chat in chats:
        await ledger.say("work", chat=chat)

    async def stop_the_other() -> None:
        await ledger.store.stop(key("c2"), StopKind.STOP, None)

    async with Stage(ledger, hangs, hangs) as stage:
        while len(stage.model.shown) < 2:
            stage.model.asked.clear()
            await soon(stage.model.asked.wait())
        stage.store.after["stops"] = stop_the_other
        await ledger.store.stop(key("c1"), StopKind.STOP, None)
        await stage.quiet()
        assert [(await stage.turn(chat)).state for chat in chats] == [TurnState.CANCELLED] * 2
