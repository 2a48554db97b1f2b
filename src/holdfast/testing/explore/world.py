"""One world: a gateway on virtual time, the people and platforms around it, and the faults that hit it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context
from functools import partial
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

from holdfast.agents import Agent
from holdfast.api.chat_feed import ChatFeed
from holdfast.api.draft_cache import DraftCache
from holdfast.errors import DiskFull, HomeLocked, StoreFault
from holdfast.gateway.files.blobs import BlobFiles
from holdfast.model import EffectClass
from holdfast.policy.intake.admission import Drain
from holdfast.store.sqlite.commit import CommitOutcome as Committed
from holdfast.store.sqlite.commit import Work
from holdfast.testing.clock import SeededIds
from holdfast.testing.invariants.checker import violations
from holdfast.testing.observation.copies import Copies
from holdfast.testing.observation.trace import in_words, step_named
from holdfast.testing.sim.agent import ScriptedModel, scripted_tools
from holdfast.testing.sim.compose import Parts, Stopper
from holdfast.testing.sim.faults import KNOWN, NONE, is_foreseen
from holdfast.testing.sim.kills import Kills
from holdfast.testing.sim.ledger import Commit, failed
from holdfast.testing.sim.life import ProcessLife
from holdfast.testing.sim.platforms.clients import ProcessPorts, client_of
from holdfast.testing.sim.platforms.page import Page, WatchedWebChat
from holdfast.testing.sim.ports import SeededRng, SimClock
from holdfast.testing.sim.scenario import Act, BackUp, BootBeside, Die, FullDisk, Scenario, Stop
from holdfast.testing.sim.surroundings import Surroundings

from .options import Options, WorldOutcome

RAM_DISK = Path("/dev/shm")
QUIET = 6.0
"""Seconds without anything to do before a world counts as at rest."""
LONGEST_PAUSE = 70.0
"""Seconds after which the gateway hears a reachable platform again, however often it failed before."""
MEANWHILE = 120
"""Steps that others may take between two parts of a backup."""
SOON = 120_000
"""Milliseconds: a question that expires this soon is no rest, since another boot takes a while."""


def run_world(scenario: Scenario, options: Options) -> WorldOutcome:
    """Play a scenario until rest and check what was observed."""
    folder = Path(mkdtemp(prefix="world-", dir=options.folder or (RAM_DISK if RAM_DISK.is_dir() else None)))
    try:
        return World(scenario, options, folder).run()
    finally:
        rmtree(folder, ignore_errors=True)


class World(Surroundings):
    """Takes the steps of the loop, kills and starts processes, and ends when nothing is left to do."""

    def __init__(self, scenario: Scenario, options: Options, folder: Path) -> None:
        super().__init__(scenario, options, folder)
        self.loop.before = self._before_step
        self.copies = Copies(self.clock, self.history, folder / "backups", self._go_on)
        self.life: ProcessLife | None = None
        self._beside: list[ProcessLife] = []
        self.runs = 0
        self.kills = Kills(options, self.faults)
        self.deaths: list[str] = []
        self.problems: list[str] = []
        risky = options.faults != NONE or options.kill_rate > 0 or options.edge_rate > 0
        self._chance_until = scenario.ends + (options.lets_rest if risky else 0.0)
        self._acts = len(scenario.all_acts)
        self._cues = list(scenario.cues)
        self._quiet_since: float | None = None
        self._stopper: Stopper | None = None
        self._on_claim: Stop | None = None
        self._full_until = 0.0
        self._away = 0.0
        self._rested = (0, 0)
        self._read = 0
        """How many events the ledger is known to hold."""

    # The main loop

    def run(self) -> WorldOutcome:
        with self.loop.running():
            for act in self.scenario.acts:
                self._later(act.at, self._play, act)
            if self.options.calm_for:
                self.faults.on = False
                self._later(self.options.calm_for, self._disturb)
            self._later(self._chance_until, self._calm)
            self._start()
            self._until_rest()
            rested = self._rested
            self._listen()
            if self.options.boots_twice and not self.problems:
                self._boot_again()
            self._end()
        self.history.troubles = frozenset(self.faults.drawn)
        self.observer.at_the_end(self.runs)
        found = [*self.problems, *self.loop.complaints, *violations(self.history)]
        self.look.close()
        self.disk.let_go()
        self.loop.close()
        return WorldOutcome(
            self.scenario.name,
            self.options,
            tuple(found),
            *rested,
            self.kills.dead,
            tuple(self.deaths),
            self.trace.digest,
            self.trace.last,
            self.history,
            self.faults.drawn,
            tuple(self.kills.by_chance),
            frozenset(self.observer.cells),
        )

    def _until_rest(self) -> None:
        self._quiet_since = None
        while not self.problems:
            if self.loop.step():
                self._reap()
                if self.loop.steps > self.options.most_steps:
                    self.problems.append(f"no rest after {self.loop.steps} steps: {self._unsettled()}")
            elif self._at_rest():
                return
            elif self.loop.time() > self.options.most_seconds:
                self.problems.append(f"no rest after {self.loop.time():.0f} s: {self._unsettled()}")
            elif not self.loop.advance():
                self.problems.append(f"nothing moves any more: {self._unsettled()}")

    def _at_rest(self) -> bool:
        """Whether there has been nothing to do for a while."""
        if self._acts > len(self._cues) or self.faults.on or self.life is None or self._unsettled():
            self._quiet_since = None
            return False
        if self._quiet_since is None:
            self._quiet_since = self.loop.time()
            self._rested = (self.loop.process_steps, self.kills.edges)
        quiet = self.loop.time() - self._quiet_since
        if quiet < QUIET or (quiet < LONGEST_PAUSE and self._not_listening()):
            return False
        if not self._cues:
            return True
        # The act waits for a point that the world will not reach by itself.
        self._later(0.0, self._play, self._cues.pop(0).act)
        self._quiet_since = None
        return False

    def _unsettled(self) -> list[str]:
        events = self.history.events
        for server in self.servers.values():
            server.forget_what_is_old()
        while self._read < len(events):
            account, event_id, kind = events[self._read][:3]
            if (account, event_id) in self.history.forgotten:
                self._read += 1
                continue
            if not (self._is_confirmed if kind == "revision" else self.look.is_known)(account, event_id):
                return [f"{account} {event_id} was not read"]
            self._read += 1
        unsettled = self.machine.unsettled(self.look.processes()) or self.look.unsettled(
            self.wall.now() + SOON
        )
        return unsettled or self.readers.behind(self.look)

    def _is_confirmed(self, account: str, event_id: str) -> bool:
        return any((one.account, one.event_id) == (account, event_id) for one in self.history.confirmed)

    def _listen(self) -> None:
        """At rest, the gateway hears every platform."""
        self.history.deaf += self._not_listening()

    def _not_listening(self) -> list[str]:
        life = self.life
        return [s.account for s in self.servers.values() if life and not s.hears(life)]

    def _boot_again(self) -> None:
        """At rest, one more crash and boot must change nothing."""
        before = self.look.dump()
        assert self.life is not None
        self.life.end()
        self._reap()
        self._until_rest()
        self.history.boots.append((before, self.look.dump()))

    def _end(self) -> None:
        for server in self.servers.values():
            server.end()
        for life in (self.life, *self._beside):
            if life is not None:
                life.end()
                life.bury()

    # Processes

    def _start(self) -> None:
        self.life = self._spawn()

    def _boot_beside(self) -> None:
        """A second process; it shares the machine with the first."""
        if self.life is not None and self.life.alive:
            self.observer.cover("a second gateway")
            second = self._spawn()
            self.life.on_end.append(second.end)
            self._beside.append(second)

    def _spawn(self) -> ProcessLife:
        self.runs += 1
        life = ProcessLife(self.runs)
        self.trace(f"process {life.number} starts")
        task = self.loop.create_task(self._process(life), name=f"process {life.number}", context=life.context)
        task.add_done_callback(lambda done: self._ended(life, done), context=Context())
        return life

    def _model(self, life: ProcessLife) -> ScriptedModel:
        replies = EffectClass.EFFECT if self.scenario.effects else EffectClass.READ
        return ScriptedModel(life, self.witness, replies)

    async def _process(self, life: ProcessLife) -> None:
        clock = SimClock(self.loop, self.wall, life)
        ids = SeededIds(clock, f"{self.options.seed}:{life.number}")
        try:
            store = await self.disk.open(clock, ids, life, self._committing(life))
        except StoreFault:
            return  # No room for its own first row: its supervisor tries again.
        blobs, previews = BlobFiles(self.disk.home, store), DraftCache()
        report = partial(self._report, life)
        inside = ProcessPorts(life, clock, store, blobs, previews, self.disk.home, report)
        platforms = [client_of(server, inside) for server in self.servers.values()]
        pages = [Page(one.server, one) for one in platforms if isinstance(one, WatchedWebChat)]
        parts = Parts(
            store,
            clock,
            SeededRng(self.options.seed, "process", life.number),
            ids,
            tuple(platforms),
            Agent(self._model(life), scripted_tools(life, self.witness)),
            self.people.access,
            Path("workspace"),
            self.scenario.settings,
            report,
            self._be_stoppable,
            blobs,
            self.machine.port(life) if self.scenario.in_background else None,
            (*(("page", one.work) for one in pages), *self.readers.beside(ChatFeed(store, clock, previews))),
            lambda: KNOWN,
        )
        await self.options.boot(parts)
        await store.close()

    def _be_stoppable(self, stopper: Stopper) -> None:
        self._stopper = stopper

    def _report(self, life: ProcessLife, stage: str, fault: BaseException) -> None:
        """A stage reports a fault: a planned one, or one that must not happen."""
        life.check()
        self.observer.hear(stage, fault)
        self.trace(f"{stage} reports {fault!r}")
        if not is_foreseen(stage, fault, self.scenario.settings.owner_chat):
            self.problems.append(f"{stage} broke: {fault!r}")

    def _ended(self, life: ProcessLife, done: asyncio.Task[None]) -> None:
        """The process ended by itself: in order, or with an exception, which no gateway may raise."""
        error = asyncio.CancelledError() if done.cancelled() else done.exception()
        turned_away = isinstance(error, HomeLocked) and life in self._beside
        if error is not None and life.alive and not turned_away:
            self.problems.append(f"process {life.number} fell over: {in_words(error)}")
        self.trace(f"process {life.number} ended")
        life.orderly = life.alive and error is None
        if life.orderly and self._stopper is not None:
            self.history.ends += 1
        life.end()

    def _reap(self) -> None:
        """Remove a dead process, keep its disk as it is, and start another process after a while."""
        life = self.life
        if life is None or life.alive:
            return
        self.life = self._stopper = None
        self.kills.dead += 1
        self.deaths.append(f"{self.look.states()} {step_named(self.trace.last[-1])}")
        self.trace(f"process {life.number} died")
        self.disk.restart()
        for dead in (life, *self._beside):
            dead.bury()
        self._beside.clear()
        self.observer.after_death(self.disk.ledger, life.orderly)
        self._later(self.faults.between(*self.options.downtime) + self._away, self._start)
        self._away = 0.0

    def _before_step(self, life: ProcessLife) -> bool:
        step = self.loop.process_steps
        if self.kills.stops_at(step):
            self._stop(Stop(0, at_once=True))
        if self.kills.at_step(step):
            self.observer.cover("killed")
            (self.life or life).end()
        return not life.alive

    def _edge(self, life: ProcessLife) -> None:
        if self.kills.at_edge():
            self.observer.cover("killed at the edge of a commit")
            life.kill()

    def _committing(self, life: ProcessLife) -> Commit:
        def commit(works: list[Work], write: Callable[[list[Work]], list[Committed]]) -> list[Committed]:
            self._edge(life)
            if self.loop.time() < self._full_until or self.faults.hits("disk_full"):
                return failed(DiskFull("the disk is full"), works)
            if self.faults.hits("sync_failed"):
                if self.faults.between(0, 1) < 0.5:
                    write(works)
                    self.observer.after_commit()
                life.kill()
            outcomes = write(works)
            claims = self.observer.after_commit()
            if self._on_claim is not None and claims:
                self._stop(self._on_claim)
            self.trace(f"commit {','.join(type(one.error).__name__ for one in outcomes)}")
            self._edge(life)
            self._follow_cues(life)
            return outcomes

        return commit

    def _follow_cues(self, life: ProcessLife) -> None:
        """Do what is planned for the point that the ledger has just reached; a death happens here and now."""
        while self._cues and self.look.has_reached(self._cues[0].entries, self._cues[0].started):
            act = self._cues.pop(0).act
            if isinstance(act, Die):
                self._acts -= 1
                life.kill()
            self._later(0.0, self._play, act)

    def _go_on(self) -> None:
        """An operation takes a while without steps of the loop: the others take theirs."""
        for _ in range(round(self.faults.between(0, MEANWHILE))):
            if not self.loop.step() and not self.loop.advance():
                return

    # People

    def _later(self, seconds: float, act: Callable[..., None], *args: Any) -> None:
        """An event around the gateway, which no death of a process stops."""
        self.loop.call_later(seconds, act, *args, context=Context())

    def _disturb(self) -> None:
        """Faults begin here."""
        self.faults.on = True

    def _calm(self) -> None:
        """Faults end here."""
        self.faults.on = False
        for server in self.servers.values():
            server.go_down(0)

    def _die(self, act: Die) -> None:
        if act.power:
            self.wall.boots += 1
            self.machine.restart()
        if self.life is not None:
            self.observer.cover("killed")
            self._away = act.away
            self.life.end()

    def _stop(self, act: Stop) -> None:
        self._on_claim = None
        if self.life is not None and self._stopper is not None:
            self.observer.cover("stopped at once" if act.at_once else "stopped in order")
            self.history.stops += 1
            self._stopper(Drain.RESTART if act.restart else Drain.SHUTDOWN, act.at_once)

    def _play(self, act: Act) -> None:
        self._acts -= 1
        number = len(self.scenario.all_acts) - self._acts
        match act:
            case FullDisk(_, seconds):
                self.observer.cover("disk_full")
                self._full_until = self.loop.time() + seconds
            case BootBeside():
                self._boot_beside()
            case Stop() if not act.on_claim:
                self._stop(act)
            case Stop():
                self._on_claim = act
            case Die():
                self._die(act)
            case BackUp():
                self.copies.take(self.disk.home)
            case _:
                self.people.act(act, number)
