"""Tracks the progress of a run: when it last moved, when to record that, and whether it is stuck."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.clock import Clock
from holdfast.policy.settings import SECOND, TurnSettings
from holdfast.policy.turn.progress import RunFacts, Stuck, stuck


class ProgressTimer:
    """Uses the monotonic clock: a wall clock that jumps forward makes no run stuck.

    A new run has the whole time, also when an earlier run of its turn was stuck.
    """

    def __init__(self, clock: Clock, settings: TurnSettings, journal: Callable[[], None]) -> None:
        self._clock = clock
        self._settings = settings
        self._journal = journal
        self._moved = self._journaled = self._begun = self._now()

    def recorded(self) -> None:
        """A commit recorded progress."""
        self._moved = self._now()
        self.journaled()

    def journaled(self) -> None:
        """The ledger knows the progress up to now."""
        self._journaled = self._now()

    def beat(self) -> None:
        """A tool or the model wrote output: record progress, unless that happened a moment ago."""
        self._moved = self._now()
        if self._moved - self._journaled >= self._settings.output_every:
            self._journaled = self._moved
            self._journal()

    @property
    def is_stuck(self) -> bool:
        facts = RunFacts(self._begun, self._moved)
        return stuck(facts, self._now(), self._settings.progress) is Stuck.ABORT

    def silent(self) -> int:
        """Milliseconds since the last progress."""
        return max(0, self._now() - self._moved)

    @property
    def left(self) -> int:
        """Milliseconds until the run counts as stuck without further progress."""
        return max(0, self._moved + self._settings.progress.abort - self._now())

    def _now(self) -> int:
        return round(self._clock.monotonic() * SECOND)
