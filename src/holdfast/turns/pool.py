"""The pool keeps up to a set number of turns running until a drain closes it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from itertools import count
from typing import TypeVar

from holdfast.clock import Clock
from holdfast.errors import StoreClosed, SyncFailed
from holdfast.model import Claimed, Fence, TurnId
from holdfast.policy.delivery.retry import delay
from holdfast.policy.settings import SECOND, RetrySettings, WorkerSettings
from holdfast.policy.turn.workers import Load, Room, all_hang, room
from holdfast.records import dataclass
from holdfast.store import ClaimSettings, Judge, Store

from .cut import STOP, Cut, drain
from .quarantine import clear_in_time
from .runner import Run, Runner

T = TypeVar("T")

log = logging.getLogger(__name__)

_AGAIN = RetrySettings(first=SECOND, most=10 * SECOND)
_IN_THE_MIDDLE = 0.5
"""Stands for a random number: a single dispatcher needs no jitter."""


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """How many turns run at once, and how long a cut waits until they have ended."""

    sharing: WorkerSettings = WorkerSettings()
    grace: float = 6.0
    """Seconds; a little more than a tool gets to end by itself."""


AS_USUAL = PoolSettings()


@dataclass(frozen=True, slots=True)
class _Running:
    """A run, and the task that carries it."""

    run: Run
    task: asyncio.Task[None]


class Pool:
    """Claims turns, the one that is ready longest first, and runs them side by side.

    `policy.turn.workers` limits how many of them may be resumes: hanging resumes delay no other chat.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        runner: Runner,
        claim: Callable[[], ClaimSettings],
        judge: Judge,
        settings: PoolSettings = AS_USUAL,
    ) -> None:
        self._store = store
        self._clock = clock
        self._runner = runner
        self._claim_settings = claim
        self._judge = judge
        self._settings = settings
        self._running: dict[Fence, _Running] = {}
        """By fence: a turn may run again before its last run has removed everything it showed to people."""
        self._uncounted: set[Fence] = set()
        """Resumed turns that no longer count towards the workers that resumes may use."""
        self._claiming = False
        self._leaving: Cut | None = None
        """Set once a drain closed the pool: the cut for a turn whose claim was under way then."""
        self._wake = asyncio.Event()
        """Set when a turn may be ready, a worker may be free, or the pool was closed."""
        self._freed = 0
        """How often a run that may have kept turns out of a claim has ended or has stopped counting."""
        self._nothing_left: tuple[int, int] | None = None
        """When a claim left nothing to claim: the version of the topic, and `_freed`."""
        self._changed = asyncio.Event()
        """Set when the answer of `quiet` may have changed."""

    async def work(self) -> None:
        """Run turns until a drain has closed the pool and every run has ended.

        The pool waits while the machine is at fault; a store that is closed or broken for good ends it.
        """
        create = asyncio.get_running_loop().create_task
        watchers = [create(self._watch_turns()), create(self._watch_stops())]
        for watcher in watchers:
            watcher.add_done_callback(lambda _: self._wake.set())
        try:
            while self._leaving is None or self._running:
                self._wake.clear()
                for watcher in watchers:
                    if watcher.done():
                        return watcher.result()
                await self._fill()
                await self._wake.wait()
        finally:
            for watcher in watchers:
                watcher.cancel()
            for running in self._running.values():
                running.task.cancel()

    async def work_once(self) -> bool:
        """Claim one turn and run it until it ends or waits; False if no turn can be claimed."""
        begun = await self._begin(1)
        if begun:
            await asyncio.wait([running.task for running in begun])
        return bool(begun)

    def running(self) -> tuple[TurnId, ...]:
        """The turns that run here now."""
        return tuple(fence.turn for fence in self._running)

    @property
    def claiming(self) -> bool:
        """Whether a claim is under way: the ledger may already have given us a turn that `running` lacks."""
        return self._claiming

    def stop_claiming(self) -> None:
        """Start no new turn; running turns go on. A turn from a claim under way is put back."""
        if self._leaving is None:
            self._leaving = drain("")
        self._wake.set()

    async def quiet(self) -> None:
        """Return when no turn runs and no claim is under way."""
        while self._running or self._claiming:
            self._changed.clear()
            await self._changed.wait()

    async def cut(self, reason: str) -> None:
        """Cut every run: put the turn back if no model call or tool has begun, else mark it interrupted.

        Takes a bounded time: a run that has not ended by then is cancelled without its cut.
        """
        self._leaving = drain(reason)
        self.stop_claiming()
        timer = asyncio.get_running_loop().create_task(_sleep(self._clock, self._settings.grace))
        try:
            quiet = asyncio.get_running_loop().create_task(self.quiet())
            for running in self._running.values():
                running.run.cut(self._leaving)
            await asyncio.wait([quiet, timer], return_when=asyncio.FIRST_COMPLETED)
            quiet.cancel()
        finally:
            timer.cancel()
        left = [running.task for running in self._running.values()]
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left)

    async def _fill(self) -> None:
        """Claim while workers are free; stop when a claim left nothing and the ledger has not changed."""
        while self._leaving is None and (free := self._room().turns) > 0:
            known, stops = (self._store.version("turns"), self._freed), self._store.version("stops")
            if known == self._nothing_left:
                return
            begun = await self._begin(free)
            if len(begun) < free:
                self._nothing_left = known
            if begun and stops != self._store.version("stops"):
                # A stop came between the claim and now, when the watcher did not know the run yet.
                await self._cut_stopped()

    async def _begin(self, limit: int) -> list[_Running]:
        """Claim up to `limit` turns in one commit and start them."""
        settings = self._claim_settings()
        claimed = await self._with_retries("claiming turns", lambda: self._claim(settings, limit))
        return [self._start(one, settings) for one in claimed]

    async def _claim(self, settings: ClaimSettings, limit: int) -> tuple[Claimed, ...]:
        if self._leaving is not None:
            return ()
        self._claiming = True
        try:
            return await self._store.claim_ready(settings, self._judge, limit, self._room().resumes)
        finally:
            # `quiet` looks again only after the claimed turn is in `_running`.
            self._claiming = False
            self._changed.set()

    async def _with_retries(self, doing: str, verb: Callable[[], Awaitable[T]]) -> T:
        """Retry after every fault; raise only a fault that never heals."""
        for attempt in count(1):
            try:
                return await verb()
            except (SyncFailed, StoreClosed):
                raise
            except Exception as fault:  # noqa: BLE001 - a fault here must not end the running turns
                self._runner.report(f"{doing}, try {attempt}", fault)
            await self._clock.sleep(delay(attempt, _AGAIN, _IN_THE_MIDDLE) / SECOND)
        raise AssertionError("counting never ends")

    def hangs(self, silent: int) -> int:
        """How many runs hang, if they leave no worker for a resume; else 0.

        A run hangs when it has made no progress for `silent` milliseconds.
        """
        hung = sum(running.run.silent() >= silent for running in self._running.values())
        return hung if all_hang(self._load(), hung, self._settings.sharing) else 0

    def _room(self) -> Room:
        return room(self._load(), self._settings.sharing)

    def _load(self) -> Load:
        resumed = sum(running.run.claimed.resumed for running in self._running.values())
        return Load(len(self._running) - resumed, resumed - len(self._uncounted), len(self._uncounted))

    def _start(self, claimed: Claimed, settings: ClaimSettings) -> _Running:
        run = self._runner.begin(claimed, settings)
        if self._leaving is not None:
            run.cut(self._leaving)
        task = asyncio.get_running_loop().create_task(self._run_turn(run, settings))
        self._running[claimed.fence] = running = _Running(run, task)
        if claimed.resumed:
            # Only resumes are logged: the ledger has every turn, and a line for each would cost too much.
            log.info("resuming a turn", extra={"turn": run.turn, "session": claimed.session.id})
        return running

    async def _run_turn(self, run: Run, settings: ClaimSettings) -> None:
        """Run one turn. A fault ends only this turn; recovery then finds it claimed and not running."""
        timers = self._start_timers(run.claimed, settings)
        try:
            await run.go()
        except Exception as fault:  # noqa: BLE001 - the boundary of the stage: the fault is reported
            self._runner.report(f"running turn {run.turn}", fault)
        finally:
            for task in timers:
                task.cancel()
            self._running.pop(run.claimed.fence, None)
            self._uncounted.discard(run.claimed.fence)
            self._freed += run.claimed.resumed or run.claimed.suspect
            self._wake.set()
            self._changed.set()

    def _start_timers(self, claimed: Claimed, settings: ClaimSettings) -> list[asyncio.Task[None]]:
        """Start the timers of a run: a resume stops counting, and a suspect is cleared."""
        create = asyncio.get_running_loop().create_task
        timers = [create(self._stop_counting(claimed.fence))] if claimed.resumed else []
        if claimed.suspect:
            clearing = clear_in_time(self._store, self._clock, claimed, settings.recovery)
            timers.append(create(clearing))
        return timers

    async def _stop_counting(self, fence: Fence) -> None:
        """After a while a resumed turn no longer counts, so that another may be claimed."""
        await self._clock.sleep(self._settings.sharing.counts / SECOND)
        self._uncounted.add(fence)
        self._freed += 1
        self._wake.set()

    async def _watch_turns(self) -> None:
        """Wake the dispatcher whenever a turn may be ready."""
        while True:
            seen = self._store.version("turns")
            self._wake.set()
            await self._store.changed("turns", seen)

    async def _watch_stops(self) -> None:
        """Cut the runs that a person stopped, whenever a stop is requested."""
        while True:
            seen = self._store.version("stops")
            await self._cut_stopped()
            await self._store.changed("stops", seen)

    async def _cut_stopped(self) -> None:
        if not self._running:
            return
        stopped = await self._with_retries("looking for stops", self._store.stops)
        for running in self._running.values():
            if running.run.turn in stopped:
                running.run.cut(STOP)


async def _sleep(clock: Clock, seconds: float) -> None:
    await clock.sleep(seconds)
