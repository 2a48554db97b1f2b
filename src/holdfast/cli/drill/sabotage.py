"""Known bugs to plant: a gateway with one function of the product replaced. The drill must notice each.

python -m holdfast.cli.drill.sabotage NAME HOME    runs a gateway with that bug
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import ModuleType
from typing import Any

from holdfast.clock import SystemClock
from holdfast.config.settings import LOCAL_PERSON
from holdfast.model import (
    Accepted,
    Batch,
    EffectClass,
    Inbound,
    InboxState,
    Owed,
    OwedKind,
    PlannedCall,
    Position,
    ToolCall,
    place_at,
)
from holdfast.platforms import Arrival
from holdfast.platforms.web import WebChat
from holdfast.policy.recovery.outcome import Decision, Outcome, RecoveryFacts, decide
from holdfast.policy.settings import RecoverySettings
from holdfast.process.main import run_and_exit
from holdfast.records import dataclass
from holdfast.recovery import Reconciler, verdicts
from holdfast.store import SqliteStore, Store
from holdfast.turns.tools.execute import ToolExecution
from holdfast.web import open_page

from .agent import asking

_WINDOW = 0.2
"""Seconds that a planted gap stays open. A real one lasts a millisecond; a few dozen kills must hit it."""

_clock = SystemClock()


def ack_before_commit() -> None:
    """Confirms a message a moment before it is kept."""
    post = WebChat.post
    later: set[asyncio.Task[Accepted]] = set()

    async def hasty(self: WebChat, arrival: Arrival) -> Accepted:
        async def keep() -> Accepted:
            await _clock.sleep(_WINDOW)
            return await post(self, arrival)

        task = asyncio.create_task(keep())
        later.add(task)
        task.add_done_callback(later.discard)
        return Accepted(arrival.event_id, Position(0), True)

    _replace(WebChat, "post", hasty)


def forget_events() -> None:
    """Gives every event a new id, so that an event that is sent again looks new."""
    post = WebChat.post
    count = iter(range(1, sys.maxsize))

    async def forgetful(self: WebChat, arrival: Arrival) -> Accepted:
        accepted = await post(
            self, replace(arrival, event_id=f"{arrival.event_id}:{_clock.now()}:{next(count)}")
        )
        await _clock.sleep(_WINDOW)
        return accepted

    _replace(WebChat, "post", forgetful)


def lose_replies() -> None:
    """Ends a turn in one commit and owes its reply in the next."""
    finish = SqliteStore.finish

    async def halved(self: SqliteStore, *args: Any, owe: tuple[Owed, ...] = (), **kwargs: Any) -> None:
        args, owe = (args[:3], args[3]) if len(args) > 3 else (args, owe)
        await finish(self, *args, **kwargs)
        await _clock.sleep(_WINDOW)
        for one in owe:
            await self.owe(one)

    _replace(SqliteStore, "finish", halved)


def rerun_effects() -> None:
    """Treats every tool as one that changes nothing, and runs an interrupted call again."""
    plan = ToolExecution.plan

    def careless(self: ToolExecution, call: ToolCall) -> PlannedCall:
        return replace(plan(self, call), effect=EffectClass.READ)

    _replace(ToolExecution, "plan", careless)


def resend_unmarked() -> None:
    """Sends the last reply of every chat once more at each start, in case it had not arrived."""

    async def again(store: Store) -> None:
        for session in await store.sessions():
            chat = (await store.session(session.id)).chat
            sent = [one for one in await store.deliveries(chat, limit=10_000) if one.kind is OwedKind.REPLY]
            if sent:
                await store.owe(Owed(chat, f"again:{store.instance}:{sent[-1].key}", (sent[-1].text,)))

    _at_start(again)


def phantom_turn() -> None:
    """Invents a message at each start, so that the agent works."""

    async def make_up(store: Store) -> None:
        for session in await store.sessions(limit=1):
            chat = (await store.session(session.id)).chat
            name = f"phantom-{store.instance}"
            row = Inbound(name, session.key, place_at(chat), LOCAL_PERSON, asking(name, 1))
            await store.accept(Batch("holdfast", (row,)))

    _at_start(make_up)


def lose_waiting() -> None:
    """Behaves as if the queue were in memory: waiting messages are gone after a crash."""

    async def drop(store: Store) -> None:
        for session in await store.sessions():
            for row in await store.waiting(session.key):
                await store.settle_row(row.position, InboxState.DROPPED, "forgotten")

    _at_start(drop)


def drop_held() -> None:
    """Cancels in safe mode what it should hold."""

    def rash(facts: RecoveryFacts, now: int, settings: RecoverySettings) -> Decision:
        decision = decide(facts, now, settings)
        if facts.safe_mode and decision.outcome in (Outcome.ASK, Outcome.HOLD):
            return Decision(replace(decision.row, outcome=Outcome.CANCEL), facts)
        return decision

    _replace(verdicts, "decide", rash)


@dataclass(frozen=True, slots=True)
class Sabotage:
    """A bug, and what the drill has to find."""

    plant: Callable[[], None]
    shows_as: str


SABOTAGES: Mapping[str, Sabotage] = {
    "ack-before-commit": Sabotage(ack_before_commit, "lost"),
    "lose-replies": Sabotage(lose_replies, "lost"),
    "lose-waiting": Sabotage(lose_waiting, "lost"),
    "forget-events": Sabotage(forget_events, "duplicated"),
    "resend-unmarked": Sabotage(resend_unmarked, "duplicated"),
    "phantom-turn": Sabotage(phantom_turn, "phantom"),
    "rerun-effects": Sabotage(rerun_effects, "effects_doubled"),
    "drop-held": Sabotage(drop_held, "dropped"),
}


def _replace(owner: type | ModuleType, name: str, bug: object) -> None:
    assert hasattr(owner, name), f"{owner.__name__} has no {name} any more: rewrite this sabotage"
    setattr(owner, name, bug)


def _at_start(before: Callable[[Store], Any]) -> None:
    """Run `before` whenever recovery begins."""
    work = Reconciler.work

    async def worse(self: Reconciler) -> None:
        await before(self.store)
        await work(self)

    _replace(Reconciler, "work", worse)


if __name__ == "__main__":
    SABOTAGES[sys.argv[1]].plant()
    run_and_exit(sys.argv[2:], open_page)
