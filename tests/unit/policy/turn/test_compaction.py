from dataclasses import replace

from holdfast.model import Body, CallId, CallState, Entry, TurnId
from holdfast.policy.turn.compaction import made_to_fit, summed, to_sum_up, tokens_of
from holdfast.policy.turn.views import Message, Role, view
from tests.support.transcripts import replied, returned, said, transcript
from tests.support.transcripts import summed as marker

LONG = "word " * 400
"""About five hundred tokens."""


def conversation(turns: int) -> tuple[Entry, ...]:
    """So many finished turns of five hundred tokens each, and one that is open."""
    finished: list[list[Body]] = [
        [said(f"{number} {LONG}"), replied(f"answer {number}")] for number in range(turns)
    ]
    return transcript(*finished, [said()])


def test_whole_turns_are_summed_up_from_the_oldest_on_and_the_newest_stay() -> None:
    entries = conversation(4)
    found = to_sum_up(entries, TurnId("t5"), 4_000)
    assert found is not None
    assert (found.first, found.last, found.at) == (1, 6, 6_000), "one of them fits into what is kept"
    assert "Person: 0 word" in found.text
    assert "Assistant: answer 2" in found.text
    assert "answer 3" not in found.text


def test_the_open_turn_is_never_summed_up() -> None:
    assert (
        to_sum_up(transcript([said(LONG), replied("", "a"), returned("a", LONG)]), TurnId("t1"), 100) is None
    )
    found = to_sum_up(conversation(1), TurnId("t2"), 100)
    assert found is not None
    assert found.last == 2


def test_a_summary_is_summed_up_again_only_with_what_came_after_it() -> None:
    entries = conversation(2)
    alone = (*entries, Entry(6, TurnId("t3"), 9, marker(1, 4, "all of it")))
    assert to_sum_up(alone, TurnId("t3"), 100) is None
    some = (*entries, Entry(6, TurnId("t3"), 9, marker(1, 2, "the first")))
    found = to_sum_up(some, TurnId("t3"), 100)
    assert found is not None
    assert (found.first, found.last) == (1, 4)
    assert "Note: the first" in found.text
    assert "0 word" not in found.text


def test_no_more_is_summed_up_at_once_than_can_be_read() -> None:
    found = to_sum_up(conversation(12), TurnId("t13"), 3_000)
    assert found is not None
    assert found.last == 6
    assert len(found.text) < 4 * 3_000


def test_a_summary_stands_for_what_it_sums_up_and_for_nothing_else() -> None:
    entries = conversation(3)
    part = to_sum_up(entries, TurnId("t4"), 1_200)
    assert part is not None
    body = summed(part, "They spoke of words.")
    assert body is not None
    shown = view((*entries, Entry(8, TurnId("t4"), 9, body))).messages
    assert [message.role for message in shown] == [Role.NOTE, Role.USER, Role.ASSISTANT, Role.USER]
    assert "They spoke of words." in shown[0].text
    assert shown[1].text.startswith("2 word")
    assert body.stands_for_at == part.at == 4_000


def test_a_summary_that_is_empty_or_longer_than_what_it_stands_for_is_none() -> None:
    part = to_sum_up(conversation(1), TurnId("t2"), 100)
    assert part is not None
    assert summed(part, " ") is None
    assert summed(part, LONG * 5) is None


def test_long_results_are_shortened_oldest_first_until_it_fits() -> None:
    results = [Message(Role.TOOL, LONG * 10, call=CallId(str(n)), state=CallState.DONE) for n in range(3)]
    messages = (Message(Role.USER, "go"), *results)
    whole = tokens_of(messages)
    assert made_to_fit(messages, whole) == messages
    fitted = made_to_fit(messages, whole - 1)
    assert [len(message.text) < 3_000 for message in fitted[1:]] == [True, False, False]
    assert "characters are left out here" in fitted[1].text
    assert fitted[1].text.startswith("word word")
    tight = made_to_fit(messages, 10)
    assert all(len(message.text) < 3_000 for message in tight)
    assert tight[0] == messages[0]


def test_what_a_model_gave_to_be_handed_back_and_files_that_are_shown_take_room() -> None:
    plain = Message(Role.ASSISTANT, "hello")
    opaque = replace(plain, opaque="x" * 4_000)
    with_files = replace(plain, files=("y" * 4_000,))
    assert tokens_of([opaque]) == tokens_of([with_files]) > tokens_of([plain]) + 500
