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
        alive = owner in self.alive
        return alive and (owner != self.me or self.running is None or turn in self.running)


TrueNow = tuple[bool, bool, bool, bool]
"""Of one turn: whether its sender is allowed, its owner alive, its platform connected, a message waiting."""


def true_now(stale: StaleTurn, outside: Outside) -> TrueNow:
    """Ask once: a person may be let in or out at any moment, and one decision has one set of facts."""
    waiting = stale.waiting_sender
    return (
        _is_allowed(outside, stale.sender),
        outside.holds(stale.stands.last_owner, stale.turn),
        stale.chat.partition("/")[0] in outside.connected,
        waiting is not None and _is_allowed(outside, waiting),
    )


def facts_of(stale: StaleTurn, outside: Outside, true: TrueNow) -> RecoveryFacts:
    """Put all of it together; the one place that does."""
    stands = stale.stands
    sender_allowed, owner_alive, platform_connected, message_waiting = true
    return RecoveryFacts(
        suspended=stands.suspended,
        stop=stands.stop,
        sender_allowed=sender_allowed,
        tail=stands.tail,
        question=stands.question,
        resume_ended_empty=stands.tail is Tail.NOTE and stands.noted >= stands.interruptions,
        strikes=stands.strikes,
        interruptions=stands.interruptions,
        owner_alive=owner_alive,
        origin_known=True,
        platform_connected=platform_connected,
        reason=stands.interruption,
        message_waiting=message_waiting,
        progress_at=stale.progress_at,
        quarantined_for=stale.quarantined,
        on_interruption=stands.on_interruption or outside.on_interruption,
        consented=stands.consented,
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
    return decide(facts_of(stale, outside, true_now(stale, outside)), now, settings)
