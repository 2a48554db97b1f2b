"""A process made to be killed: it keeps a ledger busy and tells of every commit, before and after.

Each line is a sign, a verb and the facts its commit makes true (`kind:name`): `?` it is about to be called,
`+` it has returned. One process stays and forks a fresh victim for every line it reads, so that two hundred
of them start in no time.
"""

import asyncio
import os
import sys
from collections.abc import Awaitable
from pathlib import Path
from typing import TypeVar

from holdfast.clock import SystemClock, SystemIds
from holdfast.model import (
    Batch,
    CallId,
    CallState,
    Claimed,
    EffectClass,
    Inbound,
    Owed,
    PlannedCall,
    Replied,
    Returned,
    Sent,
    StopReason,
    ToolCall,
    TurnState,
)
from holdfast.policy.settings import RecoverySettings, ResetSettings
from holdfast.store import ClaimSettings, Step, Store, open_ledger
from tests.support.ledger import ACCOUNT, ANN, PLATFORM, key, place, resume_all

T = TypeVar("T")

CHATS = ("c1", "c2", "c3", "c4", "c5")
WORKERS = 4
SENT_AT_ONCE = 2

SETTINGS = ClaimSettings(ResetSettings(), RecoverySettings(suspect_strikes=1_000_000))


def tell(sign: str, verb: str, *facts: object) -> None:
    os.write(1, " ".join([sign, verb, *map(str, facts)]).encode() + b"\n")


async def telling(verb: str, commit: Awaitable[T], *facts: str) -> T:
    """Tell of a commit whose facts are known beforehand."""
    tell("?", verb, *facts)
    result = await commit
    tell("+", verb, *facts)
    return result


class Victim:
    """Conversations in which a person waits for each answer before saying the next thing."""

    def __init__(self, store: Store, name: str) -> None:
        self._store = store
        self._name = name
        self._answered = {chat: asyncio.Event() for chat in CHATS}

    async def live(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for chat in CHATS:
                tasks.create_task(self._talk(chat))
            for _ in range(WORKERS):
                tasks.create_task(self._work())
            tasks.create_task(self._send())

    async def _talk(self, chat: str) -> None:
        number = 0
        while True:
            number += 1
            event = f"{self._name}.{chat}.{number}"
            message = Inbound(event, key(chat), place(chat), ANN, event)
            await telling("accept", self._store.accept(Batch(ACCOUNT, (message,))), f"inbox:{event}")
            await self._answered[chat].wait()
            self._answered[chat].clear()

    async def _work(self) -> None:
        while True:
            seen = self._store.version("turns")
            tell("?", "claim")
            claimed = await self._store.claim(SETTINGS, resume_all)
            if claimed is None:
                tell("+", "claim")
                await self._store.changed("turns", seen)
            else:
                tell("+", "claim", f"claimed:{claimed.turn.id}/{claimed.fence.generation}")
                await self._answer(claimed)

    async def _answer(self, claimed: Claimed) -> None:
        fence, turn = claimed.fence, claimed.turn.id
        said = f"{turn}/{fence.generation}"
        if not claimed.resumed:
            call = CallId("call")
            asks = Replied(f"{said}/asks", StopReason.CALLS, (ToolCall(call, "tool", "{}"),))
            planned = PlannedCall(call, "tool", "{}", EffectClass.EFFECT)
            step = Step((asks,), plan=(planned,), start=(call,))
            await telling("record", self._store.record(fence, step), f"entry:{said}/asks")
            step = Step((Returned(call, CallState.DONE, f"{said}/result"),))
            await telling("record", self._store.record(fence, step), f"entry:{said}/result")
        answer = Replied(f"{said}/answer", StopReason.COMPLETE)
        owed = Owed(claimed.place.address, f"reply/{said}", ("one", "two"))
        done = self._store.finish(fence, TurnState.DONE, (answer,), (owed,))
        await telling("finish", done, f"entry:{said}/answer", f"owed:reply/{said}")

    async def _send(self) -> None:
        while True:
            seen = self._store.version("outbox")
            tell("?", "send")
            taken = await self._store.claim_deliveries((PLATFORM,), SENT_AT_ONCE)
            tell("+", "send", *(f"sending:{delivery.id}" for delivery in taken))
            for delivery in taken:
                recorded = self._store.record_delivery(delivery.id, Sent(f"m-{delivery.id}"))
                await telling("sent", recorded, f"sent:{delivery.id}")
                if delivery.part == delivery.parts:
                    self._answered[delivery.chat.rpartition("/")[2]].set()
            if not taken:
                await self._store.changed("outbox", seen)


async def live(home: Path, name: str) -> None:
    clock = SystemClock()
    store = await open_ledger(home, clock, SystemIds(clock))
    await Victim(store, name).live()


def main(home: Path) -> None:
    for line in sys.stdin:
        victim = os.fork()
        if not victim:
            tell("=", "born", os.getpid())
            asyncio.run(live(home, line.strip()))
        _, status = os.waitpid(victim, 0)
        tell("=", "dead", os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
