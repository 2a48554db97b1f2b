"""What is judged of a real process that was killed: one bad outcome for each thing that may not be."""

from collections import Counter
from dataclasses import replace

import pytest

from tests.processes.proof import CASES, Seen, judge

GOOD = Seen(
    told=("answer to a",),
    letters=(("answer to b", False), ("answer to b", True)),
    effects=Counter("ab"),
    turns=1,
    sound=True,
)


def test_what_should_be_passes() -> None:
    assert list(judge(GOOD)) == []


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (replace(GOOD, told=()), "the chat was answered 0 times"),
        (replace(GOOD, told=("answer to a", "answer to a")), "the chat was answered 2 times"),
        (replace(GOOD, letters=()), "the letter was never answered"),
        (replace(GOOD, letters=(("answer to b", False),) * 2), "answered 2 times unmarked"),
        (replace(GOOD, effects=Counter("aab")), "effect a happened 2 times"),
        (replace(GOOD, turns=2), "the chat has 2 turns"),
        (replace(GOOD, sound=False), "not sound"),
    ],
)
def test_what_may_not_be_is_said(bad: Seen, words: str) -> None:
    (found,) = judge(bad)
    assert words in found


def test_every_place_has_its_own_case() -> None:
    assert len(set(CASES)) == len(CASES) > 50
