from dataclasses import replace

import pytest
from hypothesis import given

from holdfast.model import (
    Attachment,
    Body,
    CallState,
    Entry,
    NoteKind,
    Replied,
    Said,
    StopReason,
    Tail,
    TurnId,
    Undone,
)
from holdfast.policy.turn.problems import ProblemKind
from holdfast.policy.turn.views import BLANK_TEXT, CUT_OFF_TEXT, NOT_SHOWN_TEXT, Role, View, view
from tests.support.transcripts import (
    ANN,
    breaches,
    nonsense,
    noted,
    plausible,
    replied,
    returned,
    said,
    summed,
    transcript,
)

Turn = list[Body]


def lines(seen: View) -> list[str]:
    """The messages as short lines: who, what, and the calls or the call."""
    found = []
    for message in seen.messages:
        about = ",".join(call.id for call in message.calls) or message.call or ""
        found.append(f"{message.role}{'(' + about + ')' if about else ''}: {message.text}")
    return found


def kinds(seen: View) -> list[tuple[ProblemKind, int, bool]]:
    return [(problem.kind, problem.seq, problem.open_turn) for problem in seen.problems]


CUT = f"note: {CUT_OFF_TEXT}"
NOT_SHOWN = f"note: {NOT_SHOWN_TEXT}"


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        pytest.param([], [], id="nothing said yet"),
        pytest.param([[said("hi")]], ["user: hi"], id="a message"),
        pytest.param(
            [[said("hi"), replied("", "a"), returned("a", "1"), replied("done")]],
            ["user: hi", "assistant(a): ", "tool(a): 1", "assistant: done"],
            id="a whole turn",
        ),
        pytest.param(
            [[said("hi"), replied("", "a", "b", "c"), returned("c"), returned("a"), returned("b")]],
            ["user: hi", "assistant(a,b,c): ", "tool(a): result", "tool(b): result", "tool(c): result"],
            id="results in another order than their calls",
        ),
        pytest.param(
            [
                [
                    said("hi"),
                    replied("", "a", "b"),
                    returned("b"),
                    said("and this"),
                    noted(NoteKind.WATCHED, text="printed"),
                    returned("a"),
                ]
            ],
            [
                "user: hi",
                "assistant(a,b): ",
                "tool(a): result",
                "tool(b): result",
                "user: and this",
                "note: printed",
            ],
            id="a steer and a note between results come after them",
        ),
        pytest.param(
            [
                [said("hi"), replied("", "a"), returned("a"), replied("x")],
                [said("2"), replied("", "a"), returned("a")],
            ],
            ["user: hi", "assistant(a): ", "tool(a): result", "assistant: x"]
            + ["user: 2", "assistant(a-2): ", "tool(a-2): result"],
            id="a call id used again in a later turn is made unique",
        ),
        pytest.param([[said("hi"), replied("  ")]], ["user: hi"], id="an empty reply is left out"),
        pytest.param(
            [[said("hi"), replied("x"), replied("", finish=StopReason.CUT)]],
            ["user: hi", "assistant: x", NOT_SHOWN],
            id="never ends in the assistant when a model call is due",
        ),
        pytest.param([[said(" ")]], [f"user: {BLANK_TEXT}"], id="an empty message is not sent empty"),
        pytest.param(
            [[replied("hello")]], [NOT_SHOWN, "assistant: hello"], id="never begins with the assistant"
        ),
        pytest.param(
            [[said("hi"), replied("a")], [replied("b")]],
            ["user: hi", "assistant: a", NOT_SHOWN, "assistant: b"],
            id="two answers in a row are kept apart",
        ),
    ],
)
def test_what_a_model_is_shown(turns: list[Turn], expected: list[str]) -> None:
    seen = view(transcript(*turns))
    assert lines(seen) == expected
    assert seen.problems == ()


