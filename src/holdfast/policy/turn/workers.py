"""Which turns the workers may claim: resumed turns delay neither new messages nor each other.

- A resumed turn is young for its first half minute (`counts`). Young turns hold at most half of the workers,
  so that many resumes at once leave room. A resume that hangs becomes old and delays no other resume.
- A quarter of the workers, at least one, never runs resumed turns: a new message finds a worker.
- A pool of fewer than four workers is too small for both rules. There, old resumed turns run beside the
  workers, until there are four runs in all. A single worker is not reserved: a new message waits for a
  resumed turn until that turn is old.
"""

from __future__ import annotations

from holdfast.policy.settings import WorkerSettings
from holdfast.records import dataclass

_LEAST = 4
"""Runs that the smallest pool may have when some of them are old resumed turns."""


@dataclass(frozen=True, slots=True)
class Load:
    """What runs now."""

    new: int
    """Turns that were not resumed after an interruption."""
    young: int
    """Resumed turns that count towards the half."""
    old: int
    """All other resumed turns; some may hang."""


@dataclass(frozen=True, slots=True)
class Room:
    """How many turns may be claimed now, and how many of them may be resumed ones."""

    turns: int
    resumes: int


def reserve(settings: WorkerSettings) -> int:
    """How many workers never run a resumed turn."""
    return max(1, settings.workers // 4) if settings.workers > 1 else 0


def room(load: Load, settings: WorkerSettings) -> Room:
    """How many turns may be claimed beside those that run."""
    workers = settings.workers
    beside = min(load.old, max(0, _LEAST - workers))
    free = workers - (load.new + load.young + load.old - beside)
    half = max(1, workers // 2) - load.young
    share = workers - reserve(settings) - (load.young + load.old - beside)
    return Room(max(0, free), max(0, min(free, half, share)))


def all_hang(load: Load, hung: int, settings: WorkerSettings) -> bool:
    """Whether a resume finds no worker because every run outside the reserve hangs."""
    runs = load.new + load.young + load.old
    others = min(runs, settings.workers - reserve(settings))
    return 0 < others <= hung and room(load, settings).resumes == 0
