"""How a question reads once nobody can answer it any more."""

import pytest

from holdfast.model import (
    AskedBy,
    ChatAddress,
    Delivery,
    DeliveryId,
    DeliveryState,
    OwedKind,
    QuestionKind,
    QuestionState,
)
from holdfast.policy.consent.card import ALLOW_OR_DENY
from holdfast.policy.consent.closed_question import as_closed, closed_words
from holdfast.policy.delivery.parts import width

CLOSED = [state for state in QuestionState if state is not QuestionState.OPEN]


def asked(text: str = "which one?", repeated: bool = False) -> Delivery:
    return Delivery(
        DeliveryId(1),
        ChatAddress("t/b/c"),
        1,
        OwedKind.QUESTION,
        1,
        1,
        text,
        ("a", "b"),
        None,
        "q1",
        DeliveryState.SENT,
        1,
        repeated,
        0,
        0,
        0,
        "m1",
        None,
        None,
        None,
    )


@pytest.mark.parametrize("state", CLOSED)
def test_every_end_has_its_words(state: QuestionState) -> None:
    assert closed_words(QuestionKind.CLARIFY, state, "b")


def test_what_was_chosen_stands_below_the_question() -> None:
    assert as_closed(asked(), QuestionKind.CLARIFY, QuestionState.ANSWERED, "the red\none", 4096) == (
        "which one?\n\nAnswered: the red one"
    )


@pytest.mark.parametrize(("answer", "shown"), [("yes", "allow once"), ("no", "deny")])
def test_an_approval_says_what_stood_on_the_button(answer: str, shown: str) -> None:
    approval = asked()._replace(options=ALLOW_OR_DENY)
    assert as_closed(approval, QuestionKind.CLARIFY, QuestionState.ANSWERED, answer, 4096).endswith(
        f"Answered: {shown}"
    )


def test_a_possible_repeat_still_says_so() -> None:
    assert as_closed(
        asked(repeated=True), QuestionKind.CLARIFY, QuestionState.EXPIRED, None, 4096
    ).startswith("(possibly repeated)")


@pytest.mark.parametrize("letter", ["x", "\N{GRINNING FACE}"])
def test_a_long_question_loses_its_end_and_not_what_became_of_it(letter: str) -> None:
    text = as_closed(
        asked(letter * (4096 // width(letter))), QuestionKind.CLARIFY, QuestionState.ANSWERED, "b" * 900, 4096
    )
    assert width(text) <= 4096
    assert "…\n\nAnswered: bbb" in text


@pytest.mark.guards("R8.3")
def test_only_a_question_of_safe_mode_that_was_withdrawn_says_that_safe_mode_is_over() -> None:
    for state in CLOSED:
        for by in (None, *AskedBy):
            words = closed_words(QuestionKind.CONTINUE, state, "continue", by)
            withdrawn = state is QuestionState.EXPIRED and by is AskedBy.SAFE_MODE
            assert ("safe mode is over" in words) is withdrawn, (state, by)
