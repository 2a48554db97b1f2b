import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model import (
    CALL,
    Body,
    CallRecord,
    CallState,
    Entry,
    Journal,
    NoteKind,
    QuestionId,
    QuestionKind,
    QuestionRecord,
    QuestionState,
    StopReason,
    Tail,
    TurnState,
    Undone,
)
from holdfast.policy.turn.problems import ProblemKind
from holdfast.policy.turn.steps import (
    CallModel,
    FinishReason,
    NextStep,
    RunTools,
    Settle,
    WaitForPerson,
    next_step,
    reply_text,
    tail_of,
)
from holdfast.policy.turn.steps import Finish as End
from holdfast.policy.turn.views import Role, view
from tests.support.transcripts import (
    call_row,
    journal,
    journals,
    nonsense,
    noted,
    plausible,
    question,
    replied,
    returned,
    said,
    summed,
    transcript,
)

PLANNED, STARTED, DONE = CallState.PLANNED, CallState.STARTED, CallState.DONE
FAILED, UNKNOWN, SKIPPED = CallState.FAILED, CallState.UNKNOWN, CallState.SKIPPED
OPEN, ANSWERED = QuestionState.OPEN, QuestionState.ANSWERED
CLARIFY, CONTINUE = QuestionKind.CLARIFY, QuestionKind.CONTINUE

Turn = list[Body]


def step(turn: Turn, seen: Journal | None = None) -> NextStep:
    return next_step(view(transcript(turn)), seen or journal())


def on_calls(
    *rows: CallRecord, questions: tuple[QuestionRecord, ...] = (), finish: StopReason = StopReason.CALLS
) -> NextStep:
    """The step after a reply with the calls of these rows; settled rows have their results."""
    results = [returned(row.id, state=row.state) for row in rows if row.state in CALL.finals]
    asks = replied("", *[row.id for row in rows], finish=finish)
    return step([said(), asks, *results], journal(*rows, questions=questions))


def cut(text: str = "part", finish: StopReason = StopReason.CUT) -> Body:
    return replied(text, finish=finish)


@pytest.mark.parametrize(
    "turn",
    [
        pytest.param([said()], id="a message"),
        pytest.param([noted(NoteKind.LEFT_BEHIND, 0), said()], id="a note and a message"),
        pytest.param([said(), noted()], id="a resume note"),
        pytest.param([said(), cut(), noted()], id="a resume note after a cut reply"),
        pytest.param([noted(NoteKind.WATCHED)], id="nothing but a note"),
        pytest.param([said(), replied("answer"), said("more")], id="a steer after an answer"),
        pytest.param([said(), cut("")], id="a cut reply without text"),
        pytest.param([said(), cut()], id="a cut reply"),
        pytest.param([said(), cut(finish=StopReason.LENGTH)], id="a reply at its length limit"),
        pytest.param([said(), cut(finish=StopReason.CALLS)], id="a reply that announced calls and made none"),
        pytest.param([said(), cut(), cut()], id="two cut replies"),
        pytest.param([said(), cut(), cut(), said(), cut()], id="cut replies with a message between"),
        pytest.param([said(), cut(), cut(), noted(), cut()], id="replies cut by restarts are not counted"),
    ],
)
def test_the_model_is_called(turn: Turn) -> None:
    assert step(turn) == CallModel()


@pytest.mark.parametrize(
    "states", [(DONE,), (FAILED,), (UNKNOWN,), (SKIPPED,), (DONE, UNKNOWN), (SKIPPED, FAILED)]
)
def test_the_model_is_called_once_all_calls_have_results(states: tuple[CallState, ...]) -> None:
    rows = [call_row(id, state) for id, state in zip("ab", states, strict=False)]
    assert on_calls(*rows) == CallModel()


def test_a_mid_turn_summary_does_not_stop_the_work() -> None:
    turn: Turn = [said(), replied("", "a"), returned("a"), summed(1, 3)]
    assert step(turn, journal(call_row("a", DONE))) == CallModel()


