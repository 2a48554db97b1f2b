import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model import (
    CALL,
    Body,
    CallId,
    CallRecord,
    CallState,
    EffectClass,
    Journal,
    QuestionId,
    QuestionKind,
    QuestionRecord,
    QuestionState,
    StopReason,
)
from holdfast.model.states import SILENT
from holdfast.policy.consent.argument_text import call_hash
from holdfast.policy.turn.calls import How, Settlement
from holdfast.policy.turn.steps import NextStep, RunTools, Settle, WaitForPerson, next_step
from holdfast.policy.turn.synthetic_results import Skip, no_answer_text, not_happened_text, skipped_text
from holdfast.policy.turn.views import view
from tests.support.transcripts import (
    call_row,
    journal,
    journals,
    question,
    replied,
    returned,
    said,
    transcript,
)

PLANNED, STARTED, DONE = CallState.PLANNED, CallState.STARTED, CallState.DONE
FAILED, UNKNOWN, SKIPPED = CallState.FAILED, CallState.UNKNOWN, CallState.SKIPPED
READ, IDEMPOTENT, EFFECT = EffectClass.READ, EffectClass.IDEMPOTENT, EffectClass.EFFECT
RECONCILABLE = EffectClass.RECONCILABLE
OPEN, ANSWERED = QuestionState.OPEN, QuestionState.ANSWERED
CLARIFY, APPROVAL = QuestionKind.CLARIFY, QuestionKind.APPROVAL

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


def run(found: NextStep) -> list[tuple[str, bool]]:
    assert isinstance(found, RunTools)
    return [(to_run.call.id, to_run.again) for to_run in found.calls]


def settled(found: NextStep) -> list[tuple[str, CallState, How]]:
    assert isinstance(found, Settle)
    return [(one.call, one.state, one.how) for one in found.settlements]


def words_of(found: NextStep) -> str:
    assert isinstance(found, Settle)
    return found.settlements[0].text


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (call_row("a", PLANNED, READ), [("a", False)]),
        (call_row("a", PLANNED, IDEMPOTENT), [("a", False)]),
        (call_row("a", PLANNED, RECONCILABLE), [("a", False)]),
        (call_row("a", PLANNED, EFFECT), [("a", False)]),
        (call_row("a", STARTED, READ), [("a", True)]),
        (call_row("a", STARTED, IDEMPOTENT), [("a", True)]),
    ],
)
def test_calls_that_run(row: CallRecord, expected: list[tuple[str, bool]]) -> None:
    assert run(on_calls(row)) == expected


@pytest.mark.parametrize(("effect", "how"), [(EFFECT, How.WRITE), (RECONCILABLE, How.ASK_TOOL)])
def test_a_call_cut_off_that_may_have_happened_is_not_run(effect: EffectClass, how: How) -> None:
    found = on_calls(call_row("a", STARTED, effect))
    assert settled(found) == [("a", UNKNOWN, how)]
    assert "may or may not have happened" in words_of(found)


@pytest.mark.parametrize("effect", EffectClass)
@pytest.mark.parametrize("generation", [2, 3])
def test_a_call_this_run_or_a_newer_one_started_is_in_flight(effect: EffectClass, generation: int) -> None:
    found = on_calls(call_row("a", STARTED, effect, generation))
    assert found == RunTools((), (CallId("a"),))


def test_every_mix_settles_first_then_runs_then_waits() -> None:
    rows = [
        call_row("done", DONE),
        call_row("cut", STARTED, EFFECT),
        call_row("ask", STARTED, RECONCILABLE),
        call_row("again", STARTED, READ),
        call_row("flying", STARTED, EFFECT, generation=2),
        call_row("new", PLANNED, EFFECT),
        call_row("asked", PLANNED, EFFECT),
    ]
    questions = (question("asked"),)
    assert settled(on_calls(*rows, questions=questions)) == [
        ("cut", UNKNOWN, How.WRITE),
        ("ask", UNKNOWN, How.ASK_TOOL),
    ]
    rows = [call_row(row.id, UNKNOWN) if row.id in ("cut", "ask") else row for row in rows]
    found = on_calls(*rows, questions=questions)
    assert run(found) == [("again", True), ("new", False)]
    assert isinstance(found, RunTools)
    assert found.in_flight == ("flying",)
    rows = [row if row.id == "asked" else call_row(row.id, DONE) for row in rows]
    assert on_calls(*rows, questions=questions) == WaitForPerson((QuestionId("q-asked"),))


