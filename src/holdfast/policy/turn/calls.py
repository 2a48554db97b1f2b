"""What to do about one tool call that has no result yet."""

from __future__ import annotations

from enum import StrEnum

from holdfast.model import (
    CallId,
    CallRecord,
    CallState,
    EffectClass,
    Journal,
    QuestionId,
    QuestionKind,
    QuestionRecord,
    QuestionState,
)
from holdfast.model.states import SILENT
from holdfast.policy.consent.approvals import OPEN_GATE, Gate
from holdfast.policy.consent.argument_text import call_hash
from holdfast.policy.consent.card import can_be_shown
from holdfast.policy.intake.parse_input import APPROVED_ALWAYS
from holdfast.policy.settings import Ruling
from holdfast.records import dataclass

from .synthetic_results import Skip, no_answer_text, skipped_text, unknown_text

APPROVED = "yes"
"""The stored answer that lets one call run, given by a button, a number or a word."""


class How(StrEnum):
    """Where a settlement's result comes from."""

    WRITE = "write"
    """The result is known: commit it."""
    ASK_TOOL = "ask_tool"
    """Ask the tool about the call; if it cannot tell, the result is unknown."""


@dataclass(frozen=True, slots=True)
class Settlement:
    """The result of a call that does not run. `state` is one that the call may move to."""

    call: CallId
    state: CallState
    text: str
    how: How = How.WRITE


@dataclass(frozen=True, slots=True)
class ToRun:
    """A call to run now. `again`: it was cut off before, and another run does no harm."""

    call: CallRecord
    again: bool = False
    rule: int | None = None
    """The stored rule that allows it; the start is refused if the rule is revoked by then."""


@dataclass(frozen=True, slots=True)
class InFlight:
    """A call that this run has started and that has no result yet."""

    call: CallId


@dataclass(frozen=True, slots=True)
class Awaited:
    """A call that waits for a person, or whose question was closed without an answer."""

    call: CallId
    question: QuestionId


@dataclass(frozen=True, slots=True)
class NeedsConsent:
    """A call that needs a person's consent before it runs."""

    call: CallRecord


Verdict = Settlement | ToRun | InFlight | Awaited | NeedsConsent

_NOT_ALLOWED = {
    QuestionState.ANSWERED: Skip.REFUSED,
    QuestionState.EXPIRED: Skip.NO_ANSWER,
    QuestionState.SET_ASIDE: Skip.SET_ASIDE,
    QuestionState.UNDELIVERABLE: Skip.UNDELIVERABLE,
    QuestionState.CANCELLED: Skip.CANCELLED,
}


def judge_call(
    call: CallRecord,
    question: QuestionRecord | None,
    generation: int,
    *,
    whole: bool = True,
    gate: Gate = OPEN_GATE,
) -> Verdict:
    """Decide about one planned or started call.

    `question` is the newest one about the call, and `generation` belongs to the run that asks. `whole` is
    False when the model's message broke off, so that the call may be incomplete. `gate` holds the present
    rules: they count until the call starts, even if other rules held when it was planned.
    """
    if question and question.state is QuestionState.OPEN:
        return Awaited(call.id, question.id)
    if question and question.kind is QuestionKind.CLARIFY:
        # A question without an answer ends the turn; the model is not called for it.
        silent = question.state in SILENT
        return Awaited(call.id, question.id) if silent else _by_answer(call, question)
    ruling = gate.ruling(call)
    forbidden = Skip.DENIED if ruling is Ruling.DENY else _forbidden(call, question)
    consent = _consent(call, question, gate) if forbidden is None and ruling is Ruling.ASK else _NOT_NEEDED
    if call.state is CallState.PLANNED:
        return _planned(call, forbidden if whole else Skip.BROKEN_OFF, consent)
    if call.generation >= generation:
        # A newer generation means that this run is stale: it must not touch the call either.
        return InFlight(call.id)
    # It was allowed when it started, and it is the same call.
    return _cut_off(call, allowed=forbidden is None and consent.lacks is None)


@dataclass(frozen=True, slots=True)
class _Consent:
    """What lets a call run that needs consent, or why it may not run."""

    rule: int | None = None
    lacks: Skip | None = None
    is_asked: bool = True
    """False: no person has been asked yet, and no rule covers the call."""


_NOT_NEEDED = _Consent()


def _consent(call: CallRecord, yes: QuestionRecord | None, gate: Gate) -> _Consent:
    """A yes to exactly this call that still counts, or else a rule of the chat that covers it."""
    counts = yes is not None and gate.counts(yes)
    is_first_run = call.state is CallState.PLANNED
    if yes is not None and counts and not (is_first_run and gate.is_stale(yes)):
        return _Consent()
    rule = gate.allowing(call)
    if rule is not None:
        return _Consent(rule.id)
    if yes is None:
        return _Consent(is_asked=False)
    return _Consent(lacks=Skip.STALE if counts else Skip.NOT_OWNER)


def _planned(call: CallRecord, skip: Skip | None, consent: _Consent) -> Verdict:
    lacks = skip or consent.lacks
    if lacks is not None:
        return _skip(call, lacks)
    if consent.is_asked:
        return ToRun(call, rule=consent.rule)
    return NeedsConsent(call) if can_be_shown(call) else _skip(call, Skip.TOO_LONG)


def _cut_off(call: CallRecord, allowed: bool) -> Verdict:
    """A call that an earlier run started, and whose end was not recorded."""
    unknown = Settlement(call.id, CallState.UNKNOWN, unknown_text(call, call.output))
    match call.effect:
        case EffectClass.READ | EffectClass.IDEMPOTENT:
            return ToRun(call, again=True) if allowed else unknown
        case EffectClass.RECONCILABLE:
            return Settlement(call.id, unknown.state, unknown.text, How.ASK_TOOL)
        case EffectClass.EFFECT:
            return unknown


def _by_answer(call: CallRecord, question: QuestionRecord) -> Settlement:
    """The result of a question of the model: the person's answer, or that there is none."""
    answered = question.state is QuestionState.ANSWERED and question.answer is not None
    text = question.answer if answered and question.answer else no_answer_text(question.state)
    if call.state is CallState.PLANNED:
        return Settlement(call.id, CallState.SKIPPED, text)  # never started, so it cannot be done
    return Settlement(call.id, CallState.DONE if answered else CallState.FAILED, text)


def _forbidden(call: CallRecord, question: QuestionRecord | None) -> Skip | None:
    """Why a closed approval does not let the call run; None if it does, or if none was needed."""
    if question is None:
        return None
    if question.state is not QuestionState.ANSWERED or not is_yes(question.answer):
        return no_consent(question.state)
    return None if question.call_hash == call_hash(call.name, call.arguments) else Skip.OTHER_CALL


def unheeded(journal: Journal) -> tuple[QuestionRecord, ...]:
    """Approvals that closed without an answer, and whose call has no result for the model yet."""
    planned = {call.id for call in journal.calls if call.state is CallState.PLANNED}
    return tuple(
        question
        for question in journal.questions
        if question.kind is QuestionKind.APPROVAL and question.state in SILENT and question.call in planned
    )


def no_consent(state: QuestionState) -> Skip:
    """Why a call does not run when its approval closed in this state."""
    return _NOT_ALLOWED[state]


def _skip(call: CallRecord, why: Skip) -> Settlement:
    return Settlement(call.id, CallState.SKIPPED, skipped_text(call, why))


def is_yes(answer: str | None) -> bool:
    """Whether an approval's answer allows the call: only a plain yes, or always, does."""
    return answer is not None and answer.strip().casefold() in (APPROVED, APPROVED_ALWAYS)
