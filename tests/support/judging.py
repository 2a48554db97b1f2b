"""Recovery's decisions for tests of the store: by the name of the row that makes them."""

from holdfast.model import OnInterruption, Tail
from holdfast.policy.recovery.outcome import Decision, Outcome, RecoveryFacts, table
from holdfast.store import Judged, Verdict

_ROWS = {row.name: row for row in table()}

ANY_FACTS = RecoveryFacts(
    suspended=False,
    stop=None,
    sender_allowed=True,
    tail=Tail.WORK,
    question=None,
    asked=None,
    resume_ended_empty=False,
    strikes=0,
    interruptions=1,
    owner_alive=False,
    origin_known=True,
    platform_connected=True,
    reason=None,
    message_waiting=False,
    progress_at=None,
    quarantined_for=0,
    on_interruption=OnInterruption.RESUME,
    consented=False,
    safe_mode=False,
    lane_taken=False,
)


def rule(name: str) -> Decision:
    """The decision a row of the table makes."""
    return Decision(_ROWS[name], ANY_FACTS)


def judged(*verdicts: Verdict) -> Judged:
    """These verdicts as recovery hands them to the ledger."""
    go_on = [verdict for verdict in verdicts if verdict.decision.outcome is Outcome.RESUME]
    return Judged([one.stale for one in go_on], [one for one in verdicts if one not in go_on])