@pytest.mark.parametrize("finish", [StopReason.CUT, StopReason.LENGTH])
def test_a_reply_that_broke_off_is_kept_and_to_be_gone_on_with(finish: StopReason) -> None:
    part = replied("The answer is", finish=finish)
    cut: Turn = [said("hi"), part]
    assert lines(view(transcript(cut))) == ["user: hi", "assistant: The answer is", CUT]
    # Once it was gone on with, the model is shown the same words in the same place.
    whole = view(transcript([*cut, replied(" four")]))
    assert lines(whole) == ["user: hi", "assistant: The answer is", CUT, "assistant:  four"]


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ([noted()], ["note: restarted 1", CUT]),
        ([noted(NoteKind.CUT_OFF, 7)], ["note: cut_off 7"]),
        ([said("never mind")], ["user: never mind"]),
        ([replied("", finish=StopReason.CUT)], [CUT]),
        ([replied(" and", finish=StopReason.CUT)], [CUT, "assistant:  and", CUT]),
    ],
)
def test_what_follows_a_reply_that_broke_off(after: Turn, expected: list[str]) -> None:
    seen = view(transcript([said("hi"), replied("part", finish=StopReason.CUT), *after]))
    assert lines(seen) == ["user: hi", "assistant: part", *expected]


def test_a_reply_that_broke_off_in_an_earlier_turn_is_not_gone_on_with() -> None:
    seen = view(transcript([said("hi"), replied("part", finish=StopReason.CUT)], [said("new")]))
    assert lines(seen) == ["user: hi", "assistant: part", "user: new"]


def test_a_reply_with_calls_is_not_the_rest_of_a_text_that_broke_off() -> None:
    seen = view(
        transcript([said("hi"), replied("part", finish=StopReason.CUT), replied("Let me look.", "a")])
    )
    assert [reply.text for reply in seen.replies] == ["Let me look."]


def test_a_reply_waits_for_all_of_its_results() -> None:
    waiting: Turn = [said("hi"), replied("look", "a", "b"), returned("b"), said("more")]
    seen = view(transcript(waiting))
    assert lines(seen) == ["user: hi", "user: more"]
    assert seen.unpaired == ("a",)
    assert seen.problems == ()
    whole = view(transcript([*waiting, returned("a")]))
    assert whole.unpaired == ()
    assert lines(whole)[1:] == ["assistant(a,b): look", "tool(a): result", "tool(b): result", "user: more"]


def test_a_call_of_a_turn_that_is_over_gets_an_unknown_result_and_is_named() -> None:
    seen = view(transcript([said("hi"), replied("", "a", "b"), returned("b")], [said("new")]))
    assert [message.role for message in seen.messages] == ["user", "assistant", "tool", "tool", "user"]
    unknown = seen.messages[2]
    assert unknown.state is CallState.UNKNOWN
    assert "may or may not have happened" in unknown.text
    assert "not repeated" in unknown.text
    assert kinds(seen) == [(ProblemKind.CALL_WITHOUT_RESULT, 2, False)]


def test_everything_a_provider_needs_back_is_carried() -> None:
    photo = Attachment("digest", "a.png", "image/png", 3)
    turn: Turn = [Said("", ANN, (photo,)), Replied("", StopReason.CALLS, replied("", "a").calls, opaque="{}")]
    seen = view(transcript([*turn, returned("a", "no", CallState.FAILED)]))
    assert seen.messages[0].attachments == (photo,)
    assert seen.messages[0].text == ""
    assert seen.messages[1].opaque == "{}"
    assert seen.messages[2].state is CallState.FAILED


TWO_TURNS: list[Turn] = [
    [said("one"), replied("", "a"), returned("a"), replied("1")],
    [said("two"), replied("2")],
]


