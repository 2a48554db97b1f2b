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
    """Put both together; the one place that does. By position and past the constructor: names cost twice as
    much, and a boot may ask for ten thousand turns."""
    # fmt: off
    (turn, _, _, chat, _, _, suspended, stop, sender, tail, question, noted, strikes, interruptions,
     interruption, last_owner, progress_at, quarantined, _, on_interruption, consented, waiting, _, _) = stale
    # fmt: on
    return tuple.__new__(
        RecoveryFacts,
        (
            suspended,
            stop,
            _is_allowed(outside, sender),
            tail,
            question,
            tail is Tail.NOTE and noted >= interruptions,  # resume_ended_empty
            strikes,
            interruptions,
            outside.holds(last_owner, turn),
            True,  # origin_known
            chat.partition("/")[0] in outside.connected,
            interruption,
            waiting is not None and _is_allowed(outside, waiting),
            progress_at,
            quarantined,
            on_interruption or outside.on_interruption,
            consented,
            outside.safe_mode,
            outside.lane_taken,
        ),
    )


def _is_allowed(outside: Outside, person: PersonId) -> bool:
    try:
        return outside.allowed(person)
    except Exception:  # noqa: BLE001 - whatever went wrong: who cannot be checked is not allowed
        return False


def judge_stale(stale: StaleTurn, now: int, outside: Outside, settings: RecoverySettings) -> Decision:
    """Say what becomes of one interrupted turn now."""
    return decide(facts_of(stale, outside), now, settings)
