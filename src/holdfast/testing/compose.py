"""A gateway of the stages, put together as small as can be, for worlds that look at the stages alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.agents import Model
from holdfast.clock import Clock, Ids, Rng
from holdfast.model import Batch, Inbound, SetAside, Sharing, conversation_key
from holdfast.outbox import Sender
from holdfast.platforms import Arrival, Incoming, Platform, PlatformDown
from holdfast.policy.settings import RecoverySettings, ResetSettings
from holdfast.recovery import Outside, Reconciler, judge_stale
from holdfast.store import ClaimSettings, Store
from holdfast.tools import Tool
from holdfast.turns import Agent, Runner, Toolbox, Worker

WORKERS = 3
ROUND = 5.0
LOOK = 1.0


@dataclass(frozen=True, slots=True)
class Parts:
    """What a process is made from: the ports it may use, and nothing else."""

    store: Store
    clock: Clock
    rng: Rng
    ids: Ids
    platforms: tuple[Platform, ...]
    model: Model
    tools: dict[str, Tool]


Boot = Callable[[Parts], Coroutine[Any, Any, None]]
"""Runs a gateway made from these parts until it stops in order."""


async def thin_gateway(parts: Parts) -> None:
    """The stages beside each other, each in its simplest loop."""
    settings = RecoverySettings()
    store, clock = parts.store, parts.clock
    connected = frozenset(platform.name for platform in parts.platforms)

    def outside() -> Outside:
        return Outside(frozenset({store.instance}), connected, lambda _: True)

    agent = Agent(parts.model, Toolbox(parts.tools, Path("nowhere")))
    runner = Runner(store, clock, agent, settings)
    worker = Worker(
        store,
        runner,
        ClaimSettings(ResetSettings(), settings),
        lambda stale, now: judge_stale(stale, now, outside(), settings),
    )
    async with asyncio.TaskGroup() as stages:
        stages.create_task(_reconcile(Reconciler(store, clock, settings, outside)), name="reconciler")
        for platform in parts.platforms:
            stages.create_task(_receive(parts, platform), name=f"receiver {platform.name}")
            stages.create_task(_send(parts, platform), name=f"sender {platform.name}")
        for number in range(WORKERS):
            stages.create_task(worker.work(), name=f"worker {number}")


async def _reconcile(reconciler: Reconciler) -> None:
    while True:
        await reconciler.round()
        await reconciler.clock.sleep(ROUND)


async def _receive(parts: Parts, platform: Platform) -> None:
    account = f"{platform.name}/{platform.account}"
    while True:
        try:
            await platform.connect()
            while True:
                cursor = await parts.store.cursor(account, platform.cursor) if platform.cursor else None
                incoming = await platform.receive(cursor)
                accepted = await parts.store.accept(_batch(account, incoming))
                await platform.confirm(incoming, accepted)
        except PlatformDown as down:
            await parts.clock.sleep(down.retry_after or LOOK)


def _batch(account: str, incoming: Incoming) -> Batch:
    return Batch(
        account,
        tuple(
            Inbound(
                event.event_id,
                conversation_key(event.origin, Sharing()),
                event.origin.place,
                event.origin.person,
                event.text,
                message_id=event.message_id,
                sent_at=event.sent_at,
            )
            for event in incoming.events
            if isinstance(event, Arrival)
        ),
        tuple(event for event in incoming.events if isinstance(event, SetAside)),
        cursor=incoming.cursor,
    )


async def _send(parts: Parts, platform: Platform) -> None:
    sender = Sender(parts.store, parts.clock, platform)
    while True:
        seen = parts.store.version("outbox")
        await sender.settle_doubts()
        if not await sender.send_due():
            changed = asyncio.ensure_future(parts.store.changed("outbox", seen))
            timer = asyncio.ensure_future(parts.clock.sleep(ROUND))
            await asyncio.wait((changed, timer), return_when=asyncio.FIRST_COMPLETED)
            changed.cancel()
            timer.cancel()
