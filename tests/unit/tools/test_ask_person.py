"""`ask_person`: what a model gives becomes a question, or words on what it should have given."""

import json
from pathlib import Path

import pytest

from holdfast.model import EffectClass, SessionId, TurnId
from holdfast.tools import Ask, AskPerson, ToolContext, ToolFailed, spec_of
from tests.support.loops import on_a_loop

CONTEXT = ToolContext(SessionId("s"), TurnId("t"), 1, Path(), "k")


async def asks(**given: object) -> Ask:
    return await AskPerson().run(CONTEXT, json.dumps(given))


@on_a_loop
async def test_a_question_is_free_or_has_options() -> None:
    assert await asks(question=" Which? ") == Ask("Which?")
    assert await asks(question="Which?", options=["red", " blue "]) == Ask("Which?", ("red", "blue"))
    assert await asks(question="Which?", options=[]) == Ask("Which?")


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"question": ""},
        {"question": "  "},
        {"question": 3},
        {"question": "x" * 3_001},
        {"question": "?", "options": ["one"]},
        {"question": "?", "options": ["one", 2]},
        {"question": "?", "options": ["one", ""]},
        {"question": "?", "options": ["one", "One"]},
        {"question": "?", "options": "one, two"},
        {"question": "?", "options": [str(number) for number in range(11)]},
        {"question": "?", "options": ["a", "b" * 101]},
        {"question": "?", "to": "ann"},
    ],
)
@on_a_loop
async def test_what_is_no_question_is_refused_in_words(given: dict[str, object]) -> None:
    with pytest.raises(ToolFailed):
        await asks(**given)


@pytest.mark.parametrize("arguments", ["", "null", "[]", '{"question": "a", "question": "b"}'])
@on_a_loop
async def test_arguments_that_cannot_be_read_are_refused_in_words(arguments: str) -> None:
    with pytest.raises(ToolFailed):
        await AskPerson().run(CONTEXT, arguments)


def test_it_does_nothing_itself_and_says_how_it_is_called() -> None:
    spec = spec_of(AskPerson())
    assert AskPerson().effect is EffectClass.READ
    assert (spec.name, spec.parameters["required"]) == ("ask_person", ["question"])