@pytest.mark.parametrize(
    ("turn", "reason", "reply"),
    [
        ([], FinishReason.NOTHING_TO_ANSWER, ""),
        ([said(), Undone(1, 1)], FinishReason.NOTHING_TO_ANSWER, ""),
        ([cut("")], FinishReason.NOTHING_TO_ANSWER, ""),
        ([said(), replied("")], FinishReason.EMPTY_REPLY, ""),
        ([said(), replied(" \n")], FinishReason.EMPTY_REPLY, " \n"),
        ([said(), cut("so far"), replied("")], FinishReason.EMPTY_REPLY, "so far"),
        ([said(), replied("x", finish=StopReason.FILTERED)], FinishReason.FILTERED, "x"),
        ([said(), replied("", finish=StopReason.FILTERED)], FinishReason.FILTERED, ""),
        ([said(), cut("a"), cut("b"), cut("c")], FinishReason.CUT_OFF, "abc"),
        ([said(), cut(""), cut("", StopReason.LENGTH), cut("")], FinishReason.CUT_OFF, ""),
    ],
)
def test_a_turn_fails_with_a_reason_and_words(turn: Turn, reason: FinishReason, reply: str) -> None:
    found = step(turn)
    assert isinstance(found, End)
    assert (found.state, found.reason, found.reply) == (TurnState.FAILED, reason, reply)
    assert found.words


@pytest.mark.parametrize(
    ("turn", "reply"),
    [
        ([said(), replied("answer")], "answer"),
        ([said(), replied("let me see", "a"), returned("a"), replied("answer")], "answer"),
        ([said(), cut("The ans"), replied("wer")], "The answer"),
        ([said(), cut("The "), noted(), cut("ans"), replied("wer")], "The answer"),
        ([said(), cut("Well"), said("quick!"), replied("answer")], "answer"),
        ([said(), cut("Well"), replied("", "a"), returned("a"), replied("answer")], "answer"),
        ([said(), replied("answer"), noted()], "answer"),
        ([said(), replied("answer"), noted(NoteKind.WATCHED)], "answer"),
    ],
)
def test_a_final_answer_ends_the_turn_with_what_is_owed(turn: Turn, reply: str) -> None:
    seen = view(transcript(turn))
    rows = [call_row(id, DONE) for id in sorted(seen.asked)]
    assert next_step(seen, journal(*rows)) == End(TurnState.DONE, reply)
    assert reply_text(seen) == reply


def test_nothing_is_owed_while_work_goes_on() -> None:
    assert reply_text(view(transcript([said(), cut("part"), said("more")]))) == ""
    assert reply_text(view(transcript([said(), replied("let me see", "a")]))) == ""


def test_another_turns_answer_is_not_this_turns() -> None:
    answered = transcript([said(), replied("old answer")], [said(), Undone(3, 3)])
    for entries in (answered[:2], answered):
        found = next_step(view(entries), journal(turn="t2"))
        assert isinstance(found, End)
        assert found.reason is FinishReason.NOTHING_TO_ANSWER


def test_a_turn_without_a_message_of_its_own_answers_the_one_left_by_an_undo() -> None:
    retried = transcript([said(), replied("old answer")], [Undone(2, 2)])
    assert next_step(view(retried), journal(turn="t2")) == CallModel()


@pytest.mark.parametrize("turn", [[said()], [said(), replied("", "a")], [said(), replied("answer")]])
def test_the_gateways_own_question_is_waited_for_before_anything(turn: Turn) -> None:
    ours = question(None, OPEN, CONTINUE, id="q")
    assert step(turn, journal(call_row("a"), questions=(ours,))) == WaitForPerson((QuestionId("q"),))


def test_the_gateways_closed_question_is_nobodys_answer() -> None:
    ours = question(None, ANSWERED, CONTINUE, "drop", id="q")
    assert step([said()], journal(questions=(ours,))) == CallModel()


