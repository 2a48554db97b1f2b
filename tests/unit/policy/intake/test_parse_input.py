"""R13: what can be an answer, and what is a command."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model import QuestionId, QuestionKind, QuestionRecord, QuestionState
from holdfast.policy.consent.card import WITH_ALWAYS
from holdfast.policy.intake.parse_input import Command, parse_answer, parse_command


def question(kind: QuestionKind, *options: str) -> QuestionRecord:
    return QuestionRecord(QuestionId("q"), kind, None, QuestionState.OPEN, options=options)


APPROVAL = question(QuestionKind.APPROVAL)
FOR_OWNER = question(QuestionKind.APPROVAL, *WITH_ALWAYS)
CONTINUE = question(QuestionKind.CONTINUE)
COLOURS = question(QuestionKind.CLARIFY, "Red", "Dark blue", "7")
FREE = question(QuestionKind.CLARIFY)


@pytest.mark.parametrize(
    ("asked", "text", "value"),
    [
        (APPROVAL, "yes", "yes"),
        (APPROVAL, " Y ", "yes"),
        (APPROVAL, "No.", "no"),
        (APPROVAL, "1", "yes"),
        (APPROVAL, "2)", "no"),
        (APPROVAL, "3", None),
        (APPROVAL, "always", "always"),
        (APPROVAL, "Always allow this", "always"),
        (APPROVAL, "always yes", None),
        (FOR_OWNER, "3", "always"),
        (FOR_OWNER, "4", None),
        (FOR_OWNER, "always allow this", "always"),
        (FOR_OWNER, "allow once", "yes"),
        (FOR_OWNER, "deny", "no"),
        (FOR_OWNER, "y", "yes"),
        (CONTINUE, "always", None),
        (FREE, "always", "always"),
        (APPROVAL, "yes, but only on staging", None),
        (APPROVAL, "what would it do?", None),
        (APPROVAL, "", None),
        (question(QuestionKind.APPROVAL, "Run it", "Leave it"), "run it", "yes"),
        (question(QuestionKind.APPROVAL, "Run it", "Leave it"), "n", "no"),
        (question(QuestionKind.APPROVAL, "No", "Yes"), "no", "no"),
        (question(QuestionKind.APPROVAL, "No", "Yes"), "1", "no"),
        (question(QuestionKind.APPROVAL, "No", "Yes"), "y", "yes"),
        (CONTINUE, "continue", "continue"),
        (CONTINUE, "Drop!", "drop"),
        (CONTINUE, "yes", "continue"),
        (CONTINUE, "no", "drop"),
        (CONTINUE, "#2", "drop"),
        (CONTINUE, "what is the weather", None),
        (question(QuestionKind.CONTINUE, "Drop", "Continue"), "1", "drop"),
        (COLOURS, "red", "Red"),
        (COLOURS, "DARK BLUE", "Dark blue"),
        (COLOURS, "2.", "Dark blue"),
        (COLOURS, "7", "7"),
        (COLOURS, "0", None),
        (COLOURS, "4", None),
        (COLOURS, "yes", None),
        (COLOURS, "green", None),
        (question(QuestionKind.CLARIFY, "Yes", "No"), "n", "No"),
        (FREE, "  as it stands ", "  as it stands "),
        (FREE, "   ", None),
    ],
)
def test_an_answer_is_read_as_what_was_asked(asked: QuestionRecord, text: str, value: str | None) -> None:
    assert parse_answer(asked, text) == value


@given(st.text(), st.sampled_from([APPROVAL, CONTINUE]))
def test_only_a_plain_yes_or_no_decides_for_the_gateway(text: str, asked: QuestionRecord) -> None:
    value = parse_answer(asked, text)
    if value is not None:
        assert len(text.strip()) <= len("continue") or text.strip().rstrip(".!").casefold() in (
            "continue",
            "drop",
            "yes",
            "no",
        )


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("/stop", Command("stop", "")),
        ("  /Stop  ", Command("stop", "")),
        ("/stop@holdfast_bot", Command("stop", "")),
        ("/goal write the report", Command("goal", "write the report")),
        ("/goal first line\nsecond line", Command("goal", "first line\nsecond line")),
        ("/retry@bot  now ", Command("retry", "now")),
        ("/", None),
        ("//", None),
        ("/etc/hosts is broken", None),
        ("/2 is half", None),
        ("stop", None),
        ("please /stop", None),
        ("", None),
    ],
)
def test_a_command_is_a_slash_and_a_word(text: str, command: Command | None) -> None:
    assert parse_command(text) == command


@given(st.text())
def test_reading_never_fails(text: str) -> None:
    parse_command(text)
    for asked in (APPROVAL, CONTINUE, COLOURS, FREE):
        parse_answer(asked, text)
