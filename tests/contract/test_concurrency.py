"""Many claimers on few conversations: each turn is done once, by one, in the order its cause arrived."""

import asyncio
from pathlib import Path

import pytest

from holdfast.clock import SystemClock, SystemIds
from holdfast.model import Batch, Inbound, OwedKind, Position, SessionId, TurnState
from holdfast.policy.settings import QueueSettings
from holdfast.store import ArrivalSettings, Store
from tests.support.backends import BACKENDS
from tests.support.ledger import ACCOUNT, ANN, SETTINGS, answers, key, never_asked, owed, place
from tests.support.loops import LONG, on_a_loop

CLAIMERS, CHATS, TURNS, RUNS = 8, ("c1", "c2", "c3"), 1_500, 10
EACH = TURNS // len(CHATS)
AT_ONCE = 25
ROOMY = ArrivalSettings(QueueSettings(most=TURNS))


class Crowd:
    """Claimers that work while messages arrive, until every one has been answered."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._claimers: list[asyncio.Task[None]] = []
        self._running: set[SessionId] = set()
        self.two_at_once = 0
        self.answered: dict[SessionId, list[Position]] = {}

    async def run(self) -> None:
        async with asyncio.timeout(LONG), asyncio.TaskGroup() as tasks:
            self._claimers = [tasks.create_task(self._work()) for _ in range(CLAIMERS)]
            tasks.create_task(self._arrive())

    async def _arrive(self) -> None:
        for first in range(0, EACH, AT_ONCE):
            for chat in CHATS:
                numbers = range(first, first + AT_ONCE)
                batch = [Inbound(f"{chat} {n}", key(chat), place(chat), ANN, f"{n}") for n in numbers]
                await self._store.accept(Batch(ACCOUNT, tuple(batch)), ROOMY)

    async def _work(self) -> None:
        while True:
            seen = self._store.version("turns")
            if not await self._answer_one():
                await self._store.changed("turns", seen)

    async def _answer_one(self) -> bool:
        claimed = await self._store.claim(SETTINGS, never_asked)
        if claimed is None:
            return False
        session = claimed.session.id
        self.two_at_once += session in self._running
        self._running.add(session)
        self.answered.setdefault(session, []).append(claimed.cause.position)
        reply = owed(f"reply to {claimed.cause.event_id}", chat=claimed.place.chat)
        await self._store.finish(claimed.fence, TurnState.DONE, (answers(),), (reply,))
        self._running.discard(session)
        if sum(map(len, self.answered.values())) == TURNS and not self._running:
            for claimer in self._claimers:
                claimer.cancel()
        return True


@pytest.mark.parametrize("run", range(RUNS))
@pytest.mark.parametrize("backend", BACKENDS)
@on_a_loop
async def test_every_turn_is_done_once_by_one_owner_in_order(tmp_path: Path, backend: str, run: int) -> None:
    clock = SystemClock()
    store = await BACKENDS[backend](tmp_path).open(clock, SystemIds(clock))
    crowd = Crowd(store)
    await crowd.run()
    assert crowd.two_at_once == 0
    sessions = [await store.session(line.id) for line in await store.sessions()]
    assert len(sessions) == len(CHATS)
    assert sum(session.generation for session in sessions) == TURNS
    assert {session.strikes for session in sessions} == {0}
    for session in sessions:
        turns = await store.turns(session.id, limit=TURNS)
        assert len(turns) == EACH
        assert {(turn.state, turn.attempt, turn.owner) for turn in turns} == {(TurnState.DONE, 1, None)}
        causes = [turn.cause for turn in sorted(turns, key=lambda turn: turn.generation)]
        assert causes == sorted(set(causes)) == crowd.answered[session.id]
        owed_here = await store.deliveries(session.chat, limit=2 * TURNS)
        assert [one.order for one in owed_here] == list(range(1, len(owed_here) + 1))
        assert sum(one.kind is OwedKind.REPLY for one in owed_here) == EACH
    assert await store.claim(SETTINGS, never_asked) is None
    assert await store.verify() == ()
    await store.close()
