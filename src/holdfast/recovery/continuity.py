"""The continuity report: what recovery did with the work of the last process, once per boot, for people."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from holdfast.model import TurnId, TurnState
from holdfast.policy.recovery.outcome import Decision, Outcome
from holdfast.records import dataclass
from holdfast.store import Continuity, ExpiredQuestion

_LISTED = 20


@dataclass(frozen=True, slots=True)
class Fate:
    """One turn that the boot found open: its state, what recovery decided, and why."""

    turn: TurnId
    found: TurnState
    interruption: str | None
    became: str
    """The outcome, or the unchanged state if there was nothing to decide."""
    row: str | None
    """The row of the recovery table that decided."""
    why: str


@dataclass(frozen=True, slots=True)
class ContinuityReport:
    """How the last process ended, what it left, and what recovery did with each turn."""

    at: int
    previous_ended: str
    previous_started_at: int | None
    previous_seen_at: int | None
    fates: tuple[Fate, ...]
    counts: tuple[tuple[str, int], ...]
    """How often each outcome was decided, most frequent first; also for turns that `fates` does not list."""
    owed: int
    unknown: int
    waiting: int

    def lines(self) -> tuple[str, ...]:
        """The report in lines for people."""
        return render(self)

    def kept(self) -> str:
        """The report as the ledger keeps it: JSON, with the lines of this version."""
        return json.dumps({**asdict(self), "lines": self.lines()})


_LEFT_ALONE: Mapping[TurnState, str] = {
    TurnState.QUEUED: "it is in line and goes on",
    TurnState.WAITING: "it waits for an answer to its question",
}
_AFTER_EXPIRY: Mapping[TurnState, str] = {
    **dict.fromkeys(TurnState, "its question expired"),
    TurnState.EXPIRED: "its question got no answer in time, so the work ended; /resume goes on with it",
    TurnState.QUEUED: "its approval got no answer in time, which counts as refused; it goes on",
    TurnState.CANCELLED: "its question got no answer in time, so the work was dropped",
}
_ENDED = {
    "none": "There was no run before this one.",
    "stopped": "The last run was stopped in order.",
    "restart": "The last run ended for a restart.",
    "failed": "The last run stopped itself because of an error, and recorded that.",
    "restored": "This ledger was restored from a backup. What was open then is held for the operator: "
    "`holdfast release` lists it.",
    "crashed": "The last run recorded no end: a crash, a kill or a power cut.",
}


def continuity_report(
    found: Continuity,
    decided: Mapping[TurnId, Decision],
    expired: Mapping[TurnId, ExpiredQuestion],
    now: int,
) -> ContinuityReport:
    """Combine what a boot found with what its first round decided. Pure."""
    outcomes = Counter(str(decision.outcome) for decision in decided.values())
    outcomes.update(_became(one) for turn, one in expired.items() if turn not in decided)
    return ContinuityReport(
        now,
        found.previous_ended,
        found.previous_started_at,
        found.previous_seen_at,
        tuple(
            _fate(turn, state, reason, decided.get(turn), expired.get(turn))
            for turn, state, reason in found.open_turns
        ),
        tuple(sorted(outcomes.items(), key=lambda each: (-each[1], each[0]))),
        found.owed,
        found.unknown,
        found.waiting,
    )


def _fate(
    turn: TurnId,
    state: TurnState,
    reason: str | None,
    decision: Decision | None,
    expired: ExpiredQuestion | None,
) -> Fate:
    if decision is None and expired is not None:
        return Fate(turn, state, reason, _became(expired), expired.why, _AFTER_EXPIRY[expired.state])
    if decision is None:
        return Fate(turn, state, reason, state, None, _LEFT_ALONE.get(state, "nothing was decided yet"))
    facts_reason = decision.facts.reason or reason
    return Fate(turn, state, facts_reason, decision.outcome, decision.reason, decision.sentence)


def _became(expired: ExpiredQuestion) -> str:
    """The outcome that leads to the turn's state; the state itself if no outcome does."""
    outcomes = {TurnState.EXPIRED: Outcome.EXPIRE, TurnState.CANCELLED: Outcome.CANCEL}
    return outcomes.get(expired.state, expired.state)


def render(report: ContinuityReport) -> tuple[str, ...]:
    """The lines of the report."""
    lines = [_ENDED.get(report.previous_ended, f"The last run ended as {report.previous_ended}.")]
    lines.append(f"Turns found open: {len(report.fates)}.{_counted(report.counts)}")
    lines += [_line(fate) for fate in report.fates[:_LISTED]]
    if len(report.fates) > _LISTED:
        lines.append(f"… and {len(report.fates) - _LISTED} more")
    lines.append(f"Replies owed: {report.owed}; of unknown outcome: {report.unknown}.")
    lines.append(f"Messages waiting: {report.waiting}.")
    return tuple(lines)


def _counted(counts: Sequence[tuple[str, int]]) -> str:
    return f" Decided: {', '.join(f'{name} {count}' for name, count in counts)}." if counts else ""


def _line(fate: Fate) -> str:
    row = f" ({fate.row})" if fate.row else ""
    return f"- {fate.turn}, {fate.found}: {fate.became}{row}: {fate.why}"
