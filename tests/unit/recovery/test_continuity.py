"""What a start says it found, for the operator."""

import pytest

from holdfast.model import QuestionId, TurnId, TurnState
from holdfast.recovery.continuity import ContinuityReport, Fate, continuity_report, render
from holdfast.store import Continuity, ExpiredQuestion
from tests.support.judging import rule


def report(turns: int) -> ContinuityReport:
    fates = [
        Fate(TurnId(f"t{n}"), TurnState.RUNNING, None, "resume", "resume", "It goes on.")
        for n in range(turns)
    ]
    return ContinuityReport(9, "crashed", 1, 2, tuple(fates), (("resume", turns),), 4, 5, 6)


def test_it_says_how_the_last_run_ended_and_what_was_open() -> None:
    assert render(report(1)) == (
        "The last run recorded no end: a crash, a kill or a power cut.",
        "Turns found open: 1. Decided: resume 1.",
        "- t0, running: resume (resume): It goes on.",
        "Replies owed: 4; of unknown outcome: 5.",
        "Messages waiting: 6.",
    )


@pytest.mark.parametrize(("turns", "listed", "more"), [(20, 20, []), (23, 20, ["… and 3 more"])])
def test_a_long_list_is_cut_and_says_how_many_more_there_are(
    turns: int, listed: int, more: list[str]
) -> None:
    lines = render(report(turns))
    assert len([line for line in lines if line.startswith("- ")]) == listed
    assert [line for line in lines if line.startswith("…")] == more


def found(*turns: tuple[str, TurnState]) -> Continuity:
    return Continuity("crashed", 1, 2, tuple((TurnId(turn), state, None) for turn, state in turns), 0, 0, 0)


def test_it_says_of_work_that_nothing_was_decided_about_why_it_stays() -> None:
    there = found(("t1", TurnState.WAITING), ("t2", TurnState.QUEUED), ("t3", TurnState.INTERRUPTED))
    assert [(fate.became, fate.why) for fate in continuity_report(there, {}, {}, 9).fates] == [
        ("waiting", "it waits for an answer to its question"),
        ("queued", "it is in line and goes on"),
        ("interrupted", "nothing was decided yet"),
    ]


@pytest.mark.guards("R4.5", "R13")
@pytest.mark.parametrize(
    ("state", "became", "words"),
    [
        (TurnState.EXPIRED, "expire", "the work ended; /resume goes on with it"),
        (TurnState.CANCELLED, "cancel", "the work was dropped"),
        (TurnState.QUEUED, "queued", "counts as refused; it goes on"),
        (TurnState.RUNNING, "running", "its question expired"),
    ],
)
def test_it_says_what_became_of_work_whose_question_got_no_answer(
    state: TurnState, became: str, words: str
) -> None:
    turn = TurnId("t1")
    expired = ExpiredQuestion(QuestionId("q1"), turn, state, "unanswered")
    made = continuity_report(found((turn, TurnState.WAITING)), {}, {turn: expired}, 9)
    (fate,) = made.fates
    assert (fate.found, fate.became, fate.row) == (TurnState.WAITING, became, "unanswered")
    assert fate.why.endswith(words)
    assert made.counts == ((became, 1),)


def test_it_counts_what_was_decided_the_most_frequent_first_then_by_name() -> None:
    names = ("platform_down", "resume", "too_old", "resume", "quarantine", "too_old", "resume")
    decided = {TurnId(f"t{n}"): rule(name) for n, name in enumerate(names)}
    counts = continuity_report(found(), decided, {}, 9).counts
    assert counts == (("resume", 3), ("expire", 2), ("hold", 2))


def test_what_was_decided_about_a_turn_counts_for_more_than_that_its_question_expired() -> None:
    turn = TurnId("t1")
    there = Continuity("crashed", 1, 2, ((turn, TurnState.WAITING, "restart_timeout"),), 0, 0, 0)
    expired = ExpiredQuestion(QuestionId("q1"), turn, TurnState.QUEUED, "unanswered")
    made = continuity_report(there, {turn: rule("resume")}, {turn: expired}, 9)
    (fate,) = made.fates
    assert (fate.became, fate.row, fate.interruption) == ("resume", "resume", "restart_timeout")
    assert made.counts == (("resume", 1),)
