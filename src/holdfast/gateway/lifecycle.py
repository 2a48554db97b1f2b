"""The life of a gateway: the order in which it starts and the order in which it stops, each in one place."""

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
"""What marking and cutting may take beyond the grace that tools get."""
STEPS_AFTER_CUT = 3
LOOK_AGAIN = 0.25
"""Seconds between two looks at what is still to be sent: a reply taken by its platform rings no bell."""


class RunState(StrEnum):
    """Where a gateway stands in its life."""

    NEW = "new"
    RUNNING = "running"
    DRAINING = "draining"
    """No turn starts; those that run, and replies owed, are waited for. Messages are still kept."""
    STOPPING = "stopping"
    """What was left has been cut; stages and platforms are let go of."""
    STOPPED = "stopped"


CUT_BY: Mapping[Drain, Interruption] = MappingProxyType(
    {Drain.RESTART: Interruption.RESTART_TIMEOUT, Drain.SHUTDOWN: Interruption.SHUTDOWN_TIMEOUT}
)
ENDS_AS: Mapping[Drain, Stopped] = MappingProxyType(
    {Drain.RESTART: Stopped.RESTART, Drain.SHUTDOWN: Stopped.STOPPED}
)


class Turns(Protocol):
    """The pool of workers, as far as a stop is concerned."""

    def close_door(self) -> None: ...

    async def quiet(self) -> None: ...

    async def cut(self, reason: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Stages:
    """Everything that works, by its place in the order of starting."""

    reading: tuple[tuple[str, Work], ...]
    """One per platform: it connects by itself, now or when it is back, and keeps no other waiting."""
    recovery: Work
    turns: Work
    commands: Work
    sending: tuple[tuple[str, Work], ...]
    upkeep: tuple[tuple[str, Work], ...]


def start(crew: StageTasks, stages: Stages) -> None:
    """The order of starting, once the ledger is open; none of these waits for another.

    Work cut off before is looked at as soon as recovery looks, and again when its platform connects; a
    conversation with such work is the ledger's to guard, so that turns may begin at once.
    """
    for name, work in stages.reading:
        crew.start(f"reading {name}", work)
    crew.start("recovery", stages.recovery)
    crew.start("turns", stages.turns)
    crew.start("commands", stages.commands)
    for name, work in stages.sending:
        crew.start(f"sending {name}", work)
    for name, work in stages.upkeep:
        crew.start(name, work)


@dataclass(frozen=True, slots=True)
class Leaving:
    """What the order of stopping is carried out on."""

    store: Store
    clock: Clock
    turns: Turns
    crew: StageTasks
    platforms: tuple[Platform, ...]
    connected: Callable[[], tuple[str, ...]]
    settings: DrainSettings
    grace: int
    """What tools get to end by themselves when their turn is cut."""
    on_interruption: OnInterruption
    """What a chat wants that has not chosen."""
    hurry: asyncio.Event
    """Set when nobody wants to wait any longer."""
    enter: Callable[[RunState], None]
    report: Report


async def stop(leaving: Leaving, why: Drain) -> Stopped:
    """The order of stopping. A step that fails is reported; those after it are taken all the same."""
    leaving.enter(RunState.DRAINING)
    leaving.turns.close_door()
    await _step(leaving, "telling", _tell(leaving, why))
    await _wait_for_work(leaving)
    await _bounded(leaving, "cutting", leaving.turns.cut(CUT_BY[why]), leaving.grace + BEYOND_GRACE)
    leaving.enter(RunState.STOPPING)
    await _bounded(leaving, "letting go of the stages", leaving.crew.stop())
    await _bounded(leaving, "letting go of the platforms", _close(leaving))
    await _bounded(leaving, "the last word", leaving.store.end_instance(ENDS_AS[why]))
    leaving.enter(RunState.STOPPED)
    return ENDS_AS[why]


async def _tell(leaving: Leaving, why: Drain) -> None:
    """Each chat with a running turn, and no other, once in the life of this process."""
    once = f"leaving:{leaving.store.instance}"
    words = farewells(why, 0 if leaving.hurry.is_set() else leaving.settings.wait)
    await leaving.store.tell_running(words, leaving.on_interruption, once)


async def _wait_for_work(leaving: Leaving) -> None:
    """Until nothing runs and nothing is owed, or the time is up, or somebody is in a hurry."""
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
            leaving.report("the drain", fault)
        await leaving.clock.sleep(LOOK_AGAIN)


async def _close(leaving: Leaving) -> None:
    closings = [_step(leaving, f"closing {one.name}", one.close()) for one in leaving.platforms]
    await asyncio.gather(*closings)


async def _step(leaving: Leaving, name: str, work: Coroutine[Any, Any, object]) -> None:
    try:
        await work
    except Exception as fault:  # noqa: BLE001 - a stop goes on, whatever one of its steps meets
        leaving.report(name, fault)


async def _bounded(
    leaving: Leaving, name: str, work: Coroutine[Any, Any, object], within: float | None = None
) -> None:
    """Give a step its time, or its share of the teardown; what takes longer is left behind.

    It is not waited for after that: what hangs may well not let itself be cancelled either.
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
    """The most milliseconds an orderly stop may take, for whoever waits for it with a watchdog."""
    return drain.wait + grace + BEYOND_GRACE + drain.teardown