def test_results_in_any_order_leave_only_the_missing_call() -> None:
    rows = [call_row("a"), call_row("b", DONE), call_row("c", DONE)]
    turn: Turn = [said(), replied("", "a", "b", "c"), returned("c"), said("steer"), returned("b")]
    assert run(step(turn, journal(*rows))) == [("a", False)]


@pytest.mark.parametrize(
    ("state", "answer", "expected", "words"),
    [
        (ANSWERED, "blue", DONE, "blue"),
        (ANSWERED, None, FAILED, "no answer"),
        (ANSWERED, "", DONE, "no answer: the person gave none."),
        (QuestionState.SET_ASIDE, None, FAILED, "set aside"),
        (QuestionState.CANCELLED, None, FAILED, "no answer"),
    ],
)
@pytest.mark.parametrize("generation", [1, 2])
def test_a_closed_question_of_the_model_is_its_calls_result(
    state: QuestionState, answer: str | None, expected: CallState, words: str, generation: int
) -> None:
    row = call_row("a", STARTED, EFFECT, generation)
    found = on_calls(row, questions=(question("a", state, CLARIFY, answer),))
    assert settled(found) == [("a", expected, How.WRITE)]
    assert words in words_of(found)


@pytest.mark.guards("R13")
@pytest.mark.parametrize("state", sorted(SILENT))
@pytest.mark.parametrize("generation", [1, 2])
def test_no_model_is_called_for_a_question_without_an_answer(state: QuestionState, generation: int) -> None:
    row, silent = call_row("a", STARTED, EFFECT, generation), question("a", state, CLARIFY)
    assert on_calls(row, questions=(silent,)) == WaitForPerson((silent.id,))


def test_an_answer_for_a_call_that_never_started_is_not_lost() -> None:
    found = on_calls(call_row("a"), questions=(question("a", ANSWERED, CLARIFY, "blue"),))
    assert found == Settle((Settlement(CallId("a"), SKIPPED, "blue"),))


@pytest.mark.parametrize(
    ("state", "answer", "why"),
    [
        (ANSWERED, "no", Skip.REFUSED),
        (ANSWERED, "yes please", Skip.REFUSED),
        (ANSWERED, None, Skip.REFUSED),
        (QuestionState.EXPIRED, "yes", Skip.NO_ANSWER),
        (QuestionState.SET_ASIDE, None, Skip.SET_ASIDE),
        (QuestionState.UNDELIVERABLE, None, Skip.UNDELIVERABLE),
        (QuestionState.CANCELLED, None, Skip.CANCELLED),
    ],
)
def test_a_call_without_consent_is_skipped(state: QuestionState, answer: str | None, why: Skip) -> None:
    row = call_row("a")
    found = on_calls(row, questions=(question("a", state, APPROVAL, answer),))
    assert found == Settle((Settlement(row.id, SKIPPED, skipped_text(row, why)),))


@pytest.mark.parametrize("answer", ["yes", " Yes "])
def test_a_call_with_consent_runs(answer: str) -> None:
    assert run(on_calls(call_row("a"), questions=(question("a", ANSWERED, APPROVAL, answer),))) == [
        ("a", False)
    ]


def test_consent_to_another_call_is_no_consent() -> None:
    other = question("a", ANSWERED, APPROVAL, "yes", hash_of="b")
    found = on_calls(call_row("a"), questions=(other,))
    assert settled(found) == [("a", SKIPPED, How.WRITE)]
    assert "another call" in words_of(found)
    assert settled(on_calls(call_row("a", STARTED, READ), questions=(other,))) == [("a", UNKNOWN, How.WRITE)]


def test_consent_lets_no_call_run_a_second_time() -> None:
    yes = question("a", ANSWERED, APPROVAL, "yes")
    assert settled(on_calls(call_row("a", STARTED, EFFECT), questions=(yes,))) == [("a", UNKNOWN, How.WRITE)]


