"""The facts recovery decides on: what the ledger says of a turn, and what only the gateway knows now."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.model import InstanceId, OnInterruption, PersonId, Tail, TurnId
from holdfast.policy.recovery import Decision, RecoveryFacts, decide
from holdfast.policy.settings import RecoverySettings
from holdfast.records import dataclass
from holdfast.store import StaleTurn


@dataclass(frozen=True, slots=True)
class Outside:
    """What is true now and stands in no row of the turn."""

    alive: frozenset[InstanceId]
    """Processes that run now, this one among them."""
    connected: frozenset[str]
    allowed: Callable[[PersonId], bool]
    safe_mode: bool = False
    lane_taken: bool = False
    on_interruption: OnInterruption = OnInterruption.RESUME
    me: InstanceId | None = None
    running: frozenset[TurnId] | None = None
    """Turns this process still works on: it has let go of every other. None: nobody knows, so of none."""

    def holds(self, owner: InstanceId | None, turn: TurnId) -> bool:
        """Whether a living process may still be at work on that turn."""
        if owner is None or owner not in self.alive:
            return False
        return owner != self.me or self.running is None or turn in self.running


def facts_of(stale: StaleTurn, outside: Outside) -> RecoveryFacts:
    """Put both together; the one place that does. By position: names cost half as much again, per turn."""
    tail, interruptions, waiting = stale.tail, stale.interruptions, stale.waiting_sender
    return RecoveryFacts(
        stale.suspended,
        stale.stop,
        _is_allowed(outside, stale.sender),
        tail,
        stale.question,
        tail is Tail.NOTE and stale.noted >= interruptions,  # resume_ended_empty
        stale.strikes,
        interruptions,
        outside.holds(stale.last_owner, stale.turn),
        True,  # origin_known
        stale.chat.partition("/")[0] in outside.connected,
        stale.interruption,
        waiting is not None and _is_allowed(outside, waiting),
        stale.progress_at,
        stale.quarantined,
        stale.on_interruption or outside.on_interruption,
        stale.consented,
        outside.safe_mode,
        outside.lane_taken,
    )


def _is_allowed(outside: Outside, person: PersonId) -> bool:
    try:
        return outside.allowed(person)
    except Exception:  # noqa: BLE001 - whatever went wrong: who cannot be checked is not allowed
        return False


def judge_stale(stale: StaleTurn, now: int, outside: Outside, settings: RecoverySettings) -> Decision:
    """Say what becomes of one interrupted turn now."""
    return decide(facts_of(stale, outside), now, settings)
