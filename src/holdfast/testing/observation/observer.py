"""Watches a gateway from outside and records what its ledger shows at every instant."""

from __future__ import annotations

import logging
from pathlib import Path

from holdfast.policy.settings import WorkerSettings
from holdfast.telemetry.log import event_of
from holdfast.testing.invariants.ages import Ages, Now
from holdfast.testing.invariants.parks import PATIENCE
from holdfast.testing.invariants.resume_line import ResumeLine
from holdfast.testing.marks import CANARY, KEY
from holdfast.testing.sim.faults import KNOWN
from holdfast.testing.sim.life import ProcessLife
from holdfast.testing.sim.loop import SimLoop
from holdfast.testing.sim.ports import WallClock

from .commits import Claim, Death
from .copies import missing_files
from .history import History, Size
from .ledger_view import vanished
from .look import LedgerWatch

IN_FLIGHT = 2.5
"""Seconds a message takes at most from being sent to being shown."""


class Observer:
    """Looks after each commit and each death, and records everything in the history."""

    def __init__(
        self, history: History, loop: SimLoop, wall: WallClock, ledger: Path, workers: WorkerSettings
    ) -> None:
        self._history = history
        self._loop = loop
        self._wall = wall
        self._ages = Ages()
        self._line = ResumeLine(workers)
        self.look = LedgerWatch(ledger, self._ages, self._now())
        self._homes = self.look.homes()
        self._home = ledger.parent
        self._files: set[str] = set()
        """The files that the ledger says are kept, as last seen."""
        self._killer: str | None = None
        self._behind: dict[int, float] = {}
        """Since when messages wait behind work that safe mode holds."""
        self._barred: dict[str, float] = {}
        self.cells: set[tuple[str, str]] = set()
        """Which fault met which state of a row."""

    # What the ledger shows

    def after_commit(self) -> list[Claim]:
        """Note what this commit changed; returns the turns it started."""
        look, history = self.look, self._history
        claims = look.claimed(self._now())
        history.claims += claims
        if look.suspects:
            history.quarantined.add(look.suspects)
        history.left += [left._replace(age=left.age + abs(self._just_set())) for left in look.left]
        history.waited += self._line.look(look.in_line(), self._loop.time())
        history.writes += look.appended()
        history.answers += look.answered()
        history.put_aside += look.put_aside()
        history.woken += look.woken()
        self._look_behind_paused()
        self._count_homes()
        self._look_for_files(self.look.kept_files())
        return claims

    def _look_behind_paused(self) -> None:
        """A person's message releases work that safe mode holds; the gateway has a while to notice."""
        now, found = self._loop.time(), self.look.behind_paused()
        self._behind = {position: self._behind.get(position, now) for position, _, _ in found}
        for position, sender, turn in found:
            if now - self._behind[position] > PATIENCE and sender not in self._history.barred:
                self._history.kept_waiting.append(
                    f"inbox row {position} waits behind {turn}, which is paused"
                )

    def after_death(self, ledger: Path, orderly: bool) -> None:
        """The next process gets the disk of the dead one: check that it is sound and complete."""
        if not orderly:
            self._history.deaths.append(Death(self._killer, self.look.running))
        self._killer = None
        self._behind = {}
        self._line.restart()
        self.look.close()
        self.look = LedgerWatch(ledger, self._ages, self._now())
        self._history.damage += self.look.damage()
        self._home, self._files = ledger.parent, set()
        self._look_for_files(self.look.named_files())
        self._count_homes()

    def cover(self, fault: str) -> None:
        """A fault happens here and now."""
        self.cells.update((fault, state) for state in self.look.standing())

    def _count_homes(self) -> None:
        homes = self.look.homes()
        if homes != self._homes:
            self._history.vanished += vanished(self._homes, homes)
            self._homes = homes

    def _look_for_files(self, named: set[str]) -> None:
        """The files that were named since the last look exist."""
        self._history.lost_files += missing_files(self._home, named - self._files)
        self._files = named

    def at_the_end(self, boots: int) -> None:
        """Read everything once more, for the checker."""
        history = self._history
        history.ledger = self.look.ledger()
        self._files.clear()
        self._look_for_files(self.look.named_files())
        history.sizes.append(Size(self.look.rows(), len(history.events), boots))
        for secret in (CANARY, KEY):
            history.exposed += [f"the ledger's {table}" for table in self.look.holding(secret)]

    def owed_for(self, dedupe: str, part: int) -> int | None:
        return self.look.owed_for(dedupe, part, self._wall.now() - self._just_set())

    def _now(self) -> Now:
        return Now(self._wall.now(), self._wall.boots, round(self._loop.time() * 1_000))

    def _just_set(self) -> int:
        """By how much the clock was set while the message shown now was on its way."""
        since = self._loop.time() - IN_FLIGHT
        return sum(by for at, by in self._wall.jumps if at > since)

    # Further facts

    def kills(self, turn: str, life: ProcessLife) -> None:
        """The work of this turn ends the process, here and now."""
        self._killer = turn
        self.cover("killed by its own work")
        life.kill()

    def bar(self, person: str) -> None:
        self._history.barred.add(person)
        self._barred.setdefault(person, self._loop.time())

    def admit(self, person: str) -> None:
        self._barred.pop(person, None)

    @property
    def barred(self) -> frozenset[str]:
        return frozenset(self._barred)

    def barred_for(self, turn: str) -> float:
        """Seconds for which the person of the turn has not been allowed."""
        if not self._barred:
            return 0.0
        since = self._barred.get(self.look.asker(turn) or "")
        return 0.0 if since is None else self._loop.time() - since

    def hear(self, stage: str, fault: BaseException) -> None:
        """A report goes into the log, which anyone may read."""
        record = logging.LogRecord(
            "holdfast", logging.WARNING, "", 0, stage, None, (type(fault), fault, fault.__traceback__)
        )
        said = str(event_of(record, KNOWN))
        if CANARY in said or KEY in said:
            self._history.exposed.append(f"the log, of {stage}")