def test_the_newest_question_counts_and_an_open_one_before_all() -> None:
    yes = question("a", ANSWERED, APPROVAL, "yes", id="q1")
    no = question("a", ANSWERED, APPROVAL, "no", id="q2")
    still_open = question("a", OPEN, id="q3")
    assert isinstance(on_calls(call_row("a"), questions=(yes, no)), Settle)
    assert isinstance(on_calls(call_row("a"), questions=(no, yes)), RunTools)
    for questions in [(yes, still_open), (still_open, yes)]:
        assert on_calls(call_row("a"), questions=questions) == WaitForPerson((QuestionId("q3"),))


@pytest.mark.parametrize("finish", [StopReason.CUT, StopReason.LENGTH, StopReason.FILTERED])
def test_a_call_in_a_message_that_broke_off_is_not_run(finish: StopReason) -> None:
    found = on_calls(call_row("a"), call_row("b", STARTED, EFFECT), finish=finish)
    assert settled(found) == [("a", SKIPPED, How.WRITE), ("b", UNKNOWN, How.WRITE)]
    assert "broke off" in words_of(found)


def test_calls_run_also_when_the_marker_says_complete() -> None:
    assert run(on_calls(call_row("a"), finish=StopReason.COMPLETE)) == [("a", False)]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ('{"a": 1, "b": [2]}', '{"b":[2],"a":1}', True),
        ('{"a": 1}', '{"a": 2}', False),
        ('{"a": 1}', '{"a": "1"}', False),
        ('{"a": 1, "a": 2}', '{"a": 2}', False),
        ("not json", "not  json", False),
        ("1e999", "2e999", False),
        ("NaN", '"NaN"', False),
        ("[" * 100_000, "[" * 100_001, False),
        ('"\\ud800"', '"\\ud801"', False),
    ],
)
def test_consent_is_for_one_name_and_one_meaning(one: str, other: str, same: bool) -> None:
    assert (call_hash("pay", one) == call_hash("pay", other)) is same
    assert call_hash("pay", one) != call_hash("send", one)
    assert len(call_hash("pay", one)) == 64


def test_every_result_says_that_it_is_no_success() -> None:
    row = call_row("a")
    texts = [skipped_text(row, why) for why in Skip] + [no_answer_text(state) for state in QuestionState]
    beginnings = ("skipped: tool_a was not run", "no answer", "set aside")
    assert all(text.startswith(beginnings) for text in texts)
    assert "not repeated" in not_happened_text(row)


def fitting(draw: st.DrawFn, ids: list[str]) -> list[CallRecord]:
    """Rows for calls without results: planned, or started by any run."""
    states = st.sampled_from([PLANNED, STARTED])
    made = st.builds(call_row, st.just("?"), states, st.sampled_from(EffectClass), st.integers(0, 3))
    rows = [draw(made) for _ in ids]
    return [call_row(id, row.state, row.effect, row.generation) for id, row in zip(ids, rows, strict=True)]


@st.composite
def unsettled(draw: st.DrawFn) -> tuple[list[CallRecord], Journal]:
    rows = fitting(draw, draw(st.lists(st.sampled_from("abcd"), min_size=1, max_size=4, unique=True)))
    return rows, journal(*rows, questions=draw(journals).questions, generation=2)


@given(unsettled())
def test_calls_are_run_and_settled_only_as_their_class_and_state_allow(
    case: tuple[list[CallRecord], Journal],
) -> None:
    rows, seen = case
    by_id = {row.id: row for row in rows}
    entries = transcript([said(), replied("", *by_id)])
    found = next_step(view(entries), seen)
    assert isinstance(found, RunTools | Settle | WaitForPerson)
    if isinstance(found, RunTools):
        for to_run in found.calls:
            row = by_id[to_run.call.id]
            assert to_run.again == (row.state is STARTED)
            assert row.state is PLANNED or (row.effect in (READ, IDEMPOTENT) and row.generation < 2)
    if isinstance(found, Settle):
        for one in found.settlements:
            assert one.state in CALL.arrows[by_id[one.call].state]
            assert one.text
