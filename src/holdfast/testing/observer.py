"""Who stands beside a gateway and writes down what its ledger shows at every instant."""

from __future__ import annotations

import logging
from pathlib import Path

from holdfast.telemetry.log import event_of

from .faults import CANARY
from .history import Claim, Death, History, Size
from .life import Life
from .look import Look, vanished
from .loop import SimLoop
from .ports import WallClock

IN_FLIGHT = 2.5
"""Seconds a message takes at most from being sent to being shown."""


class Observer:
    """Looks after each commit and each death; what it sees goes into the history."""

    def __init__(self, history: History, loop: SimLoop, wall: WallClock, ledger: Path) -> None:
        self._history = history
        self._loop = loop
        self._wall = wall
        self.look = Look(ledger)
        self._homes = self.look.homes()
        self._killer: str | None = None
        self._barred: dict[str, float] = {}
        self.cells: set[tuple[str, str]] = set()
        """What went wrong while a row had which state."""

    # What the ledger shows

    def after_commit(self) -> list[Claim]:
        """Note what this commit did; returns what it set running."""
        look, history = self.look, self._history
        claims = look.claimed(self._wall.now())
        history.claims += claims
        if look.suspects:
            history.quarantined.add(look.suspects)
        history.left += [left._replace(age=left.age + abs(self._just_set())) for left in look.left]
        history.writes += look.appended()
        history.answers += look.answered()
        self._count_homes()
        return claims

    def after_death(self, ledger: Path, orderly: bool) -> None:
        """The disk of the dead is that of the next process: see whether it is sound and whole."""
        if not orderly:
            self._history.deaths.append(Death(self._killer, self.look.running))
        self._killer = None
        self.look.close()
        self.look = Look(ledger)
        self._history.damage += self.look.damage()
        self._count_homes()

    def cover(self, fault: str) -> None:
        """Something goes wrong here and now."""
        self.cells.update((fault, state) for state in self.look.standing())

    def _count_homes(self) -> None:
        homes = self.look.homes()
        if homes != self._homes:
            self._history.vanished += vanished(self._homes, homes)
            self._homes = homes

    def at_the_end(self, boots: int) -> None:
        """Read everything once more, for whoever judges."""
        history = self._history
        history.ledger = self.look.ledger()
        history.sizes.append(Size(self.look.rows(), len(history.events), boots))
        history.exposed += [f"the ledger's {table}" for table in self.look.holding(CANARY)]

    def owed_for(self, dedupe: str, part: int) -> int | None:
        return self.look.owed_for(dedupe, part, self._wall.now() - self._just_set())

    def _just_set(self) -> int:
        """By how much the clock was set while what is shown now was on its way."""
        since = self._loop.time() - IN_FLIGHT
        return sum(by for at, by in self._wall.jumps if at > since)

    # What else there is to know

    def kills(self, turn: str, life: Life) -> None:
        """The work of this turn is what ends the process, here and now."""
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
        """Seconds for which whoever the turn is for has not been allowed."""
        if not self._barred:
            return 0.0
        since = self._barred.get(self.look.asker(turn) or "")
        return 0.0 if since is None else self._loop.time() - since

    def hear(self, stage: str, fault: BaseException) -> None:
        """A report goes into the log, and the log is for anybody to read."""
        record = logging.LogRecord(
            "holdfast", logging.WARNING, "", 0, stage, None, (type(fault), fault, fault.__traceback__)
        )
        if any(CANARY in str(value) for value in event_of(record).values()):
            self._history.exposed.append(f"the log, of {stage}")
