"""The facts for recovery's decisions: what the ledger says of a turn, and what only the gateway knows."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.clock import between
from holdfast.model import InstanceId, OnInterruption, PersonId, QuestionKind, Tail, TurnId, account_at
from holdfast.model.states import SILENT
from holdfast.policy.recovery.outcome import Decision, RecoveryFacts, decide
from holdfast.policy.settings import RecoverySettings
from holdfast.records import dataclass
from holdfast.store import StaleTurn


@dataclass(frozen=True, slots=True)
class Outside:
    """What is true now, but is in no row of the turn."""

    alive: frozenset[InstanceId]
    """Processes that run now, with this one."""
    connected: frozenset[str]
    """Names of the platforms that are connected."""
    served: frozenset[str]
    """The bot accounts that this gateway is configured for, as `served_by` writes them."""
    allowed: Callable[[PersonId], bool]
    safe_mode: bool = False
    lane_taken: bool = False
    on_interruption: OnInterruption = OnInterruption.RESUME
    me: InstanceId | None = None
    uptime: tuple[str, int] = ("", 0)
    """`Clock.uptime`: since the boot of the machine, ages are measured on its own clock."""
    running: frozenset[TurnId] | None = None
    """The turns that this process still works on. None: it cannot tell, so it may work on any turn."""

    def holds(self, owner: InstanceId | None, turn: TurnId) -> bool:
        """Whether a living process may still work on that turn."""
        alive = owner in self.alive
        return alive and (owner != self.me or self.running is None or turn in self.running)


TrueNow = tuple[bool, bool, bool, bool, bool]
"""Of one turn: whether its sender is allowed, its owner alive, its origin known, its platform connected, and
whether a message waits."""


def true_now(stale: StaleTurn, outside: Outside) -> TrueNow:
    """Check these facts once: access may change at any moment, and one decision needs one set of facts."""
    waiting = stale.waiting_sender
    return (
        _is_allowed(outside, stale.sender),
        outside.holds(stale.stands.last_owner, stale.turn),
        account_at(stale.chat) in outside.served,
        stale.chat.partition("/")[0] in outside.connected,
        waiting is not None and _is_allowed(outside, waiting),
    )


def progressed_at(stale: StaleTurn, outside: Outside, now: int) -> int | None:
    """When the turn last progressed, on the present wall clock.

    For progress since the boot of the machine, the age comes from the machine's own clock: a change of the
    wall clock does not change it.
    """
    elapsed = between(stale.progress_mark, outside.uptime)
    return stale.progress_at if elapsed is None else now - elapsed


def counts_from(stale: StaleTurn, outside: Outside, now: int) -> int | None:
    """The time from which the age of this work counts: its last progress, or an approval's later expiry."""
    progress_at, since, stands = progressed_at(stale, outside, now), stale.silent_since, stale.stands
    unanswered = stands.asked is QuestionKind.APPROVAL and stands.question in SILENT
    refused = stands.tail is Tail.QUESTION and unanswered
    return max(since, progress_at or 0) if refused and since is not None else progress_at


def facts_of(stale: StaleTurn, outside: Outside, true: TrueNow, progress_at: int | None) -> RecoveryFacts:
    """Build the facts of one turn; no other place does."""
    stands = stale.stands
    sender_allowed, owner_alive, origin_known, platform_connected, message_waiting = true
    return RecoveryFacts(
        suspended=stands.suspended,
        stop=stands.stop,
        sender_allowed=sender_allowed,
        tail=stands.tail,
        question=stands.question,
        asked=stands.asked,
        resume_ended_empty=stands.tail is Tail.NOTE and stands.noted >= stands.interruptions,
        strikes=stands.strikes,
        interruptions=stands.interruptions,
        owner_alive=owner_alive,
        origin_known=origin_known,
        platform_connected=platform_connected,
        reason=stands.interruption,
        message_waiting=message_waiting,
        progress_at=progress_at,
        quarantined_for=stale.quarantined,
        on_interruption=stands.on_interruption or outside.on_interruption,
        consented=stands.consented,
        safe_mode=outside.safe_mode,
        lane_taken=outside.lane_taken,
        record=stands.record,
    )


def _is_allowed(outside: Outside, person: PersonId) -> bool:
    try:
        return outside.allowed(person)
    except Exception:  # noqa: BLE001 - a person who cannot be checked is not allowed
        return False


def judge_stale(stale: StaleTurn, now: int, outside: Outside, settings: RecoverySettings) -> Decision:
    """Decide about one interrupted turn now."""
    progress_at = counts_from(stale, outside, now)
    return decide(facts_of(stale, outside, true_now(stale, outside), progress_at), now, settings)
