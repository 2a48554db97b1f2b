"""When a running turn counts as stuck: by time without progress, never by how long it has run."""

from __future__ import annotations

from enum import StrEnum

from holdfast.model import Body, CallState, Replied, Returned, Said
from holdfast.policy.ages import age
from holdfast.policy.settings import ProgressSettings
from holdfast.records import dataclass


class Stuck(StrEnum):
    """How stuck a run is."""

    WARN = "warn"
    ABORT = "abort"
    """End it as failed; the person is told once."""


@dataclass(frozen=True, slots=True)
class RunFacts:
    """One run of a turn, as the ledger knows it."""

    claimed_at: int
    progress_at: int | None
    """Last recorded progress of the turn, also of an earlier run; None if there is none to read."""


def stuck(facts: RunFacts, now: int, settings: ProgressSettings) -> Stuck | None:
    """Say whether the run lacks progress for too long.

    A resumed turn brings old progress along; its new run gets the whole time, counted from the claim.
    """
    silent = age(now, max(facts.claimed_at, facts.progress_at or 0))
    if silent >= settings.abort:
        return Stuck.ABORT
    return Stuck.WARN if silent >= settings.warn else None


def is_progress(body: Body) -> bool:
    """Whether an entry shows that work moves: a message, model output or a real result, and nothing else."""
    match body:
        case Said():
            return True
        case Replied(text=text, calls=calls):
            return bool(text or calls)
        case Returned(state=state):
            return state in (CallState.DONE, CallState.FAILED)
        case _:
            return False
