"""The canonical scenarios do what they are named for, so that killing them means something."""

import re
from collections import Counter

import pytest

from holdfast.model import TurnId, answer_key
from holdfast.policy.settings import SECOND
from holdfast.testing import BadGateway, Options, Scenario, WorldOutcome, run_world
from tests.sim.scenarios import CANONICAL, SEED, SIXTY


def played(name: str) -> WorldOutcome:
    outcome = run_world(CANONICAL[name], Options(seed=SEED))
    assert outcome.violations == ()
    return outcome


def ends(outcome: WorldOutcome) -> Counter[str]:
    return Counter(turn.state for turn in outcome.history.ledger.turns)


@pytest.mark.guards("R8.1", "O8")
def test_of_five_the_one_that_kills_is_parked_after_three_and_the_others_are_done() -> None:
    outcome = played("one that kills among five")
    assert ends(outcome) == {"done": 4, "parked": 1}
    assert sum(asked.request.startswith("crash") for asked in outcome.history.asked) == 3


@pytest.mark.guards("R8.2", "O8")
def test_of_sixty_suspects_only_the_one_that_kills_is_parked_and_a_newcomer_does_not_wait() -> None:
    outcome = run_world(SIXTY, Options(seed=SEED))
    assert outcome.violations == ()
    assert ends(outcome) == {"done": 61, "parked": 1}
    assert "turn:running0=61" in outcome.deaths[0]
    assert "turn:running1=61" in outcome.deaths[1]
    answers = [shown for shown in outcome.history.shown if shown.key.startswith("answer:")]
    (newcomer,) = [place for place, shown in enumerate(answers) if shown.chat == "newcomer"]
    assert newcomer < len(answers) - 30, "it was answered while suspects stood in line"


def lost_for_long() -> list[Scenario]:
    """Scenarios in which a platform says nothing of use about what it is sent, for a while."""
    return [one for one in CANONICAL.values() if any(isinstance(act, BadGateway) for act in one.acts)]


@pytest.mark.guards("R10.3")
@pytest.mark.parametrize("scenario", lost_for_long(), ids=lambda scenario: scenario.name)
def test_a_world_whose_answers_are_lost_lasts_until_the_last_repeat_wherever_it_is_killed(
    scenario: Scenario,
) -> None:
    """A send that a kill cuts off may have arrived: it counts, and the next repeat may be hours away."""
    assert scenario.ends + scenario.settings.retry.age / SECOND < Options().most_seconds


@pytest.mark.guards("R10.1")
def test_a_long_reply_goes_out_in_parts() -> None:
    parts = Counter(line.dedupe for line in played("a reply of several parts").history.ledger.outbox)
    assert sorted(parts.values()) == [2, 5]


def test_what_is_sent_during_a_turn_steers_it() -> None:
    ledger = played("a queue of three that steers").history.ledger
    assert len(ledger.turns) == 1
    assert [row.turn for row in ledger.inbox if row.kind == "message"] == [ledger.turns[0].id] * 4


def test_in_a_drain_one_finishes_and_others_are_cut_and_go_on_later() -> None:
    outcome = played("a drain with one that finishes and one that does not")
    assert "turn:done0" in outcome.deaths[0]
    assert "turn:interrupted1" in outcome.deaths[0]
    assert ends(outcome) == {"done": 3}


def test_a_turn_claimed_and_not_begun_goes_back_unmarked() -> None:
    scenario = CANONICAL["a stop at once that meets a turn just claimed"]
    # Which of the two is first is the seed's choice; among these, both happen.
    outcomes = [run_world(scenario, Options(seed=seed)) for seed in range(1, 13)]
    assert all(outcome.violations == () and ends(outcome) == {"done": 2} for outcome in outcomes)
    assert any("turn:queued0=1" in outcome.deaths[0] for outcome in outcomes)


