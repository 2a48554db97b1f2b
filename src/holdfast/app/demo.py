"""The demonstration put together: one conversation in the terminal, on the real ledger and stages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from holdfast.agents import demo_agent
from holdfast.clock import SystemClock, SystemIds, SystemRng
from holdfast.inbox import Intake
from holdfast.model import (
    ChatKind,
    Entry,
    Origin,
    OwedKind,
    Place,
    Sharing,
    Stopped,
    Turn,
    conversation_key,
)
from holdfast.outbox import Sender
from holdfast.platforms import Terminal
from holdfast.policy.settings import RecoverySettings, ResetSettings
from holdfast.recovery import Outside, Reconciler, judge_stale
from holdfast.store import ClaimSettings, Store, open_ledger
from holdfast.turns import Pool, Runner

from .config import Config

PLACE = Place("terminal", "local", "demo")
PERSON = Origin(PLACE, ChatKind.DIRECT, "you")
KEY = conversation_key(PERSON, Sharing())


@dataclass(frozen=True, slots=True)
class Demo:
    """A gateway with one chat: your terminal."""

    store: Store
    ids: SystemIds
    intake: Intake
    pool: Pool
    sender: Sender
    reconciler: Reconciler

    async def unfinished(self) -> Turn | None:
        """The turn a former run left open, if any."""
        session = await self.store.live_session(KEY)
        turns = await self.store.turns(session.id, limit=1) if session else ()
        return turns[0] if turns and turns[0].ended_at is None else None

    async def say(self, text: str) -> None:
        """Send one message, as a person would."""
        await self.intake.take(PERSON, self.ids.new(), text)

    async def transcript(self) -> tuple[Entry, ...]:
        """What the conversation holds now."""
        session = await self.store.live_session(KEY)
        return await self.store.transcript(session.id) if session else ()

    async def work(self) -> None:
        """Run what is to be run, then deliver what is owed."""
        while await self.pool.work_once():
            pass
        sending = asyncio.ensure_future(self.sender.work())
        try:
            await self.sender.quiet()
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)


@asynccontextmanager
async def open_demo(config: Config, show: Callable[[OwedKind, str], None]) -> AsyncIterator[Demo]:
    """Open the ledger, put the stages on it, and leave in good order."""
    clock = SystemClock()
    ids = SystemIds(clock)
    settings = RecoverySettings()
    store: Store = await open_ledger(config.home, clock, ids)

    def outside() -> Outside:
        return Outside(frozenset({store.instance}), frozenset({PLACE.platform}), lambda _: True)

    workspace = config.home / "workspace"
    runner = Runner(store, clock, SystemRng(), demo_agent(clock, config.pace), workspace)
    demo = Demo(
        store,
        ids,
        Intake(store),
        Pool(
            store,
            clock,
            runner,
            lambda: ClaimSettings(ResetSettings(), settings),
            lambda stale, now: judge_stale(stale, now, outside(), settings),
        ),
        Sender(store, clock, SystemRng(), Terminal(show)),
        Reconciler(store, clock, settings, outside),
    )
    try:
        yield demo
    finally:
        await store.end_instance(Stopped.STOPPED)
        await store.close()
