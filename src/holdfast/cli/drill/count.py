"""Count what went wrong, from what people saw and what the witness recorded, without the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import field

from holdfast.records import dataclass

from .agent import answered


@dataclass(slots=True)
class PersonLog:
    """One person's own log."""

    chat: str
    sent: list[str] = field(default_factory=list)
    """Names of messages, in order."""
    kept: set[str] = field(default_factory=set)
    """Names of the messages that the gateway confirmed."""
    replies: list[tuple[int, str]] = field(default_factory=list)
    """Number and text of every reply, as it came."""
    notices: list[tuple[int, str]] = field(default_factory=list)

    def unanswered(self) -> list[str]:
        """Messages that the gateway has confirmed and not answered."""
        done = {name for _, text in self.replies for name in answered(text)}
        return [name for name in self.sent if name in self.kept and name not in done]


@dataclass(frozen=True, slots=True)
class DrillCounts:
    """What a person would complain about."""

    messages: int = 0
    answers: int = 0
    effects: int = 0
    lost: int = 0
    """Confirmed messages without an answer, and delivery numbers of a chat that never came."""
    duplicated: int = 0
    """Messages answered more than once, and deliveries shown again."""
    phantom: int = 0
    """Answers and effects without a request."""
    effects_doubled: int = 0
    examples: tuple[str, ...] = ()

    @property
    def sound(self) -> bool:
        return not (self.lost or self.duplicated or self.phantom or self.effects_doubled)


def count(
    people: Iterable[PersonLog], effects: Iterable[str], excused: frozenset[str] = frozenset()
) -> DrillCounts:
    """Count over all people; `effects` are the witness's lines, `MESSAGE STEP`.

    Messages that are `excused` wait, and their chats were told so: they are not lost.
    """
    people = list(people)
    asked = {name for seen in people for name in seen.sent}
    lost = [f"{seen.chat}: {name} was never answered" for seen in people for name in _missed(seen, excused)]
    lost += [f"{seen.chat}: number {number} never came" for seen in people for number in _gaps(seen)]
    twice, phantom = _replies(people, asked)
    marks = Counter(effects)
    doubled = [f"the effect {mark!r} happened {times} times" for mark, times in marks.items() if times > 1]
    phantom += [
        f"the effect {mark!r} was never asked for" for mark in marks if mark.split(" ")[0] not in asked
    ]
    return DrillCounts(
        messages=sum(len(seen.kept) for seen in people),
        answers=sum(len(answered(text)) for seen in people for _, text in seen.replies),
        effects=marks.total(),
        lost=len(lost),
        duplicated=len(twice),
        phantom=len(phantom),
        effects_doubled=sum(times - 1 for times in marks.values()),
        examples=tuple((lost + twice + phantom + doubled)[:10]),
    )


def _missed(seen: PersonLog, excused: frozenset[str]) -> list[str]:
    return [name for name in seen.unanswered() if name not in excused]


def _gaps(seen: PersonLog) -> list[int]:
    numbers = {number for number, _ in (*seen.replies, *seen.notices)}
    return [number for number in range(1, max(numbers, default=0) + 1) if number not in numbers]


def _replies(people: list[PersonLog], asked: set[str]) -> tuple[list[str], list[str]]:
    twice: list[str] = []
    phantom: list[str] = []
    for seen in people:
        for number, times in _repeated(number for number, _ in (*seen.replies, *seen.notices)).items():
            twice.append(f"{seen.chat}: number {number} was shown {times} times")
        names = [name for _, text in seen.replies for name in answered(text)]
        twice += [
            f"{seen.chat}: {name} was answered {times} times" for name, times in _repeated(names).items()
        ]
        phantom += [
            f"{seen.chat}: {name} was answered and never asked" for name in names if name not in asked
        ]
        phantom += [
            f"{seen.chat}: {text!r} answers nothing" for _, text in seen.replies if not answered(text)
        ]
    return twice, phantom


def _repeated(things: Iterable[object]) -> Mapping[object, int]:
    return {thing: times for thing, times in Counter(things).items() if times > 1}
