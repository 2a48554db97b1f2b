"""The facts recovery decides on: what the ledger says of a turn, and what only the gateway knows now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from holdfast.model import InstanceId, OnInterruption, PersonId, Tail, TurnId
from holdfast.policy.recovery import Decision, RecoveryFacts, decide
from holdfast.policy.settings import RecoverySettings
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
    """Put both together; the one place that does."""
    waiting = stale.waiting_sender
    return RecoveryFacts(
        suspended=stale.suspended,
        stop=stale.stop,
        sender_allowed=_is_allowed(outside, stale.sender),
        tail=stale.tail,
        question=stale.question,
        resume_ended_empty=stale.tail is Tail.NOTE and stale.noted >= stale.interruptions,
        strikes=stale.strikes,
        interruptions=stale.interruptions,
        owner_alive=outside.holds(stale.last_owner, stale.turn),
        origin_known=True,
        platform_connected=stale.chat.partition("/")[0] in outside.connected,
        reason=stale.interruption,
        message_waiting=waiting is not None and _is_allowed(outside, waiting),
        progress_at=stale.progress_at,
        quarantined_for=stale.quarantined,
        on_interruption=stale.on_interruption or outside.on_interruption,
        consented=stale.consented,
        safe_mode=outside.safe_mode,
        lane_taken=outside.lane_taken,
    )


def _is_allowed(outside: Outside, person: PersonId) -> bool:
    try:
        return outside.allowed(person)
    except Exception:  # noqa: BLE001 - whatever went wrong: who cannot be checked is not allowed
        return False


def judge_stale(stale: StaleTurn, now: int, outside: Outside, settings: RecoverySettings) -> Decision:
    """Say what becomes of one interrupted turn now."""
    return decide(facts_of(stale, outside), now, settings)
