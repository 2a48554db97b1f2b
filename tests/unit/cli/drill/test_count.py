"""A hand-made bad history for each thing the drill counts."""

import pytest

from holdfast.cli.drill.count import DrillCounts, PersonLog, count

ANSWERS = [(1, "answer to a-1"), (2, "answer to a-2")]


def history(
    replies: list[tuple[int, str]] = ANSWERS,
    kept: tuple[str, ...] = ("a-1", "a-2"),
    notices: tuple[tuple[int, str], ...] = (),
) -> PersonLog:
    return PersonLog("a", ["a-1", "a-2"], set(kept), list(replies), list(notices))


EFFECTS = ["a-1 2", "a-2 2", "a-2 4"]


def test_a_good_history_has_nothing_wrong() -> None:
    found = count([history()], EFFECTS)
    assert found == DrillCounts(messages=2, answers=2, effects=3)
    assert found.sound


def test_two_messages_may_have_one_answer() -> None:
    assert count([history(replies=[(1, "answer to a-1, a-2")])], EFFECTS).sound


def test_a_message_that_was_never_confirmed_may_be_gone() -> None:
    assert count([history(kept=("a-1",), replies=[(1, "answer to a-1")])], EFFECTS[:1]).sound


@pytest.mark.parametrize(
    ("seen", "effects", "wrong"),
    [
        (history(replies=[(1, "answer to a-1")]), EFFECTS, {"lost": 1}),
        (history(replies=[(1, "answer to a-1"), (3, "answer to a-2")]), EFFECTS, {"lost": 1}),
        (
            history(replies=[*ANSWERS, (3, "answer to a-2")]),
            EFFECTS,
            {"duplicated": 1},
        ),
        (history(notices=((2, "restarting"),)), EFFECTS, {"duplicated": 1}),
        (
            history(replies=[*ANSWERS, (3, "answer to b-9")]),
            EFFECTS,
            {"phantom": 1},
        ),
        (
            history(replies=[*ANSWERS, (3, "going on")]),
            EFFECTS,
            {"phantom": 1},
        ),
        (history(), [*EFFECTS, "b-9 2"], {"phantom": 1}),
        (history(), [*EFFECTS, *EFFECTS], {"effects_doubled": 3}),
    ],
)
def test_each_wrong_is_counted_as_what_it_is(
    seen: PersonLog, effects: list[str], wrong: dict[str, int]
) -> None:
    found = count([seen], effects)
    names = ("lost", "duplicated", "phantom", "effects_doubled")
    assert {name: getattr(found, name) for name in names if getattr(found, name)} == wrong
    assert not found.sound
    assert found.examples
