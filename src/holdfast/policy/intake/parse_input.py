"""Reading what a person typed: a command, or an answer to a question."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from holdfast.model import QuestionKind, QuestionRecord
from holdfast.policy.consent.card import ALWAYS
from holdfast.records import dataclass

_COMMAND = re.compile(r"/(?P<name>[A-Za-z][A-Za-z0-9_-]*)(?:@\w+)?(?:\s+(?P<args>.*))?", re.DOTALL)
_NUMBER = re.compile(r"[#(]?([0-9]{1,3})[.)]?")
_YES, _NO = frozenset({"yes", "y"}), frozenset({"no", "n"})
APPROVED_ALWAYS = "always"
"""The answer that lets a call run and asks for a rule that allows such calls from now on."""
_ALWAYS = frozenset({APPROVED_ALWAYS, ALWAYS})

MEANINGS: Mapping[QuestionKind, tuple[str, str]] = MappingProxyType(
    {QuestionKind.APPROVAL: ("yes", "no"), QuestionKind.CONTINUE: ("continue", "drop")}
)
"""The two meanings of an answer. A label that says neither of them permits only if it is the first."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command as typed: `/name args`."""

    name: str
    args: str


def parse_command(text: str) -> Command | None:
    """Read `/name args` or `/name@bot args`; a path like `/etc/hosts` is no command."""
    found = _COMMAND.fullmatch(text.strip())
    return Command(found["name"].lower(), (found["args"] or "").strip()) if found else None


_LABELS: Mapping[str, str] = MappingProxyType({"resume": "Resume it (owner)"})


def command_label(text: str) -> str:
    """The label of a button that sends this command."""
    command = parse_command(text)
    return _LABELS.get(command.name, text) if command else text


def parse_answer(question: QuestionRecord, text: str) -> str | None:
    """Read a text as an answer, or None if it cannot be one.

    An answer is a label (as a button sends it), its number, or yes or no where the question asks that; for a
    question without options it is any text. For approvals and the gateway's own question the result is one
    of `MEANINGS`; for an approval also `APPROVED_ALWAYS`, even if its card has no button for that.
    """
    said = text.strip()
    if not said:
        return None
    meanings = MEANINGS.get(question.kind)
    labels = question.options or meanings
    if not labels:
        return text
    if question.kind is QuestionKind.APPROVAL and _plain(said) in _ALWAYS:
        return APPROVED_ALWAYS
    chosen = _choice(said, labels, meanings is not None)
    if chosen is None or meanings is None:
        return None if chosen is None else labels[chosen]
    return _meaning(_plain(labels[chosen]), chosen == 0, meanings)


def _meaning(label: str, first: bool, meanings: tuple[str, str]) -> str:
    yes, no = meanings
    if label in _ALWAYS and yes in _YES:
        return APPROVED_ALWAYS
    if label == yes or label in _YES:
        return yes
    if label == no or label in _NO:
        return no
    return yes if first else no


def _choice(said: str, labels: tuple[str, ...], first_permits: bool) -> int | None:
    plain = _plain(said)
    words = [_plain(label) for label in labels]
    if plain in words:
        return words.index(plain)
    number = _NUMBER.fullmatch(said)
    if number:
        return int(number[1]) - 1 if 1 <= int(number[1]) <= len(labels) else None
    return _yes_or_no(plain, words, first_permits)


def _yes_or_no(plain: str, words: list[str], first_permits: bool) -> int | None:
    """The option that a yes or no means: the one that says it, or else the one at its place."""
    for place, meant in enumerate((_YES, _NO)):
        if plain in meant:
            saying = [index for index, word in enumerate(words) if word in meant]
            if saying:
                return saying[0]
            return place if first_permits and place < len(words) else None
    return None


def _plain(text: str) -> str:
    return text.strip().rstrip(".!").casefold()
