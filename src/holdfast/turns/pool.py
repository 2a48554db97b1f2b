"""The pool: keeps up to so many turns running, for as long as the door is open."""

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
"""One dispatcher has nobody to keep out of step with."""


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """How many turns run at once, and how long a cut waits for them to be gone."""

    sharing: WorkerSettings = WorkerSettings()
    grace: float = 6.0
    """Seconds; a little more than a tool gets to end by itself."""


AS_USUAL = PoolSettings()


@dataclass(frozen=True, slots=True)
class _Running:
    """A turn that runs here."""

    run: Run
    task: asyncio.Task[None]


class Pool:
    """Claims turns one after the other, the one ready longest first, and runs them side by side.

    How many of them may be resumes is `policy.turn.workers`: one that hangs delays no other chat.
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
        """By fence: a turn may run again before its last run has taken away all that it had shown."""
        self._old: set[Fence] = set()
        """Resumed turns that count no longer towards the half of the workers."""
        self._claiming = False
        self._leaving: Cut | None = None
        """What becomes of turns that are claimed although the door has just been closed."""
        self._stir = asyncio.Event()
        """Something may have changed: a turn ready, a worker free, the door closed."""
        self._let_in = 0
        """How often a run has ended, or has grown old, that may have kept other turns out of a claim."""
        self._nothing_left: tuple[int, int] | None = None
        """When a claim left nothing to claim: by the topic's version, and by `_let_in`."""
        self._changed = asyncio.Event()
        """What `quiet` looks at has changed."""

    async def work(self) -> None:
        """Run turns until the door is closed and all that ran has come to rest.

        A fault of the machine is waited out; a store that is closed, or broken for good, ends it.
        """
        create = asyncio.get_running_loop().create_task
        watchers = [create(self._watch_turns()), create(self._watch_stops())]
        for watcher in watchers:
            watcher.add_done_callback(lambda _: self._stir.set())
        try:
            while self._leaving is None or self._running:
                self._stir.clear()
                for watcher in watchers:
                    if watcher.done():
                        return watcher.result()
                await self._fill()
                await self._stir.wait()
        finally:
            for watcher in watchers:
                watcher.cancel()
            for running in self._running.values():
                running.task.cancel()

    async def work_once(self) -> bool:
        """Claim one turn and run it until it rests; False when there is none to claim."""
        begun = await self._begin(1)
        if begun:
            await asyncio.wait([running.task for running in begun])
        return bool(begun)

    def running(self) -> tuple[TurnId, ...]:
        """The turns that run here now."""
        return tuple(fence.turn for fence in self._running)

    @property
    def claiming(self) -> bool:
        """A claim is under way: the ledger may know a turn as ours that `running` does not name yet."""
        return self._claiming

    def close_door(self) -> None:
        """Start no new turn; those that run go on. A claim under way is put back."""
        if self._leaving is None:
            self._leaving = drain("")
        self._stir.set()

    async def quiet(self) -> None:
        """Return when nothing runs and nothing is being claimed."""
        while self._running or self._claiming:
            self._changed.clear()
            await self._changed.wait()

    async def cut(self, reason: str) -> None:
        """Cut all that runs, each for itself: put back if nothing has begun, else marked, then cancelled.

        Bounded: what has not ended in time is cancelled hard.
        """
        self._leaving = drain(reason)
        self.close_door()
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
        """Claim while there is room, and not again what a claim has left nothing of."""
        while self._leaving is None and (free := self._room().turns) > 0:
            known, stops = (self._store.version("turns"), self._let_in), self._store.version("stops")
            if known == self._nothing_left:
                return
            begun = await self._begin(free)
            if len(begun) < free:
                self._nothing_left = known
            if begun and stops != self._store.version("stops"):
                # Asked between the claim and now, when the watcher did not know the run.
                await self._cut_stopped()

    async def _begin(self, limit: int) -> list[_Running]:
        """Claim up to so many turns in one commit and set them off."""
        settings = self._claim_settings()
        claimed = await self._patiently("claiming turns", lambda: self._claim(settings, limit))
        return [self._set_off(one, settings) for one in claimed]

    async def _claim(self, settings: ClaimSettings, limit: int) -> tuple[Claimed, ...]:
        if self._leaving is not None:
            return ()
        self._claiming = True
        try:
            return await self._store.claim_ready(settings, self._judge, limit, self._room().resumes)
        finally:
            # Whoever waits for quiet looks once the turn is among those that run.
            self._claiming = False
            self._changed.set()

    async def _patiently(self, doing: str, verb: Callable[[], Awaitable[T]]) -> T:
        """Wait out whatever goes wrong; a fault of the machine that never heals is raised."""
        for attempt in count(1):
            try:
                return await verb()
            except (SyncFailed, StoreClosed):
                raise
            except Exception as fault:  # noqa: BLE001 - whatever it is, what runs must not end for it
                self._runner.report(f"{doing}, try {attempt}", fault)
            await self._clock.sleep(delay(attempt, _AGAIN, _IN_THE_MIDDLE) / SECOND)
        raise AssertionError("counting never ends")

    def hangs(self, silent: int) -> int:
        """How many runs hang, if so many do that no resume finds a worker; else 0.

        A run hangs that has not moved for `silent` milliseconds.
        """
        hung = sum(running.run.silent() >= silent for running in self._running.values())
        return hung if all_hang(self._load(), hung, self._settings.sharing) else 0

    def _room(self) -> Room:
        return room(self._load(), self._settings.sharing)

    def _load(self) -> Load:
        resumed = sum(running.run.claimed.resumed for running in self._running.values())
        return Load(len(self._running) - resumed, resumed - len(self._old), len(self._old))

    def _set_off(self, claimed: Claimed, settings: ClaimSettings) -> _Running:
        run = self._runner.begin(claimed, settings)
        if self._leaving is not None:
            run.cut(self._leaving)
        task = asyncio.get_running_loop().create_task(self._tend(run, settings))
        self._running[claimed.fence] = running = _Running(run, task)
        if claimed.resumed:
            # Of every turn the ledger tells; a line for each would cost more than it says.
            log.info("a turn goes on", extra={"turn": run.turn, "session": claimed.session.id})
        return running

    async def _tend(self, run: Run, settings: ClaimSettings) -> None:
        """Run one turn. Whatever breaks ends this turn alone; recovery finds it as ours and not running."""
        beside = self._beside(run.claimed, settings)
        try:
            await run.go()
        except Exception as fault:  # noqa: BLE001 - the stage's boundary: one turn's fault is reported
            self._runner.report(f"running turn {run.turn}", fault)
        finally:
            for task in beside:
                task.cancel()
            self._running.pop(run.claimed.fence, None)
            self._old.discard(run.claimed.fence)
            self._let_in += run.claimed.resumed or run.claimed.suspect
            self._stir.set()
            self._changed.set()

    def _beside(self, claimed: Claimed, settings: ClaimSettings) -> list[asyncio.Task[None]]:
        """What happens while the turn runs, as time passes."""
        create = asyncio.get_running_loop().create_task
        beside = [create(self._grow_old(claimed.fence))] if claimed.resumed else []
        if claimed.suspect:
            clearing = clear_in_time(self._store, self._clock, claimed, settings.recovery)
            beside.append(create(clearing))
        return beside

    async def _grow_old(self, fence: Fence) -> None:
        """Once a resumed turn counts no longer, another may be claimed."""
        await self._clock.sleep(self._settings.sharing.counts / SECOND)
        self._old.add(fence)
        self._let_in += 1
        self._stir.set()

    async def _watch_turns(self) -> None:
        """Wake the dispatcher whenever a turn may be ready."""
        while True:
            seen = self._store.version("turns")
            self._stir.set()
            await self._store.changed("turns", seen)

    async def _watch_stops(self) -> None:
        """Cut what was asked to stop, whenever a stop is asked for."""
        while True:
            seen = self._store.version("stops")
            await self._cut_stopped()
            await self._store.changed("stops", seen)

    async def _cut_stopped(self) -> None:
        if not self._running:
            return
        stopped = await self._patiently("looking for stops", self._store.stops)
        for running in self._running.values():
            if running.run.turn in stopped:
                running.run.cut(STOP)


async def _sleep(clock: Clock, seconds: float) -> None:
    await clock.sleep(seconds)