@pytest.mark.parametrize(
    ("markers", "expected"),
    [
        pytest.param([Undone(5, 6)], ["one", "", "result", "1"], id="undo takes the turn out"),
        pytest.param([Undone(5, 6), Undone(1, 4)], [], id="undo twice"),
        pytest.param([Undone(5, 6), Undone(5, 7)], ["one", "", "result", "1"], id="an undo is never undone"),
        pytest.param([summed(1, 4, "S")], ["S", "two", "2"], id="a summary stands at the place of its range"),
        pytest.param([summed(5, 6, "S")], ["one", "", "result", "1", "S"], id="a summary of the end"),
        pytest.param(
            [summed(1, 2, "S"), summed(1, 6, "T")], ["T"], id="a later summary covers an earlier one"
        ),
        pytest.param([summed(1, 4, "S"), summed(5, 6, "T")], ["S", "T"], id="two summaries"),
        pytest.param(
            [summed(1, 6, "S"), Undone(5, 6)],
            ["one", "", "result", "1"],
            id="an undo inside dissolves a summary",
        ),
        pytest.param(
            [summed(1, 4, "S"), summed(1, 7, "T"), Undone(5, 6)],
            ["S"],
            id="when a later summary dissolves the earlier one stands again",
        ),
        pytest.param(
            [summed(1, 4, "S"), Undone(5, 7)],
            ["one", "", "result", "1"],
            id="an undone summary stands for nothing",
        ),
        pytest.param([Undone(5, 6), summed(1, 7, "S")], ["S"], id="a summary after an undo"),
    ],
)
def test_undo_and_summary_change_what_is_shown(markers: Turn, expected: list[str]) -> None:
    seen = view(transcript(*TWO_TURNS, markers))
    assert [message.text for message in seen.messages] == expected
    assert all(message.role is Role.NOTE for message in seen.messages if message.text in ("S", "T"))
    assert seen.problems == ()
    assert list(breaches(seen.messages)) == []


def test_a_call_that_is_shown_keeps_its_result_and_one_that_is_not_takes_it_along() -> None:
    turn: Turn = [said("one"), replied("", "a"), returned("a", "A"), replied("1")]
    assert [m.text for m in view(transcript(turn, [Undone(3, 4)])).messages] == ["one", "", "A"]
    assert [m.text for m in view(transcript(turn, [summed(1, 2, "S")])).messages] == ["S", "1"]


def test_a_summary_stands_for_entries_that_were_not_loaded() -> None:
    entries = transcript(*TWO_TURNS, [summed(1, 4, "S"), said("three")])
    seen = view(entries[4:])
    assert [message.text for message in seen.messages] == ["S", "two", "2", "three"]
    gap = view([entries[0], *entries[4:]])
    assert gap.problems == ()


def test_a_summary_changes_what_is_shown_and_not_where_the_turn_stands() -> None:
    turn: Turn = [said("hi"), replied("", "a"), returned("a")]
    assert view(transcript([*turn, summed(1, 3)])).tail is Tail.WORK
    answered = view(transcript([*turn, replied("done"), summed(1, 4)]))
    assert answered.tail is Tail.ANSWER
    assert answered.replies[-1].text == "done"


R1, R2, R3 = noted(count=1), noted(NoteKind.INTERRUPTED, 2), noted(NoteKind.SHUT_DOWN, 3)


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        ([R1], ["restarted 1"]),
        ([R1, R2], ["interrupted 2"]),
        ([R1, R2, R3], ["shut_down 3"]),
        ([R2, R1], ["interrupted 2"]),
        ([R1, noted(NoteKind.WATCHED, 9), R2], ["watched 9", "interrupted 2"]),
        ([R1, said("more"), R2], ["more", "interrupted 2"]),
        ([R1, replied(""), R2], ["interrupted 2"]),
        ([R1, replied("ok"), said("more"), R2], ["restarted 1", "ok", "more", "interrupted 2"]),
        ([R1, replied("", "a"), returned("a", "A"), R2], ["restarted 1", "", "A", "interrupted 2"]),
        ([noted(NoteKind.LEFT_BEHIND, 0), R1], ["left_behind 0", "restarted 1"]),
    ],
)
def test_a_newer_resume_note_replaces_one_the_model_never_answered(turn: Turn, expected: list[str]) -> None:
    seen = view(transcript([said("hi"), *turn]))
    assert [message.text for message in seen.messages] == ["hi", *expected]
    assert seen.problems == ()


