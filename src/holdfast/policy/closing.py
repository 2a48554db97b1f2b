"""How a question's message reads once nobody can answer it any more."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from holdfast.model import Delivery, QuestionState

from .calls import APPROVED
from .consent import ALLOW_OR_DENY
from .parts import POSSIBLY_REPEATED, width

_OVER: Mapping[QuestionState, str] = MappingProxyType(
    {
        QuestionState.EXPIRED: "Nobody has answered in time.",
        QuestionState.SET_ASIDE: "This was set aside.",
        QuestionState.CANCELLED: "This is not asked any more.",
        QuestionState.UNDELIVERABLE: "This is not asked any more.",
    }
)
_MOST_ANSWER = 200
"""Characters of an answer that are shown below its question."""


def closed_words(state: QuestionState, answer: str | None) -> str:
    """What stands below a question instead of its buttons."""
    if state is not QuestionState.ANSWERED:
        return _OVER[state]
    line = " ".join((answer or "").split())
    return f"Answered: {line if len(line) <= _MOST_ANSWER else line[: _MOST_ANSWER - 1] + '…'}"


def as_closed(delivery: Delivery, state: QuestionState, answer: str | None, longest: int) -> str:
    """The whole message; a question that leaves no room for more loses its end."""
    text = (POSSIBLY_REPEATED if delivery.repeated else "") + delivery.text
    below = f"\n\n{closed_words(state, _chosen(delivery, answer))}"
    room = longest - width(below)
    if width(text) > room:
        # Half of it may be characters that count twice.
        text = next(cut for end in (room - 1, room // 2 - 1) if width(cut := text[:end] + "…") <= room)
    return text + below


def _chosen(delivery: Delivery, answer: str | None) -> str | None:
    """As it stood on the button: of an approval only yes or no is kept."""
    if answer is None or delivery.options != ALLOW_OR_DENY:
        return answer
    allow, deny = ALLOW_OR_DENY
    return allow if answer == APPROVED else deny
