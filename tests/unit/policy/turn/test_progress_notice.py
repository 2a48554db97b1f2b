"""What is said of work that goes on, and how that message ends."""

from typing import Any

import pytest

from holdfast.model import ChatAddress, Delivery, DeliveryId, DeliveryState, OwedKind, TurnState
from holdfast.policy.settings import HOUR, MINUTE, SECOND, ProgressSettings
from holdfast.policy.turn.progress_notice import (
    LAST_WORDS,
    Ending,
    WorkFacts,
    ending,
    last_words,
    still_working,
)

SETTINGS = ProgressSettings()


def said(elapsed: int, silent: int = 0, step: str = "", draft: str = "", longest: int = 4096) -> str:
    return still_working(WorkFacts(elapsed, silent, step, draft), SETTINGS, longest)


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ((59 * SECOND,), "Still working: 59 seconds so far."),
        ((MINUTE,), "Still working: 1 minute so far."),
        ((5 * MINUTE, 0, "running search"), "Still working: 5 minutes so far, now running search."),
        ((30 * HOUR, 0), "Still working: 30 hours so far."),
        ((3 * HOUR, 899 * SECOND), "Still working: 3 hours so far."),
        (
            (HOUR, 900 * SECOND, "thinking"),
            "Still working, but without progress for 15 minutes. /stop ends it.",
        ),
    ],
)
def test_it_says_how_long_and_with_what_and_warns_only_of_what_does_not_move(
    facts: tuple[Any, ...], words: str
) -> None:
    assert said(*facts) == words


def test_of_what_is_written_the_end_is_shown_as_far_as_there_is_room() -> None:
    assert said(MINUTE, draft="so far so good") == "Still working: 1 minute so far.\n\nso far so good"
    short = said(MINUTE, draft="one two three four five", longest=45)
    assert short == "Still working: 1 minute so far.\n\n…e four five"
    assert len(said(MINUTE, step="x" * 100, longest=50)) == 50


@pytest.mark.parametrize("state", TurnState)
def test_its_last_words_never_say_that_work_goes_on(state: TurnState) -> None:
    assert last_words(state) in LAST_WORDS
    assert "working" not in last_words(state)


def test_its_last_words_say_what_became_of_the_work() -> None:
    assert last_words(TurnState.DONE) == "This is done."
    assert last_words(TurnState.CANCELLED) == "This was stopped."
    assert last_words(TurnState.RUNNING) == "This was interrupted.", "by now it is another run's"


def delivery(
    state: DeliveryState, repeated: bool = False, id_: str | None = None, text: str = ""
) -> Delivery:
    return Delivery(
        DeliveryId(1),
        ChatAddress("a/b/c"),
        1,
        OwedKind.NOTICE,
        1,
        1,
        text or "Still working.",
        (),
        None,
        "working:t:1",
        state,
        0,
        repeated,
        0,
        platform_id=id_,
    )


@pytest.mark.parametrize(
    ("found", "edits", "then"),
    [
        (delivery(DeliveryState.PENDING), True, Ending.REWORD),
        (delivery(DeliveryState.PENDING, text="This is done."), True, Ending.REWORD),
        (delivery(DeliveryState.PENDING, repeated=True), True, Ending.REWORD),
        (delivery(DeliveryState.PENDING, repeated=True, text="This is done."), True, Ending.WAIT),
        (delivery(DeliveryState.UNKNOWN), False, Ending.REWORD),
        (delivery(DeliveryState.UNKNOWN, text="This is done."), False, Ending.WAIT),
        (delivery(DeliveryState.SENDING), True, Ending.WAIT),
        (delivery(DeliveryState.SENT, id_="m1"), True, Ending.EDIT),
        (delivery(DeliveryState.SENT), True, Ending.FORGET),
        (delivery(DeliveryState.SENT, id_="m1"), False, Ending.FORGET),
        (delivery(DeliveryState.FAILED), True, Ending.FORGET),
        (delivery(DeliveryState.EXPIRED), True, Ending.FORGET),
    ],
)
def test_what_is_done_with_it_follows_from_where_it_stands(
    found: Delivery, edits: bool, then: Ending
) -> None:
    assert ending(found, edits) is then