LEFT = noted(NoteKind.LEFT_BEHIND, 0)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([R1], [said("new")], ["hi", "new"]),
        ([R1], [LEFT, said("new")], ["hi", "left_behind 0", "new"]),
        ([R1], [R2, said("new")], ["hi", "interrupted 2", "new"]),
        ([R1, replied("")], [said("new")], ["hi", "new"]),
        ([R1, said("more"), R2], [said("new")], ["hi", "more", "new"]),
        ([R1, replied("ok")], [said("new")], ["hi", "restarted 1", "ok", "new"]),
        ([R1, replied("", "a"), returned("a", "A")], [LEFT], ["hi", "restarted 1", "", "A", "left_behind 0"]),
        ([R1, summed(1, 1, "S")], [said("new")], ["S", "new"]),
    ],
)
def test_a_resume_note_the_model_never_answered_is_not_shown_beyond_its_turn(
    first: Turn, second: Turn, expected: list[str]
) -> None:
    seen = view(transcript([said("hi"), *first], second))
    assert [message.text for message in seen.messages] == expected
    assert seen.problems == ()


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        pytest.param([], Tail.NOTHING, id="nothing said yet"),
        pytest.param([[said()]], Tail.MESSAGE, id="message"),
        pytest.param([[noted(NoteKind.LEFT_BEHIND, 0), said()]], Tail.MESSAGE, id="opening note and message"),
        pytest.param([[noted(NoteKind.WATCHED)]], Tail.MESSAGE, id="nothing but a note that opens no resume"),
        pytest.param([[said(), replied("", "a")]], Tail.WORK, id="calls"),
        pytest.param([[said(), replied("", "a"), said()]], Tail.WORK, id="calls and a steer"),
        pytest.param([[said(), replied("", "a"), returned("a")]], Tail.WORK, id="results"),
        pytest.param([[said(), replied("")]], Tail.PARTIAL, id="empty"),
        pytest.param([[said(), replied("x", finish=StopReason.CUT)]], Tail.PARTIAL, id="cut"),
        pytest.param([[said(), replied("x", finish=StopReason.LENGTH)]], Tail.PARTIAL, id="length"),
        pytest.param([[said(), replied("x", finish=StopReason.FILTERED)]], Tail.PARTIAL, id="filtered"),
        pytest.param([[said(), replied("x")]], Tail.ANSWER, id="answer"),
        pytest.param([[said(), replied("x"), R1]], Tail.ANSWER, id="an answer stays one"),
        pytest.param([[said(), replied("x"), said()]], Tail.MESSAGE, id="a message after an answer"),
        pytest.param([[said(), R1]], Tail.NOTE, id="note"),
        pytest.param([[said(), replied("", "a"), returned("a"), R1]], Tail.NOTE, id="note after results"),
        pytest.param(
            [[said(), replied("x", finish=StopReason.CUT), R1]], Tail.NOTE, id="note after a cut reply"
        ),
        pytest.param(
            [[said(), R1, noted(NoteKind.WATCHED)]], Tail.NOTE, id="a note that opens no resume hides none"
        ),
        pytest.param([[said(), replied("x")], [R1]], Tail.NOTE, id="note after another turn's answer"),
        pytest.param(
            [[said(), replied("x")], [said(), Undone(3, 3)]], Tail.NOTHING, id="another turn's answer"
        ),
        pytest.param([[said(), replied("x")], [Undone(2, 2)]], Tail.MESSAGE, id="retry from the message"),
    ],
)
def test_how_a_transcript_ends(turns: list[Turn], expected: Tail) -> None:
    assert view(transcript(*turns)).tail is expected


