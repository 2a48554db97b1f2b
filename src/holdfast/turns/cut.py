"""A cut ends a run from outside. It is a value: any part may ask for it, and `apply_cut` carries it out."""

from __future__ import annotations

from enum import IntEnum

from holdfast.policy.intake.admission import Refusal
from holdfast.records import dataclass


class CutKind(IntEnum):
    """Why a run is cut; a higher kind overrides a lower one under way."""

    STUCK = 1
    """The run makes no progress: the turn ends as failed."""
    STOP = 2
    """A person stopped the turn, or its person is no longer allowed: it ends as cancelled."""
    DRAIN = 3
    """The process is about to end: the turn is interrupted, or put back if nothing has begun in this run."""
    LOST = 4
    """Another run has the turn now: this run ends without a write."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A request to end a run."""

    kind: CutKind
    reason: str = ""
    """For a drain: the interruption as the ledger keeps it. For a stop without a request: why."""


STUCK = Cut(CutKind.STUCK)
STOP = Cut(CutKind.STOP)
NOT_ALLOWED = Cut(CutKind.STOP, Refusal.NOT_ALLOWED)
LOST = Cut(CutKind.LOST)


def drain(reason: str) -> Cut:
    """The cut at the end of a drain whose time is up."""
    return Cut(CutKind.DRAIN, reason)


class CutOff(Exception):
    """Raised inside a run at the next point where it waits or would begin an effect."""

    def __init__(self, cut: Cut) -> None:
        super().__init__(cut.kind.name)
        self.cut = cut
