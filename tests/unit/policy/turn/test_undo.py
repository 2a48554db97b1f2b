from holdfast.model import CallState, EffectClass, TurnId, Undone
from holdfast.policy.turn.undo import last_shown_turn, lasting_calls
from tests.support.transcripts import call_row, journal, replied, returned, said, summed, transcript


def test_an_undo_takes_the_last_turn_with_all_it_holds() -> None:
    entries = transcript(
        [said("one"), replied("1")], [said("two"), replied("", "a"), returned("a"), replied("2")]
    )
    last = last_shown_turn(entries)
    assert last is not None
    assert (last.turn, last.undone) == (TurnId("t2"), Undone(3, 6))
    assert [each.text for each in last.said] == ["two"]


def test_an_undo_after_an_undo_takes_the_turn_before() -> None:
    entries = transcript([said("one"), replied("1")], [said("two"), replied("2"), Undone(3, 4)])
    last = last_shown_turn(entries)
    assert last is not None
    assert last.undone == Undone(1, 2)


def test_what_is_undone_altogether_leaves_nothing_to_undo() -> None:
    assert last_shown_turn(transcript([said("one"), replied("1"), Undone(1, 2)])) is None
    assert last_shown_turn(()) is None


def test_a_marker_behind_the_turn_is_no_part_of_it() -> None:
    entries = transcript([said("one"), replied("1"), summed(1, 2)])
    last = last_shown_turn(entries)
    assert last is not None
    assert last.undone == Undone(1, 2)


def test_everything_said_in_the_turn_is_what_is_answered_again() -> None:
    last = last_shown_turn(transcript([said("one"), said("and two"), replied("both")]))
    assert last is not None
    assert [each.text for each in last.said] == ["one", "and two"]


def test_calls_that_changed_something_or_may_have_last_beyond_an_undo() -> None:
    rows = [
        call_row("done", CallState.DONE),
        call_row("failed", CallState.FAILED, EffectClass.IDEMPOTENT),
        call_row("unknown", CallState.UNKNOWN, EffectClass.RECONCILABLE),
        call_row("looked", CallState.DONE, EffectClass.READ),
        call_row("skipped", CallState.SKIPPED),
        call_row("planned", CallState.PLANNED),
    ]
    assert [call.id for call in lasting_calls(journal(*rows))] == ["done", "failed", "unknown"]