@pytest.mark.parametrize(
    ("turn", "rows", "kind"),
    [
        ([said(), replied("", "a")], [], ProblemKind.CALL_NOT_JOURNALED),
        ([said(), replied("", "a"), returned("a")], [], ProblemKind.CALL_NOT_JOURNALED),
        ([said()], [call_row("a")], ProblemKind.JOURNALED_CALL_NOT_SAID),
        ([said(), replied("done")], [call_row("a", DONE)], ProblemKind.JOURNALED_CALL_NOT_SAID),
        *[
            ([said(), replied("", "a")], [call_row("a", state)], ProblemKind.SETTLED_WITHOUT_RESULT)
            for state in (DONE, FAILED, UNKNOWN, SKIPPED)
        ],
        ([said(), replied("", "a"), returned("a")], [call_row("a")], ProblemKind.RESULT_NOT_JOURNALED),
        ([said(), replied("", "a")], [call_row("a"), call_row("a")], ProblemKind.DUPLICATE_CALL),
        ([said(), returned("a")], [], ProblemKind.RESULT_WITHOUT_CALL),
        ([said(), replied("", "a", "a")], [call_row("a")], ProblemKind.DUPLICATE_CALL),
        ([said(), replied("", "a"), replied("x")], [call_row("a")], ProblemKind.CALL_WITHOUT_RESULT),
    ],
)
def test_a_record_that_does_not_fit_ends_the_turn(
    turn: Turn, rows: list[CallRecord], kind: ProblemKind
) -> None:
    found = step(turn, journal(*rows))
    assert isinstance(found, End)
    assert (found.state, found.reason) == (TurnState.FAILED, FinishReason.DAMAGED_TRANSCRIPT)
    assert found.problem
    assert found.problem.kind is kind
    assert found.problem.words in found.words


def test_a_problem_of_an_earlier_turn_stops_nobody() -> None:
    entries = transcript([said(), replied("", "a")], [said()])
    assert next_step(view(entries), journal(turn="t2")) == CallModel()


def test_a_note_made_twice_stops_nobody() -> None:
    assert step([said(), noted(), noted(text="again")]) == CallModel()


@pytest.mark.parametrize(
    ("row", "asked", "expected"),
    [
        (call_row("a"), [question("a")], Tail.QUESTION),
        (call_row("a", STARTED), [question("a", kind=CLARIFY)], Tail.QUESTION),
        (call_row("a", STARTED), [question("a", QuestionState.EXPIRED, CLARIFY)], Tail.QUESTION),
        (call_row("a", STARTED), [question("a", QuestionState.UNDELIVERABLE, CLARIFY)], Tail.QUESTION),
        (call_row("a"), [question("a", QuestionState.EXPIRED)], Tail.QUESTION),
        (call_row("a", STARTED), [question("a", QuestionState.EXPIRED)], Tail.WORK),
        (call_row("a"), [question("a", ANSWERED, answer="yes")], Tail.WORK),
        (call_row("a", STARTED), [question("a", ANSWERED, CLARIFY, "blue")], Tail.WORK),
        (call_row("a", STARTED), [question("a", QuestionState.SET_ASIDE, CLARIFY)], Tail.WORK),
        (call_row("a"), [], Tail.WORK),
        (call_row("a", DONE), [question("a")], Tail.WORK),
        (call_row("x"), [question("a")], Tail.WORK),
    ],
)
def test_a_tail_of_nothing_but_a_question(
    row: CallRecord, asked: list[QuestionRecord], expected: Tail
) -> None:
    entries = transcript([said(), replied("", "a")])
    assert tail_of(entries, journal(row, questions=asked)) is expected


def test_a_question_beside_other_work_is_work() -> None:
    entries = transcript([said(), replied("", "a", "b"), returned("b")])
    waits, runs = call_row("a"), call_row("b")
    assert tail_of(entries[:2], journal(waits, runs, questions=[question("a")])) is Tail.WORK
    settled_one = call_row("b", DONE)
    assert tail_of(entries, journal(waits, settled_one, questions=[question("a")])) is Tail.QUESTION


def test_a_tail_is_that_of_the_journals_turn() -> None:
    entries = transcript([said(), replied("answer")])
    assert tail_of(entries, journal()) is Tail.ANSWER
    assert tail_of(view(entries), journal()) is Tail.ANSWER
    assert tail_of(entries, journal(turn="t2")) is Tail.NOTHING
    assert tail_of([], journal()) is Tail.NOTHING


@given(st.one_of(nonsense, plausible), journals)
def test_there_is_always_one_next_step(entries: list[Entry], seen: Journal) -> None:
    found = next_step(view(entries), seen)
    assert found == next_step(view(list(entries)), seen)
    assert tail_of(entries, seen) in Tail
    if isinstance(found, CallModel):
        messages = view(entries).messages
        assert messages
        assert messages[-1].role is not Role.ASSISTANT
    if isinstance(found, RunTools):
        assert found.calls or found.in_flight
    if isinstance(found, Settle):
        assert found.settlements
    if isinstance(found, WaitForPerson):
        assert found.questions