@pytest.mark.guards("R4.3", "C1", "C2")
def test_a_message_that_meets_a_resume_is_answered_in_the_resumed_turn() -> None:
    ledger = played("a resume that meets a new message").history.ledger
    first, second, *_ = ledger.inbox
    assert first.turn == second.turn
    answer = [line.text for line in ledger.outbox if line.dedupe == answer_key(TurnId(str(first.turn)))]
    assert answer == [f"answer to {first.text} | {second.text}"]


@pytest.mark.guards("R14")
def test_nothing_more_begins_for_somebody_let_out_and_what_they_wrote_before_is_refused() -> None:
    outcome = played("somebody let out in the middle of work, and in again")
    ledger = outcome.history.ledger
    assert [(turn.state, turn.why) for turn in ledger.turns] == [("cancelled", "not_allowed"), ("done", None)]
    assert {row.reason for row in ledger.inbox if row.state == "refused"} == {"not_allowed"}
    first, _ = ledger.turns
    assert sum(asked.turn == first.id for asked in outcome.history.asked) < 5, "all it would have taken"


@pytest.mark.guards("R5", "R10.3")
def test_what_is_too_old_is_left_offered_or_not_sent() -> None:
    left = played("work too old to go on").history.ledger.turns
    assert [(turn.state, turn.why) for turn in left] == [("expired", "too_old"), ("done", None)]
    offered, _ = played("a message too old to run").history.ledger.inbox
    assert (offered.state, offered.reason) == ("offered", "backlog")
    unsent, *_ = played("a reply too old to send").history.ledger.outbox
    assert (unsent.state, unsent.reason) == ("expired", "too_old")


