"""What is to be done about one tool call that has no result yet."""

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
"""The answer that lets one call run; a button, number or word that means it is stored as this."""


class How(StrEnum):
    """Where a settlement's result comes from."""

    WRITE = "write"
    """It is known: commit it."""
    ASK_TOOL = "ask_tool"
    """The tool is asked what became of the call; what it cannot tell is written as unknown."""


@dataclass(frozen=True, slots=True)
class Settlement:
    """The result of a call that is not run. `state` is one its call may move to."""

    call: CallId
    state: CallState
    text: str
    how: How = How.WRITE


@dataclass(frozen=True, slots=True)
class ToRun:
    """A call to be run now. `again`: it was cut off before, and running it once more does no harm."""

    call: CallRecord
    again: bool = False
    rule: int | None = None
    """The rule without which it could not run: its start is refused if that is revoked by then."""


@dataclass(frozen=True, slots=True)
class InFlight:
    """A call this run has started and whose result is still to come."""

    call: CallId


@dataclass(frozen=True, slots=True)
class Awaited:
    """A call that waits for a person, or whose question was closed without an answer."""

    call: CallId
    question: QuestionId


@dataclass(frozen=True, slots=True)
class NeedsConsent:
    """A call that a person has to be asked about before it runs."""

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

    `question` is the newest one about it, `generation` that of the run that looks, and `whole` is False
    when the model's message broke off, so that nobody knows what the call was going to be. `gate` holds the
    rules of now: they count up to the moment a call starts, whatever they were when it was planned.
    """
    if question and question.state is QuestionState.OPEN:
        return Awaited(call.id, question.id)
    if question and question.kind is QuestionKind.CLARIFY:
        # A question without an answer ends the turn where it would wait: the model is not called for it.
        silent = question.state in SILENT
        return Awaited(call.id, question.id) if silent else _by_answer(call, question)
    ruling = gate.ruling(call)
    forbidden = Skip.DENIED if ruling is Ruling.DENY else _forbidden(call, question)
    consent = _consent(call, question, gate) if forbidden is None and ruling is Ruling.ASK else _NOT_NEEDED
    if call.state is CallState.PLANNED:
        return _planned(call, forbidden if whole else Skip.BROKEN_OFF, consent)
    if call.generation >= generation:
        # A newer generation than ours means that we are the stale run: hands off as well.
        return InFlight(call.id)
    # It was allowed when it started, by whatever counted then, and is the same call.
    return _cut_off(call, allowed=forbidden is None and consent.lacks is None)


@dataclass(frozen=True, slots=True)
class _Consent:
    """What lets a call run that people are asked about; or why it may not."""

    rule: int | None = None
    lacks: Skip | None = None
    is_asked: bool = True
    """False: nobody was asked yet, and no rule covers the call."""


_NOT_NEEDED = _Consent()


def _consent(call: CallRecord, yes: QuestionRecord | None, gate: Gate) -> _Consent:
    """A yes to this very call that still counts, or else a rule of the chat that covers it."""
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
    """A call that another run had started; nobody saw how it ended."""
    unknown = Settlement(call.id, CallState.UNKNOWN, unknown_text(call, call.output))
    match call.effect:
        case EffectClass.READ | EffectClass.IDEMPOTENT:
            return ToRun(call, again=True) if allowed else unknown
        case EffectClass.RECONCILABLE:
            return Settlement(call.id, unknown.state, unknown.text, How.ASK_TOOL)
        case EffectClass.EFFECT:
            return unknown


def _by_answer(call: CallRecord, question: QuestionRecord) -> Settlement:
    """The model asked the person: what they said, or that they did not, is the result."""
    answered = question.state is QuestionState.ANSWERED and question.answer is not None
    text = question.answer if answered and question.answer else no_answer_text(question.state)
    if call.state is CallState.PLANNED:
        return Settlement(call.id, CallState.SKIPPED, text)  # never started, so it cannot be done
    return Settlement(call.id, CallState.DONE if answered else CallState.FAILED, text)


def _forbidden(call: CallRecord, question: QuestionRecord | None) -> Skip | None:
    """Why a closed approval does not let the call run, or None if it does or none was needed."""
    if question is None:
        return None
    if question.state is not QuestionState.ANSWERED or not is_yes(question.answer):
        return no_consent(question.state)
    return None if question.call_hash == call_hash(call.name, call.arguments) else Skip.OTHER_CALL


def unheeded(journal: Journal) -> tuple[QuestionRecord, ...]:
    """Approvals that were closed without an answer, and whose call the model has not been told of."""
    planned = {call.id for call in journal.calls if call.state is CallState.PLANNED}
    return tuple(
        question
        for question in journal.questions
        if question.kind is QuestionKind.APPROVAL and question.state in SILENT and question.call in planned
    )


def no_consent(state: QuestionState) -> Skip:
    """Why a call is not run whose approval was closed so."""
    return _NOT_ALLOWED[state]


def _skip(call: CallRecord, why: Skip) -> Settlement:
    return Settlement(call.id, CallState.SKIPPED, skipped_text(call, why))


def is_yes(answer: str | None) -> bool:
    """Whether an approval's answer allows the call; anything but a plain yes, or always, does not."""
    return answer is not None and answer.strip().casefold() in (APPROVED, APPROVED_ALWAYS)
