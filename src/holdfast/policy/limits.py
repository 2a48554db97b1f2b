"""How much work an agent does before the gateway asks a person whether it should go on.

The ledger counts, so a resume neither forgets nor doubles anything: a step is one reply of the model, tokens
and cost are what the model reported with it. Each "continue" allows as much again.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from holdfast.model import QuestionId, QuestionKind, QuestionRecord, TurnId
from holdfast.records import dataclass

from .settings import DAY, LimitSettings

CONTINUE_OR_STOP = ("continue", "stop")
EXPIRES = DAY
"""A question that gets no answer for this long stops the work."""
_MARK = "limit"
_MICRO = 1_000_000


class Limit(StrEnum):
    """What ran out."""

    STEPS = "steps"
    TURN_TOKENS = "turn_tokens"
    TURN_COST = "turn_cost"
    DAY_TOKENS = "day_tokens"
    DAY_COST = "day_cost"


@dataclass(frozen=True, slots=True)
class Spent:
    """What a turn, and its chat since midnight, have used according to the ledger."""

    tokens: int = 0
    cost: int = 0
    """In millionths of a dollar, like every cost here."""
    day_tokens: int = 0
    day_cost: int = 0
    day_grants: tuple[str, ...] = ()
    """Questions about a day's limit that were answered with "continue" in this chat since the day began."""


@dataclass(frozen=True, slots=True)
class LimitFacts:
    """What one turn has used so far, before the next call of its model."""

    steps: int
    spent: Spent
    questions: Sequence[QuestionRecord] = ()
    """Those of this turn."""


@dataclass(frozen=True, slots=True)
class LimitReached:
    """A limit that the turn has used up: it may not take its next step."""

    limit: Limit
    most: int
    """What the turn may use without a question."""
    granted: int
    """How often a person has said "continue" to it."""
    words: str


def day_began(now: int) -> int:
    """The last midnight UTC."""
    return now - now % DAY


def needs_spent(settings: LimitSettings) -> bool:
    """Whether the settings limit tokens or cost."""
    return any((settings.turn_tokens, settings.turn_cost, settings.day_tokens, settings.day_cost))


def reached(facts: LimitFacts, settings: LimitSettings) -> LimitReached | None:
    """The first limit that is used up, with how often a person granted more; a limit of 0 is none."""
    spent = facts.spent
    granted = [question.id for question in facts.questions if question.answer == CONTINUE_OR_STOP[0]]
    counts = (
        (Limit.STEPS, facts.steps, settings.steps, granted),
        (Limit.TURN_TOKENS, spent.tokens, settings.turn_tokens, granted),
        (Limit.TURN_COST, spent.cost, settings.turn_cost, granted),
        (Limit.DAY_TOKENS, spent.day_tokens, settings.day_tokens, spent.day_grants),
        (Limit.DAY_COST, spent.day_cost, settings.day_cost, spent.day_grants),
    )
    for limit, used, most, grants in counts:
        times = sum(limit_of(one) is limit for one in grants)
        if most and used >= most * (1 + times):
            return LimitReached(limit, most, times, _words(limit, used, most))
    return None


def question_id(turn: TurnId, reached: LimitReached, number: int) -> QuestionId:
    """The id of the question about this limit; `number` counts the turn's questions about limits."""
    return QuestionId(f"{_MARK}:{reached.limit}:{turn}:{number}")


def limit_of(question: str) -> Limit | None:
    """Which limit a question was about, if it was about one."""
    mark, _, rest = question.partition(":")
    name = rest.partition(":")[0]
    return Limit(name) if mark == _MARK and name in tuple(Limit) else None


def asked_before(questions: Sequence[QuestionRecord]) -> int:
    """How often this turn has asked about its limits."""
    return sum(one.kind is QuestionKind.CONTINUE and limit_of(one.id) is not None for one in questions)


def _words(limit: Limit, used: int, most: int) -> str:
    kept = "All of it is kept. Shall I continue, or stop here?"
    if limit is Limit.STEPS:
        return f"This has taken {used} steps, and I ask after {most}. {kept}"
    whose = "This has taken" if limit in (Limit.TURN_TOKENS, Limit.TURN_COST) else "Today this chat has taken"
    if limit in (Limit.TURN_TOKENS, Limit.DAY_TOKENS):
        return f"{whose} {used} tokens, and I ask after {most}. {kept}"
    return f"{whose} ${used / _MICRO:.2f}, and I ask after ${most / _MICRO:.2f}. {kept}"
