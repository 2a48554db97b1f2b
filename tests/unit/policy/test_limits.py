"""R18: what is reached when, and how much a "continue" allows."""

from dataclasses import replace

import pytest

from holdfast.model import QuestionId, QuestionKind, QuestionRecord, QuestionState, TurnId
from holdfast.policy.limits import (
    Limit,
    LimitFacts,
    Spent,
    asked_before,
    day_began,
    limit_of,
    needs_spent,
    question_id,
    reached,
)
from holdfast.policy.settings import DAY, LimitSettings

TURN = TurnId("t1")
NONE = LimitSettings(steps=0)
ALL = LimitSettings(steps=50, turn_tokens=1_000, turn_cost=2_000_000, day_tokens=5_000, day_cost=9_000_000)
NOTHING = LimitFacts(0, Spent())


def granted(*limits: Limit, answer: str = "continue") -> tuple[QuestionRecord, ...]:
    return tuple(
        QuestionRecord(
            QuestionId(f"limit:{limit}:{TURN}:{n}"),
            QuestionKind.CONTINUE,
            None,
            QuestionState.ANSWERED,
            answer=answer,
        )
        for n, limit in enumerate(limits, start=1)
    )


@pytest.mark.parametrize(
    ("facts", "limit"),
    [
        (NOTHING, None),
        (LimitFacts(49, Spent()), None),
        (LimitFacts(50, Spent()), Limit.STEPS),
        (LimitFacts(51, Spent()), Limit.STEPS),
        (LimitFacts(1, Spent(tokens=999)), None),
        (LimitFacts(1, Spent(tokens=1_000)), Limit.TURN_TOKENS),
        (LimitFacts(1, Spent(cost=2_000_000)), Limit.TURN_COST),
        (LimitFacts(1, Spent(day_tokens=5_000)), Limit.DAY_TOKENS),
        (LimitFacts(1, Spent(day_cost=9_000_000)), Limit.DAY_COST),
        (LimitFacts(50, Spent(), granted(Limit.STEPS)), None),
        (LimitFacts(99, Spent(), granted(Limit.STEPS)), None),
        (LimitFacts(100, Spent(), granted(Limit.STEPS)), Limit.STEPS),
        (LimitFacts(149, Spent(), granted(Limit.STEPS, Limit.STEPS)), None),
        (LimitFacts(50, Spent(), granted(Limit.TURN_TOKENS)), Limit.STEPS),
        (LimitFacts(50, Spent(), granted(Limit.STEPS, answer="drop")), Limit.STEPS),
        # A day's grant is the chat's, whichever turn asked; one of this turn stands among them.
        (LimitFacts(1, Spent(day_tokens=5_000), granted(Limit.DAY_TOKENS)), Limit.DAY_TOKENS),
        (LimitFacts(1, Spent(day_tokens=9_999, day_grants=("limit:day_tokens:t0:1",))), None),
        (LimitFacts(1, Spent(day_tokens=10_000, day_grants=("limit:day_tokens:t0:1",))), Limit.DAY_TOKENS),
        (LimitFacts(1, Spent(day_cost=9_000_000, day_grants=("too_old:t0:1",))), Limit.DAY_COST),
    ],
)
def test_the_first_limit_that_is_used_up(facts: LimitFacts, limit: Limit | None) -> None:
    found = reached(facts, ALL)
    assert (found.limit if found else None) == limit


def test_a_limit_of_zero_is_none() -> None:
    spent = Spent(10**9, 10**9, 10**9, 10**9)
    assert reached(LimitFacts(10**6, spent), NONE) is None
    assert not needs_spent(NONE)
    assert not needs_spent(LimitSettings())
    for name in ("turn_tokens", "turn_cost", "day_tokens", "day_cost"):
        assert needs_spent(replace(NONE, **{name: 1}))


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (LimitFacts(50, Spent()), "50 steps, and I ask after 50"),
        (LimitFacts(1, Spent(tokens=1_234)), "This has taken 1234 tokens, and I ask after 1000"),
        (LimitFacts(1, Spent(cost=2_500_000)), "This has taken $2.50, and I ask after $2.00"),
        (LimitFacts(1, Spent(day_cost=9_000_000)), "Today this chat has taken $9.00"),
    ],
)
def test_the_person_reads_what_was_used_and_what_is_allowed(facts: LimitFacts, words: str) -> None:
    found = reached(facts, ALL)
    assert found is not None
    assert words in found.words
    assert "Shall I continue, or stop here?" in found.words


def test_a_question_names_its_limit_and_is_no_other_one() -> None:
    found = reached(LimitFacts(50, Spent()), ALL)
    assert found is not None
    first = question_id(TURN, found, 1)
    assert limit_of(first) is Limit.STEPS
    assert first != question_id(TURN, found, 2)
    assert limit_of("chat_says_ask:t1:1") is None
    assert limit_of("limit:patience:t1:1") is None
    assert asked_before(granted(Limit.STEPS, Limit.DAY_COST)) == 2


def test_a_day_begins_at_midnight() -> None:
    assert day_began(20_000 * DAY) == 20_000 * DAY
    assert day_began(20_001 * DAY - 1) == 20_000 * DAY
