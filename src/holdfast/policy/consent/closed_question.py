"""The text of a question's message after the question is closed."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from holdfast.model import AskedBy, Delivery, QuestionKind, QuestionState
from holdfast.policy.delivery.parts import mark_for, width
from holdfast.policy.intake.parse_input import APPROVED_ALWAYS
from holdfast.policy.turn.calls import APPROVED

from .card import ALLOW_OR_DENY, ALWAYS, WITH_ALWAYS

_TAKE_UP = "What was done is kept: write /resume to take it up again."
_SILENT: Mapping[QuestionKind, str] = MappingProxyType(
    {
        QuestionKind.CLARIFY: f"No answer came in time, so I stopped this work. {_TAKE_UP}",
        QuestionKind.APPROVAL: "No answer came in time, so this was not allowed.",
        QuestionKind.CONTINUE: "No answer came in time, so I dropped the work. The conversation is kept.",
    }
)
_UNDELIVERED = f"I could not deliver a question here, so I stopped the work it is about. {_TAKE_UP}"
_OVER: Mapping[QuestionState, str] = MappingProxyType(
    {
        QuestionState.SET_ASIDE: "Another message set this question aside.",
        QuestionState.CANCELLED: "I no longer ask this.",
        QuestionState.UNDELIVERABLE: "I no longer ask this.",
    }
)
WITHDRAWN = "I no longer ask this: safe mode is over, and the work goes on by itself."
_MOST_ANSWER = 200
"""Characters of an answer that the message shows below the question."""
_MOST_QUESTION = 80
"""Characters of a question that a separate line about it repeats."""


def closed_words(
    kind: QuestionKind, state: QuestionState, answer: str | None, asked_by: AskedBy | None = None
) -> str:
    """The words below a question that replace its buttons."""
    if state is QuestionState.EXPIRED and asked_by is AskedBy.SAFE_MODE:
        return WITHDRAWN
    if state is QuestionState.EXPIRED or (
        state is QuestionState.UNDELIVERABLE and kind is QuestionKind.CLARIFY
    ):
        return _SILENT[kind]
    if state is not QuestionState.ANSWERED:
        return _OVER[state]
    line = " ".join((answer or "").split())
    return f"Answered: {line if len(line) <= _MOST_ANSWER else line[: _MOST_ANSWER - 1] + '…'}"


def unanswered_line(question: str, was_shown: bool) -> str:
    """The line for a question that expired, where its own message cannot change or was not delivered."""
    if not was_shown:
        return _UNDELIVERED
    return f"No answer came in time to “{_named(question)}”, so I stopped this work. {_TAKE_UP}"


def withdrawn_line(question: str) -> str:
    """The line for a question of safe mode, after safe mode has ended."""
    return f"You need not answer “{_named(question)}” any more: safe mode is over, and the work goes on."


def _named(question: str) -> str:
    line = " ".join(question.split())
    return line if len(line) <= _MOST_QUESTION else line[: _MOST_QUESTION - 1] + "…"


def as_closed(
    delivery: Delivery,
    kind: QuestionKind,
    state: QuestionState,
    answer: str | None,
    longest: int,
    asked_by: AskedBy | None = None,
) -> str:
    """The whole message; a long question loses its end, so that the words below it fit."""
    text = mark_for(delivery) + delivery.text
    below = f"\n\n{closed_words(kind, state, _chosen(delivery, answer), asked_by)}"
    room = longest - width(below)
    if width(text) > room:
        # Some characters count twice, so the text may have to be cut to half.
        text = next(cut for end in (room - 1, room // 2 - 1) if width(cut := text[:end] + "…") <= room)
    return text + below


def _chosen(delivery: Delivery, answer: str | None) -> str | None:
    """The label of the button that was pressed: the ledger keeps only yes, no or always for an approval."""
    if answer is None or delivery.options not in (ALLOW_OR_DENY, WITH_ALWAYS):
        return answer
    allow, deny = ALLOW_OR_DENY
    return {APPROVED: allow, APPROVED_ALWAYS: ALWAYS}.get(answer, deny)
