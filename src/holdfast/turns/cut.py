"""What can end a run from outside, as a value: asked for anywhere, carried out in one place."""

from __future__ import annotations

from enum import IntEnum

from holdfast.policy.intake.admission import Refusal
from holdfast.records import dataclass


class CutKind(IntEnum):
    """Why a run is cut; a higher one overrides a lower one that is under way."""

    STUCK = 1
    """Nothing moves any more: it ends as failed."""
    STOP = 2
    """A person asked for it, or may not ask for it any more: it ends as cancelled."""
    DRAIN = 3
    """The process is about to end: marked as interrupted, or put back if nothing has begun."""
    LOST = 4
    """The turn belongs to somebody else: it ends without a write."""


@dataclass(frozen=True, slots=True)
class Cut:
    """One cut."""

    kind: CutKind
    reason: str = ""
    """For a drain: the interruption as the ledger keeps it; for a stop nobody asked for: why."""


STUCK = Cut(CutKind.STUCK)
STOP = Cut(CutKind.STOP)
NOT_ALLOWED = Cut(CutKind.STOP, Refusal.NOT_ALLOWED)
LOST = Cut(CutKind.LOST)


def drain(reason: str) -> Cut:
    """The cut at the end of a drain that ran out."""
    return Cut(CutKind.DRAIN, reason)


class CutOff(Exception):
    """Raised inside a run at the next point where it waits or would begin something."""

    def __init__(self, cut: Cut) -> None:
        super().__init__(cut.kind.name)
        self.cut = cut
