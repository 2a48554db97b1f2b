"""Everything around the processes of a world: loop, clocks, disk, platforms, people, machine, witnesses."""

from __future__ import annotations

from pathlib import Path

from holdfast.api.to_json import Json
from holdfast.model import EffectClass, PersonId
from holdfast.policy.consent.approvals import default_for
from holdfast.policy.settings import Approver, Ruling, WorkerSettings
from holdfast.testing.explore.options import Options
from holdfast.testing.invariants.bounds import SLACK
from holdfast.testing.observation.history import History
from holdfast.testing.observation.ledger_view import hash_of
from holdfast.testing.observation.look import LedgerWatch
from holdfast.testing.observation.observer import Observer
from holdfast.testing.observation.readers import FeedReaders, Reader
from holdfast.testing.observation.trace import Trace

from .agent import Witness
from .faults import FaultPlan
from .ledger import Disk
from .loop import SimLoop
from .machine import SimMachine
from .people import Crowd
from .platforms.clients import server_of
from .platforms.page import NAME as PAGE
from .platforms.page import note_delivery
from .platforms.servers import Around, is_group, note_what_they_can
from .ports import SeededRng, WallClock, WorldClock
from .scenario import (
    Press,
    Say,
    Scenario,
)


class Surroundings:
    """What there is before any process runs, and outlives all of them."""

    def __init__(self, scenario: Scenario, options: Options, folder: Path) -> None:
        seed, settings = options.seed, scenario.settings
        self.scenario = scenario
        self.options = options
        self.trace = Trace()
        self.loop = SimLoop(SeededRng(seed, "order"))  # type: ignore[abstract]  # what it lacks would escape
        self.loop.on_step = self.trace
        self.wall = WallClock(self.loop)
        self.faults = FaultPlan(SeededRng(seed, "faults"), options.faults)
        self.history = History(
            windows=scenario.windows, busy=settings.busy, wakeups=settings.processes.wakeups
        )
        self.disk = Disk(folder)
        workers = WorkerSettings(settings.workers, settings.resume_counts)
        self.observer = Observer(self.history, self.loop, self.wall, self.disk.ledger, workers)
        around = Around(
            self.loop,
            self.wall,
            self.faults,
            self.history,
            self.trace,
            lambda a, e: self.look.is_known(a, e),
            lambda turn: self.look.generation_of(turn),
            self.observer.owed_for,
            lambda dedupe, part: self.look.is_sending(dedupe, part),
            lambda chat, message, texts: self.look.is_revised(chat, message, texts),
        )
        self.servers = {name: server_of(around, name) for name in scenario.platforms}
        self.people = Crowd(scenario, self.servers, self.observer, self.wall)
        self.history.owners = self.people.owners
        self.faults.on_hit = self.observer.cover
        note_what_they_can(self.history, self.servers.values())
        self.witness = Witness(
            self.loop,
            self.history,
            self.faults,
            self.trace,
            lambda turn: self.look.generation_of(turn),
            lambda turn: self.look.interruptions_of(turn),
            lambda said, key: self.look.turn_saying(said, key),
            self.observer.barred_for,
            self.observer.kills,
            self._may_run,
            lambda: bool(self.look.running),
            scenario.reads,
        )
        self.machine = SimMachine(
            self.loop, self.history, self.faults, self.trace, lambda turn: self.look.is_over(turn)
        )
        self.clock = WorldClock(self.loop, self.wall)
        self.readers = FeedReaders(tuple(map(self._reader, self._read_chats())))

    @property
    def look(self) -> LedgerWatch:
        return self.observer.look

    def _may_run(self, key: str, tool: str, arguments: str, effect: EffectClass) -> bool:
        settings = self.scenario.settings.approvals
        # A clock that was set ahead makes no consent old.
        since = self.wall.now() - settings.expires - SLACK - self.wall.set_ahead
        if default_for(effect, settings) is not Ruling.ASK:
            return True
        bound = hash_of(tool, arguments)
        by, owners = self.look.consented(key, bound, since), self.people.access().owners
        if settings.people is Approver.OWN and by:
            return True
        # An owner's word counts, and only as long as they are one; so does a rule that they gave.
        return any(PersonId(person) in owners for person in (*by, *self.look.allowed(key, tool, bound)))

    def _read_chats(self) -> list[tuple[str, str]]:
        """Platforms and chats that somebody reads along; a page is always read by whoever writes on it."""
        acts = [act for act in self.scenario.all_acts if isinstance(act, Say | Press)]
        by_all = [act for act in acts if self.options.readers and not is_group(act.chat)]
        return sorted({(act.platform, act.chat) for act in acts if act.platform == PAGE or act in by_all})

    def _reader(self, where: tuple[str, str]) -> Reader:
        server, chat = self.servers[where[0]], where[1]
        rng = SeededRng(self.options.seed, "reader", *where)

        def on_delivery(found: Json) -> None:
            if server.name == PAGE:
                note_delivery(server, found, self.look.part_named(found["id"]))

        return Reader(server.place(chat).address, self.history, self.faults, rng, on_delivery)
