"""Which turns the workers may take up: resumed ones never keep new messages, or each other, waiting.

- A resumed turn counts as young for its first half minute (`counts`). Young ones hold at most half of the
  workers, so that a burst of resumes leaves room; a resume that hangs grows old and keeps no other waiting.
- A quarter of the workers, at least one, is never given to resumed turns: a new message finds a worker.
- A pool of fewer than four is too small for both. There, old resumed turns run beside the workers, until
  there are four runs in all. A single worker is kept for no one: a new message waits for a resumed turn
  until that one is old.
"""

from __future__ import annotations

from holdfast.policy.settings import WorkerSettings
from holdfast.records import dataclass

_LEAST = 4
"""Runs that even the smallest pool may have, once some of them are old resumed turns."""


@dataclass(frozen=True, slots=True)
class Load:
    """What runs now."""

    new: int
    """Turns that were not resumed after an interruption."""
    young: int
    """Resumed turns that still count towards the half."""
    old: int
    """Other resumed turns; some may hang."""


@dataclass(frozen=True, slots=True)
class Room:
    """How many turns may be claimed now, and how many of them may be resumed ones."""

    turns: int
    resumes: int


def reserve(settings: WorkerSettings) -> int:
    """Workers that no resumed turn is given."""
    return max(1, settings.workers // 4) if settings.workers > 1 else 0


def room(load: Load, settings: WorkerSettings) -> Room:
    """Say how much may be claimed beside what runs."""
    workers = settings.workers
    beside = min(load.old, max(0, _LEAST - workers))
    free = workers - (load.new + load.young + load.old - beside)
    half = max(1, workers // 2) - load.young
    share = workers - reserve(settings) - (load.young + load.old - beside)
    return Room(max(0, free), max(0, min(free, half, share)))


def all_hang(load: Load, hung: int, settings: WorkerSettings) -> bool:
    """Whether no resume finds a worker because all runs hang that may hold one outside the reserve."""
    runs = load.new + load.young + load.old
    others = min(runs, settings.workers - reserve(settings))
    return 0 < others <= hung and room(load, settings).resumes == 0
