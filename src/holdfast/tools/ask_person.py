"""Asks the person: the turn waits, and the answer of the person is the result of the call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from holdfast.model import EffectClass
from holdfast.policy.consent.approvals import ASKING
from holdfast.policy.consent.argument_text import Unreadable, plain_value
from holdfast.records import dataclass

from .base import ToolContext, ToolFailed
from .intentions import Ask

LONGEST_QUESTION = 3_000
LONGEST_OPTION = 100
MOST_OPTIONS = 10

_PARAMETERS: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "question": {
            "type": "string",
            "description": "The question, with everything the person needs to answer it.",
            "maxLength": LONGEST_QUESTION,
        },
        "options": {
            "type": "array",
            "description": "Answers to choose from. Omit it to let the person answer in their own words.",
            "items": {"type": "string", "maxLength": LONGEST_OPTION},
            "minItems": 2,
            "maxItems": MOST_OPTIONS,
        },
    },
    "required": ["question"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class AskPerson:
    """Asks the person one question; the answer may take a day, and restarts of the gateway do not matter."""

    name: str = ASKING
    effect: EffectClass = EffectClass.READ
    description: str = (
        "Ask the person you work for. Their answer is the result. Use it when you cannot continue "
        "without something that only the person knows. Ask one question at a time. The answer may take long."
    )
    parameters: Mapping[str, Any] = field(default_factory=lambda: _PARAMETERS)

    async def run(self, context: ToolContext, arguments: str) -> Ask:
        given = _given(arguments)
        return Ask(_question(given.get("question")), _options(given.get("options")))


def _given(arguments: str) -> Mapping[str, object]:
    try:
        given = plain_value(arguments)
    except Unreadable as fault:
        raise ToolFailed(f"the arguments cannot be read: {fault}") from fault
    if not isinstance(given, dict) or not given.keys() <= _PARAMETERS["properties"].keys():
        raise ToolFailed('the arguments must be an object with "question" and, optionally, "options"')
    return given


def _question(value: object) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST_QUESTION:
        raise ToolFailed(f'"question" must be a text of 1 to {LONGEST_QUESTION} characters')
    return value.strip()


def _options(value: object) -> tuple[str, ...]:
    if value is None or value == []:
        return ()
    known = tuple(one.strip() for one in value if isinstance(one, str)) if isinstance(value, list) else ()
    if not isinstance(value, list) or len(known) != len(value) or not 2 <= len(known) <= MOST_OPTIONS:
        raise ToolFailed(f'"options" must be a list of 2 to {MOST_OPTIONS} texts')
    if any(not 1 <= len(one) <= LONGEST_OPTION for one in known):
        raise ToolFailed(f"each option must have 1 to {LONGEST_OPTION} characters")
    if len({one.casefold() for one in known}) < len(known):
        raise ToolFailed("two options are the same")
    return known
