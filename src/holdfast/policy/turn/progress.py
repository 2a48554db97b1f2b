"""When a running turn counts as stuck: by time without progress, never by how long it has run."""

from __future__ import annotations

from enum import StrEnum

from holdfast.model import Body, CallState, Replied, Returned, Said
from holdfast.policy.ages import age
from holdfast.policy.settings import ProgressSettings
from holdfast.records import dataclass


class Stuck(StrEnum):
    """What to do about a run without progress."""

    WARN = "warn"
    ABORT = "abort"
    """End the turn as failed; the person is told once."""


@dataclass(frozen=True, slots=True)
class RunFacts:
    """One run of a turn, as the ledger knows it."""

    claimed_at: int
    progress_at: int | None
    """The last recorded progress of the turn, also of an earlier run; None if no time can be read."""


def stuck(facts: RunFacts, now: int, settings: ProgressSettings) -> Stuck | None:
    """Decide whether the run has been without progress for too long.

    The time counts from the claim at the earliest: a resumed turn has only the progress of an earlier run.
    """
    silent = age(now, max(facts.claimed_at, facts.progress_at or 0))
    if silent >= settings.abort:
        return Stuck.ABORT
    return Stuck.WARN if silent >= settings.warn else None


def is_progress(body: Body) -> bool:
    """Whether an entry is progress: a message, model output or a real result."""
    match body:
        case Said():
            return True
        case Replied(text=text, calls=calls):
            return bool(text or calls)
        case Returned(state=state):
            return state in (CallState.DONE, CallState.FAILED)
        case _:
            return False