@pytest.mark.guards("R4.2", "C20")
def test_resumes_that_hang_keep_no_other_waiting() -> None:
    outcome = played("two resumes that hang and one that does not")
    assert ends(outcome) == {"failed": 2, "done": 3}
    assert sorted(waited.waited // 1_000 for waited in outcome.history.waited)[-1] in (30, 31)


@pytest.mark.guards("R5")
def test_a_wall_clock_that_jumps_during_work_ages_nothing() -> None:
    outcome = played("a wall clock that jumps during work")
    assert ends(outcome) == {"done": 1}
    assert "turn:interrupted1" in outcome.deaths[0]


def test_a_parked_conversation_goes_on_when_asked_to() -> None:
    outcome = played("a resume after a park")
    assert ends(outcome) == {"parked": 1, "done": 2}
    assert len({turn.session for turn in outcome.history.ledger.turns}) == 1


@pytest.mark.guards("R5", "R10.1", "O4", "O11")
def test_an_answer_of_several_parts_that_was_complete_is_owed_by_recovery() -> None:
    outcome = played("an answer of several parts that recovery finds")
    (turn,) = outcome.history.ledger.turns
    assert (turn.state, turn.why) == ("done", "answered")
    assert len(outcome.history.asked) == 1, "no model is asked for it again"
    parts = [line for line in outcome.history.ledger.outbox if line.dedupe == answer_key(TurnId(turn.id))]
    assert len(parts) == 5


@pytest.mark.guards("R6.4", "R13")
@pytest.mark.parametrize(
    ("what", "end"),
    [
        ("told to continue", ("done", None)),
        ("told to drop it", ("cancelled", "dropped")),
        ("something else is said", ("cancelled", "dropped_by_other_message")),
        ("nobody answers", ("cancelled", "dropped_unanswered")),
    ],
)
def test_what_becomes_of_work_that_was_asked_about(what: str, end: tuple[str, str | None]) -> None:
    outcome = played(f"asked, and {what}")
    first, *rest = outcome.history.ledger.turns
    assert (first.state, first.why) == end
    assert {turn.state for turn in rest} == {"done"}
    questions = [line for line in outcome.history.ledger.outbox if line.kind == "question"]
    assert len(questions) == 1


@pytest.mark.guards("R20")
def test_what_is_forgotten_is_stopped_and_erased_and_what_was_written_after_it_is_answered() -> None:
    outcome = played("forgetting in the middle of work")
    assert ends(outcome) == {"done": 2, "cancelled": 1}
    ledger = outcome.history.ledger
    kept = [row.text for row in ledger.inbox if row.text]
    assert [text.split()[0] for text in kept] == ["/forget", "plain"]
    assert len({entry.session for entry in ledger.entries if entry.kind == "said"}) == 2


@pytest.mark.guards("R7.3", "R13")
@pytest.mark.parametrize(
    ("what", "ran", "end"),
    [
        ("given", 1, "done"),
        ("given by a button", 1, "done"),
        ("refused", 0, "done"),
        ("something else is said", 0, "done"),
        ("nobody answers", 0, "done"),
        ("given too late", 0, "done"),
        ("the work is stopped", 0, "cancelled"),
    ],
)
def test_what_needs_consent_happens_after_a_yes_and_only_then(what: str, ran: int, end: str) -> None:
    outcome = played(f"consent is needed, and {what}")
    effects = [one for one in outcome.history.ran if (one.tool, one.what) == ("effect", "happened")]
    assert len(effects) == ran
    first, *_ = outcome.history.ledger.turns
    assert first.state == end
    questions = [line for line in outcome.history.ledger.outbox if line.kind == "question"]
    assert len(questions) == 1


@pytest.mark.guards("R7.3")
def test_of_two_calls_that_need_consent_the_one_that_was_allowed_happens() -> None:
    history = played("consent is needed twice side by side").history
    assert sum((one.tool, one.what) == ("effect", "happened") for one in history.ran) == 1
    assert sum(line.kind == "question" for line in history.ledger.outbox) == 2


@pytest.mark.guards("R13")
def test_a_person_who_is_asked_holds_the_turn_until_they_answer() -> None:
    outcome = played("a person is asked")
    returned = [entry.body or "" for entry in outcome.history.ledger.entries if entry.kind == "returned"]
    assert "blue" in returned[0]
    assert set(ends(outcome)) == {"done"}


@pytest.mark.guards("R5", "R13")
def test_a_question_without_an_answer_ends_its_turn_and_the_next_message_is_answered() -> None:
    outcome = played("a person is asked and does not answer")
    history = outcome.history
    returned = [entry.body or "" for entry in history.ledger.entries if entry.kind == "returned"]
    assert "no answer: the person has not" in returned[0]
    assert ends(outcome) == {"expired": 1, "done": 1}
    first = history.ledger.turns[0]
    assert sum(asked.turn == first.id for asked in history.asked) == 1, "the model is not called again for it"


def woken(outcome: WorldOutcome) -> list[str]:
    """What has waked a conversation, without names."""
    return [re.sub(r"p?[0-9a-z]{12,}", "", one.event_id) for one in outcome.history.woken]


@pytest.mark.guards("R11.2")
@pytest.mark.parametrize(
    ("what", "wakes", "state"),
    [
        ("a background process", ["process::ended"], "exited"),
        ("a background process ends while nobody is there", ["process::ended"], "exited"),
        ("a background process ends while a turn runs", [], "exited"),
        ("a background process ends beside a message", ["process::ended"], "exited"),
        ("a background process says what is waited for", ["process::match:1", "process::ended"], "exited"),
        ("a background process is killed", [], "killed"),
        ("two background processes end", ["process::ended", "process::ended"], "exited"),
        ("a background process is lost with its machine", ["process::ended"], "lost"),
        ("a background process outlives its conversation", [], "exited"),
        ("a background process of work that is left", ["process::ended"], "exited"),
        ("a conversation with a background process is stopped and forgotten", [], "killed"),
    ],
)
def test_the_end_of_a_background_process_is_told_once_or_was_seen(
    what: str, wakes: list[str], state: str
) -> None:
    outcome = played(what)
    assert woken(outcome) == wakes
    assert {process.state for process in outcome.history.ledger.processes} == {state}


@pytest.mark.guards("R17")
@pytest.mark.parametrize(
    ("what", "turns", "state"),
    [
        ("a goal that is reached", 2, "done"),
        ("a goal that cannot be reached", 2, "blocked"),
        ("a goal whose turns are used", 3, "spent"),
        ("a goal whose answer recovery finds", 3, "spent"),
        ("a goal, and somebody writes", 1, "stopped"),
        ("a goal is stopped", 1, "stopped"),
    ],
)
def test_a_goal_goes_on_by_itself_until_it_is_over(what: str, turns: int, state: str) -> None:
    outcome = played(what)
    assert len(woken(outcome)) == turns
    assert [goal.state for goal in outcome.history.ledger.goals] == [state]


def test_what_is_more_than_a_model_can_read_is_summed_up_or_shortened() -> None:
    outcome = played("more than a model can read")
    assert set(ends(outcome)) == {"done"}
    assert sum(entry.kind == "summed" for entry in outcome.history.ledger.entries) > 0
    alone = played("more than a model can read in one turn")
    assert set(ends(alone)) == {"done"}
    assert any("left out here" in message.text for asked in alone.history.asked for message in asked.messages)


@pytest.mark.guards("R13", "R14")
def test_in_a_shared_topic_only_the_person_asked_says_whether_to_go_on() -> None:
    ledger = played("in a shared topic, another says whether to go on").history.ledger
    (question,) = ledger.questions
    by = next(row for row in ledger.inbox if row.position == question.by)
    assert (question.answer, by.sender) == ("continue", "strong:ann")
    (resume,) = [row for row in ledger.inbox if row.text == "/resume"]
    assert (resume.state, resume.reason) == ("refused", "waiting")


@pytest.mark.guards("R14", "R18")
def test_a_limit_is_lifted_by_an_owner_and_by_no_bystander() -> None:
    ledger = played("in a shared topic, another lifts a limit").history.ledger
    rows = {row.position: row for row in ledger.inbox}
    lifted = [rows[one.by or 0] for one in ledger.questions if one.answer == "continue"]
    assert [(row.text, row.sender) for row in lifted] == [("/resume", "strong:person-a")]
    assert [row.reason for row in ledger.inbox if row.sender == "strong:bob"][0] == "not_asked"


@pytest.mark.guards("R14")
def test_only_the_person_asked_allows_a_call() -> None:
    ledger = played("in a shared topic, another allows a call").history.ledger
    rows = {row.position: row for row in ledger.inbox}
    assert [rows[one.by or 0].sender for one in ledger.questions] == ["strong:ann"]


@pytest.mark.guards("R22.5")
@pytest.mark.parametrize(
    ("what", "answers", "ran"),
    [
        ("allows it", ["yes"], 1),
        ("refuses", ["no"], 0),
        ("says yes beside it", [None], 0),
        ("another allows it", ["yes"], 1),
        ("the work is stopped", [None], 0),
        ("dies before the answer", ["yes"], 1),
    ],
)
def test_an_owner_decides_over_the_effects_of_others(what: str, answers: list[str | None], ran: int) -> None:
    history = played(f"an owner is asked, and {what}").history
    asked = history.ledger.questions
    assert [one.answer for one in asked] == answers and all(one.of_owner for one in asked)
    rows = {row.position: row for row in history.ledger.inbox}
    assert {rows[one.by].sender for one in asked if one.by} <= {"strong:person-a"}
    assert sum(one.what == "begun" for one in history.ran) == ran


@pytest.mark.guards("R10.1")
def test_what_replies_to_a_message_that_was_taken_back_goes_out_without_that() -> None:
    history = played("what is replied to was taken back").history
    assert len(history.gone) == 2
    parts = [shown for shown in history.shown if shown.platform == "asked"]
    assert len(parts) > 2
    assert any(shown.reply_to is None for shown in parts)
