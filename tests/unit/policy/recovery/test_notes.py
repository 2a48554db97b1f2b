"""R6: exactly one note or none, in words that say what the model must know."""

from dataclasses import replace
from itertools import product

import pytest

from holdfast.model import RESUME_NOTES, NoteKind, StopKind, Tail, TurnState
from holdfast.policy.recovery.notes import Before, Dropped, Note, NoteFacts, note_for
from holdfast.policy.settings import HOUR, MINUTE, RecoverySettings

NOW = 1_800_000_000_000
SETTINGS = RecoverySettings()
DONE = Before(TurnState.DONE, None, 0, Tail.ANSWER, NOW - MINUTE)
OPENING = NoteFacts(opening=True, message_follows=True, before=DONE)
RESUMED = NoteFacts(opening=False, message_follows=False, interruptions=2, noted=1, reason="restart_timeout")


def noted(facts: NoteFacts, settings: RecoverySettings = SETTINGS) -> Note | None:
    return note_for(facts, NOW, settings)


def after(before: Before, settings: RecoverySettings = SETTINGS) -> NoteKind | None:
    note = noted(replace(OPENING, before=before), settings)
    return note.kind if note else None


def words(facts: NoteFacts) -> str:
    note = noted(facts)
    assert note is not None
    return note.text.lower()


# Resuming


@pytest.mark.parametrize(
    ("reason", "kind", "cause"),
    [
        ("restart_timeout", NoteKind.RESTARTED, "gateway restart"),
        (None, NoteKind.RESTARTED, "gateway restart"),
        ("", NoteKind.RESTARTED, "gateway restart"),
        ("shutdown_timeout", NoteKind.SHUT_DOWN, "gateway shutdown"),
        ("restart_interrupted", NoteKind.INTERRUPTED, "gateway interruption"),
        ("moved_to_the_moon", NoteKind.GENERAL, "cut off"),
    ],
)
@pytest.mark.parametrize("follows", [True, False])
@pytest.mark.parametrize("results", [True, False])
def test_a_resume_is_told_its_cause_and_what_comes_first(
    reason: str | None, kind: NoteKind, cause: str, follows: bool, results: bool
) -> None:
    note = noted(replace(RESUMED, reason=reason, message_follows=follows, results_left=results))
    assert note is not None
    assert (note.kind, note.count) == (kind, 2)
    text = note.text.lower()
    for said in (cause, "history above is whole", "already happened"):
        assert said in text
    for said in ("unfinished results first", "sum them up"):
        assert (said in text) is results, "only if there are any"
    assert ("new message, which follows" in text) is follows
    for said in ("do not greet", "do not ask what to do next"):
        assert (said in text) is not follows
    assert ("go on with the work" in text) is not (follows and results)
    assert "moon" not in text


def test_the_resume_notes_are_the_kinds_the_view_knows_as_such() -> None:
    reasons = ("restart_timeout", "shutdown_timeout", "restart_interrupted", "newer")
    kinds = {note.kind for reason in reasons if (note := noted(replace(RESUMED, reason=reason)))}
    assert kinds == RESUME_NOTES


def test_an_interruption_gets_its_note_once() -> None:
    assert noted(replace(RESUMED, noted=2)) is None


def test_a_second_interruption_gets_a_note_of_its_own() -> None:
    note = noted(replace(RESUMED, interruptions=3, noted=2))
    assert note is not None and note.count == 3


def test_a_turn_cut_off_before_its_first_entry_gets_the_resume_note_alone() -> None:
    left = Before(TurnState.EXPIRED, "too_old", 1, Tail.WORK, None)
    note = noted(NoteFacts(opening=True, message_follows=True, interruptions=1, before=left))
    assert note is not None and note.kind is NoteKind.RESTARTED


# Opening a turn


@pytest.mark.parametrize("why", ["too_old", "chat_says_never", "resume_produced_nothing", None])
def test_work_that_expired_is_left_behind_however_long_ago(why: str | None) -> None:
    before = Before(TurnState.EXPIRED, why, 1, Tail.WORK, NOW - 1000 * HOUR)
    note = noted(replace(OPENING, before=before))
    assert note is not None and (note.kind, note.count) == (NoteKind.LEFT_BEHIND, 0)
    assert "left behind" in note.text and "only if the person asks" in note.text
    assert after(replace(before, progress_at=None)) is NoteKind.LEFT_BEHIND


def test_a_question_nobody_answered_leaves_no_note() -> None:
    assert after(Before(TurnState.EXPIRED, "unanswered", 1, Tail.QUESTION, NOW)) is None


def test_a_failed_resume_is_told_within_the_window() -> None:
    failed = Before(TurnState.FAILED, "provider_error", 1, Tail.NOTE, NOW - HOUR)
    assert after(failed) is NoteKind.RESUME_FAILED
    assert after(replace(failed, progress_at=NOW - HOUR - 1)) is None
    assert after(replace(failed, progress_at=None)) is None
    assert after(replace(failed, progress_at=None), RecoverySettings(window=0)) is NoteKind.RESUME_FAILED


def test_a_failed_resume_with_tool_results_gets_one_note_not_two() -> None:
    failed = Before(TurnState.FAILED, None, 1, Tail.WORK, NOW, results_left=True)
    assert after(failed) is NoteKind.RESUME_FAILED
    text = words(replace(OPENING, before=failed))
    assert "failed" in text and "unfinished results first" in text and "then answer" in text
    text = words(replace(OPENING, before=replace(failed, tail=Tail.NOTE, results_left=False)))
    assert "failed" in text and "results" not in text and "answer the message that follows" in text


def test_unanswered_tool_results_get_the_tool_tail_note_within_the_window() -> None:
    tail = Before(TurnState.FAILED, "provider_error", 0, Tail.WORK, NOW - HOUR)
    assert after(tail) is NoteKind.TOOL_TAIL
    assert after(replace(tail, progress_at=NOW - HOUR - 1)) is None
    assert after(replace(tail, progress_at=None)) is None
    text = words(replace(OPENING, before=tail))
    assert "tool results" in text and "sum them up" in text and "then answer" in text


@pytest.mark.parametrize("why", Dropped)
def test_work_the_person_let_go_is_said_to_be_left(why: Dropped) -> None:
    dropped = Before(TurnState.CANCELLED, why, 1, Tail.WORK, NOW)
    assert after(dropped) is NoteKind.DROPPED
    assert "only if the person asks" in words(replace(OPENING, before=dropped))


@pytest.mark.parametrize("why", [*StopKind, "not_allowed", None])
@pytest.mark.parametrize("tail", Tail)
def test_what_a_person_stopped_leaves_no_note(why: str | None, tail: Tail) -> None:
    assert after(Before(TurnState.CANCELLED, why, 1, tail, NOW)) is None


def test_an_answered_or_absent_turn_before_leaves_no_note() -> None:
    assert after(DONE) is None
    assert noted(replace(OPENING, before=None)) is None


def test_a_turn_already_opened_gets_no_opening_note_again() -> None:
    left = Before(TurnState.EXPIRED, "too_old", 1, Tail.WORK, NOW)
    assert noted(replace(OPENING, opening=False, before=left)) is None


def test_every_note_says_that_a_restart_in_the_history_has_happened() -> None:
    states = [TurnState.EXPIRED, TurnState.CANCELLED, TurnState.FAILED]
    for state, interruptions, why in product(states, [0, 1], [Dropped.SAID, None]):
        note = noted(replace(OPENING, before=Before(state, why, interruptions, Tail.WORK, NOW)))
        assert note is None or "already happened" in note.text
