"""How long resumed work waited for a worker, and the rule that one resume delays no other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from holdfast.policy.settings import WorkerSettings
from holdfast.testing.observation.history import History, Waited

SLACK = 60_000
"""Milliseconds a claim may take beyond its limit: the gateway repeats a ledger operation that fails."""


class InLine(NamedTuple):
    """What a commit left in the line, and what the workers were doing."""

    queued: frozenset[str]
    """Interrupted turns that are to be resumed and are not suspects."""
    running: frozenset[str]
    resumed: int
    """How many of the running turns were resumed."""


class ResumeLine:
    """Measures in the loop's time, within one process: a gateway that is down has no worker to give."""

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings = settings
        self._since: dict[str, float] = {}
        self._longest = 0
        """The longest line so far."""

    def restart(self) -> None:
        """The process has ended."""
        self._since.clear()

    def look(self, line: InLine, at: float) -> Iterator[Waited]:
        """Note what a commit changed; returns how long each claimed turn waited."""
        left = [turn for turn in self._since if turn not in line.queued]
        for turn in left:
            waited = round((at - self._since.pop(turn)) * 1_000)
            if turn in line.running:
                yield Waited(turn, waited, self._bound())
        workers = self._settings.workers
        full = len(line.running) >= workers or line.resumed >= workers - max(1, workers // 4)
        for turn in line.queued:
            if full or turn not in self._since:
                self._since[turn] = at
        self._longest = max(len(self._since), self._longest if self._since else 0)

    def _bound(self) -> int:
        """Each half of the workers takes its share of the line, and is old after a while at the latest."""
        half = max(1, self._settings.workers // 2)
        return self._settings.counts * (1 + self._longest // half)


def resumes_wait_for_no_other(history: History) -> Iterator[str]:
    """R4.2: a resume that is slow or hangs delays no other; free workers are used."""
    for waited in history.waited:
        if waited.waited > waited.most + SLACK:
            yield (
                f"turn {waited.turn} waited {waited.waited} ms for a worker to resume it, but there was one "
                f"for it after {waited.most} ms"
            )
