"""The life of a gateway: the one order in which it starts, and the one order in which it stops."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Protocol

from holdfast.clock import Clock
from holdfast.config.settings import DrainSettings
from holdfast.errors import Report, StoreFault
from holdfast.model import Interruption, OnInterruption, Stopped
from holdfast.platforms import Platform
from holdfast.policy.intake.admission import Drain
from holdfast.policy.recovery.drain_notice import farewells
from holdfast.policy.settings import SECOND
from holdfast.records import dataclass
from holdfast.store import Store

from .stage_tasks import StageTasks, Work

BEYOND_GRACE = 3 * SECOND
"""Milliseconds that the cut of all runs may take beyond the grace that tools get."""
STEPS_AFTER_CUT = 3
LOOK_AGAIN = 0.25
"""Seconds between two looks at unsent replies: a reply that its platform took rings no bell."""


class RunState(StrEnum):
    """The states of a gateway, from its creation to its stop."""

    NEW = "new"
    RUNNING = "running"
    DRAINING = "draining"
    """No turn starts. The gateway waits for running turns and unsent replies, and still keeps messages."""
    STOPPING = "stopping"
    """The remaining turns are interrupted. The gateway stops its stages and closes its platforms."""
    STOPPED = "stopped"


CUT_BY: Mapping[Drain, Interruption] = MappingProxyType(
    {Drain.RESTART: Interruption.RESTART_TIMEOUT, Drain.SHUTDOWN: Interruption.SHUTDOWN_TIMEOUT}
)
ENDS_AS: Mapping[Drain, Stopped] = MappingProxyType(
    {Drain.RESTART: Stopped.RESTART, Drain.SHUTDOWN: Stopped.STOPPED}
)


class Turns(Protocol):
    """The part of the pool of workers that a stop needs."""

    def stop_claiming(self) -> None: ...

    async def quiet(self) -> None: ...

    async def cut(self, reason: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Stages:
    """All stages, in the order in which they start."""

    reading: tuple[tuple[str, Work], ...]
    """One per platform: it connects by itself, now or later, and delays no other."""
    recovery: Work
    turns: Work
    commands: Work
    sending: tuple[tuple[str, Work], ...]
    upkeep: tuple[tuple[str, Work], ...]


def start(stage_tasks: StageTasks, stages: Stages) -> None:
    """Start all stages, once the ledger is open. No stage waits for another.

    Recovery looks at interrupted work as soon as it runs, and again when the platform of that work connects.
    Turns may begin at once: the ledger starts none in a conversation with interrupted work.
    """
    for name, work in stages.reading:
        stage_tasks.start(f"reading {name}", work)
    stage_tasks.start("recovery", stages.recovery)
    stage_tasks.start("turns", stages.turns)
    stage_tasks.start("commands", stages.commands)
    for name, work in stages.sending:
        stage_tasks.start(f"sending {name}", work)
    for name, work in stages.upkeep:
        stage_tasks.start(name, work)


@dataclass(frozen=True, slots=True)
class Leaving:
    """The parts that a stop needs."""

    store: Store
    clock: Clock
    turns: Turns
    stage_tasks: StageTasks
    platforms: tuple[Platform, ...]
    connected: Callable[[], tuple[str, ...]]
    settings: DrainSettings
    grace: int
    """Milliseconds that tools get to end by themselves when their turn is cut."""
    on_interruption: OnInterruption
    """The setting for chats that have not chosen one."""
    hurry: asyncio.Event
    """Set when the stop must not wait any longer."""
    enter: Callable[[RunState], None]
    report: Report


async def stop(leaving: Leaving, why: Drain) -> Stopped:
    """Stop the gateway in order. A step that fails is reported, and the next steps follow."""
    leaving.enter(RunState.DRAINING)
    leaving.turns.stop_claiming()
    await _step(leaving, "sending the drain notice", _tell(leaving, why))
    await _wait_for_work(leaving)
    await _bounded(leaving, "cutting the runs", leaving.turns.cut(CUT_BY[why]), leaving.grace + BEYOND_GRACE)
    leaving.enter(RunState.STOPPING)
    await _bounded(leaving, "stopping the stages", leaving.stage_tasks.stop())
    await _bounded(leaving, "closing the platforms", _close(leaving))
    await _bounded(leaving, "recording the end of the instance", leaving.store.end_instance(ENDS_AS[why]))
    leaving.enter(RunState.STOPPED)
    return ENDS_AS[why]


async def _tell(leaving: Leaving, why: Drain) -> None:
    """Send the drain notice to each chat with a running turn, and to no other, once per process."""
    once = f"leaving:{leaving.store.instance}"
    words = farewells(why, 0 if leaving.hurry.is_set() else leaving.settings.wait)
    await leaving.store.tell_running(words, leaving.on_interruption, once)


async def _wait_for_work(leaving: Leaving) -> None:
    """Wait until no turn runs and no reply is unsent, the time is up, or `hurry` is set."""
    until = leaving.clock.now() + leaving.settings.wait
    tasks: list[asyncio.Future[Any]] = [
        asyncio.ensure_future(_all_quiet(leaving, until)),
        asyncio.ensure_future(leaving.clock.sleep(leaving.settings.wait / SECOND)),
        asyncio.ensure_future(leaving.hurry.wait()),
    ]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _all_quiet(leaving: Leaving, until: int) -> None:
    while True:
        await leaving.turns.quiet()
        try:
            if not await leaving.store.unsent(leaving.connected(), until):
                return
        except StoreFault as fault:
            leaving.report("looking for unsent replies", fault)
        await leaving.clock.sleep(LOOK_AGAIN)


async def _close(leaving: Leaving) -> None:
    closings = [_step(leaving, f"closing {one.name}", one.close()) for one in leaving.platforms]
    await asyncio.gather(*closings)


async def _step(leaving: Leaving, name: str, work: Coroutine[Any, Any, object]) -> None:
    try:
        await work
    except Exception as fault:  # noqa: BLE001 - a stop goes on after a failed step
        leaving.report(name, fault)


async def _bounded(
    leaving: Leaving, name: str, work: Coroutine[Any, Any, object], within: float | None = None
) -> None:
    """Give a step its time, or its share of the teardown; then cancel it and go on.

    The stop does not wait for the cancelled step: a step that hangs may ignore the cancel as well.
    """
    seconds = (leaving.settings.teardown / STEPS_AFTER_CUT if within is None else within) / SECOND
    task = asyncio.ensure_future(_step(leaving, name, work))
    bound = asyncio.ensure_future(leaving.clock.sleep(seconds))
    await asyncio.wait([task, bound], return_when=asyncio.FIRST_COMPLETED)
    bound.cancel()
    if not task.done():
        task.cancel()
        leaving.report(name, TimeoutError(f"not done within {seconds:g} s"))


def longest_stop(drain: DrainSettings, grace: int) -> int:
    """How many milliseconds an orderly stop may take at most; the watchdog waits that long."""
    return drain.wait + grace + BEYOND_GRACE + drain.teardown