def entry(seq: int, body: Body, turn: str = "t1") -> Entry:
    return Entry(seq, TurnId(turn), 0, body)


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        pytest.param(
            [entry(1, said()), entry(1, said("again"))],
            [(ProblemKind.DUPLICATE_SEQ, 1, True)],
            id="a place twice",
        ),
        pytest.param(
            [entry(2, replied("x")), entry(1, said())],
            [(ProblemKind.OUT_OF_ORDER, 1, True)],
            id="out of order",
        ),
        pytest.param([entry(1, said()), entry(3, replied("x"))], [(ProblemKind.GAP, 3, True)], id="a gap"),
        pytest.param(
            [entry(1, said()), entry(3, replied("x")), entry(4, said(), "t2")],
            [(ProblemKind.GAP, 3, False)],
            id="a gap in a turn that is over",
        ),
        pytest.param(
            transcript([said(), returned("a")]), [(ProblemKind.RESULT_WITHOUT_CALL, 2, True)], id="stray"
        ),
        pytest.param(
            transcript([said(), replied("", "a")], [said(), returned("a")]),
            [(ProblemKind.RESULT_WITHOUT_CALL, 4, True), (ProblemKind.CALL_WITHOUT_RESULT, 2, False)],
            id="a result in another turn than its call",
        ),
        pytest.param(
            transcript([said(), replied("", "a"), returned("a"), returned("a")]),
            [(ProblemKind.SECOND_RESULT, 4, True)],
            id="a second result",
        ),
        pytest.param(
            transcript([said(), replied("", "a"), returned("a", state=CallState.STARTED)]),
            [(ProblemKind.UNSETTLED_RESULT, 3, True)],
            id="a result that settles nothing",
        ),
        pytest.param(
            transcript([said(), replied("", "a", "a"), returned("a")]),
            [(ProblemKind.DUPLICATE_CALL, 2, True)],
            id="a call id twice in a message",
        ),
        pytest.param(
            transcript([said(), replied("", "a"), returned("a"), replied("", "a"), returned("a")]),
            [(ProblemKind.DUPLICATE_CALL, 4, True)],
            id="a call id twice in a turn",
        ),
        pytest.param(
            transcript([said(), replied("", "a"), replied("x")]),
            [(ProblemKind.CALL_WITHOUT_RESULT, 2, True)],
            id="the model went on without a result",
        ),
        pytest.param(
            transcript([said(), Undone(1, 2)]), [(ProblemKind.BAD_RANGE, 2, True)], id="undo of itself"
        ),
        pytest.param(
            transcript([said(), Undone(1, 0)]), [(ProblemKind.BAD_RANGE, 2, True)], id="undo backwards"
        ),
        pytest.param(
            transcript([said(), summed(-1, 9)]), [(ProblemKind.BAD_RANGE, 2, True)], id="bad summary"
        ),
        pytest.param(
            transcript([said(), replied("x")], [said(), summed(1, 2), summed(2, 3)]),
            [(ProblemKind.OVERLAPPING_SUMMARY, 5, False)],
            id="summaries that overlap in part",
        ),
        pytest.param(
            transcript([said(), R1, replace(R1, text="again")]),
            [(ProblemKind.DUPLICATE_NOTE, 3, False)],
            id="an interruption noted twice",
        ),
    ],
)
def test_what_does_not_fit_is_named(
    entries: list[Entry], expected: list[tuple[ProblemKind, int, bool]]
) -> None:
    seen = view(entries)
    assert kinds(seen) == expected
    assert all(problem.words for problem in seen.problems)
    assert list(breaches(seen.messages)) == []


def test_a_marker_that_cannot_be_is_called_what_it_is() -> None:
    (undo,) = view(transcript([said(), Undone(1, 0)])).problems
    (summary,) = view(transcript([said(), summed(-1, 9)])).problems
    assert undo.words == "the undo at entry 2 names entries 1 to 0, which is impossible"
    assert summary.words == "the summary at entry 2 names entries -1 to 9, which is impossible"


def test_a_marker_never_hides_what_comes_after_it() -> None:
    for marker in (Undone(1, 9), summed(1, 9)):
        seen = view(transcript([said("old"), marker], [said("later")]))
        assert [message.text for message in seen.messages][-1] == "later"
        assert "old" not in [message.text for message in seen.messages]


def test_a_note_noted_twice_is_shown_once() -> None:
    seen = view(transcript([said("hi"), R1, replied("ok"), said("more"), R1]))
    assert [message.text for message in seen.messages] == ["hi", "restarted 1", "ok", "more"]


def test_the_entries_of_one_turn_may_begin_anywhere() -> None:
    assert view(transcript([said(), replied("x")], first=41)).problems == ()


@given(nonsense)
def test_a_provider_accepts_whatever_was_recorded(entries: list[Entry]) -> None:
    seen = view(entries)
    assert list(breaches(seen.messages)) == []
    assert seen == view(tuple(entries))


@given(plausible)
def test_what_is_recorded_is_shown_unless_a_marker_or_a_problem_hides_it(entries: list[Entry]) -> None:
    seen = view(entries)
    assert list(breaches(seen.messages)) == []
    if any(isinstance(e.body, Undone) or hasattr(e.body, "stands_for_at") for e in entries):
        return
    spoken = [e.body.text for e in entries if isinstance(e.body, Said) and e.body.text.strip()]
    assert [m.text for m in seen.messages if m.role is Role.USER and m.text != BLANK_TEXT] == spoken
    results = [m for m in seen.messages if m.role is Role.TOOL]
    assert len(results) == sum(len(m.calls) for m in seen.messages)
