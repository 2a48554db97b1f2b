"""R9, R13: what becomes of an arriving row, and words that are true of it."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model import (
    BusyMode,
    InboxKind,
    PersonId,
    QuestionId,
    QuestionKind,
    QuestionRecord,
    QuestionState,
    TurnState,
)
from holdfast.policy.intake.admission import (
    Admission,
    Answer,
    ArrivalFacts,
    Collect,
    Drain,
    DropWork,
    Execute,
    Interrupt,
    Offer,
    Queue,
    Refusal,
    Refuse,
    SetAsideQuestion,
    Steer,
    admit,
    question_for,
)
from holdfast.policy.intake.parse_input import Command
from holdfast.policy.settings import DAY, HOUR, MINUTE, SECOND, QueueSettings

NOW = 1_800_000_000_000
SETTINGS = QueueSettings()
ANN, BEN = PersonId("web:ann"), PersonId("web:ben")

IDLE = ArrivalFacts(InboxKind.MESSAGE, ANN, "hello", NOW, None, BusyMode.QUEUE, 0)
BUSY = replace(IDLE, turn=TurnState.RUNNING)


def asked(kind: QuestionKind, *options: str) -> ArrivalFacts:
    """Ann is asked something, and somebody writes."""
    question = QuestionRecord(
        QuestionId("q1"), kind, None, QuestionState.OPEN, "Which one?", options, ANN, NOW + HOUR
    )
    return replace(IDLE, turn=TurnState.WAITING, question=question, asked_at=NOW - MINUTE)


CHOICE = asked(QuestionKind.CLARIFY, "red", "blue")
CONTINUE = asked(QuestionKind.CONTINUE)


def admitted(facts: ArrivalFacts) -> Admission:
    return admit(facts, NOW, SETTINGS)


@pytest.mark.guards("R9.3")
def test_a_message_that_joins_a_resumed_turn_is_told_just_that() -> None:
    cut = replace(IDLE, turn=TurnState.QUEUED, joins=True)
    assert admitted(cut).ack == (
        "Kept. I am resuming the interrupted work here, and answer this in the same turn."
    )
    undecided = admitted(replace(cut, turn=TurnState.INTERRUPTED)).ack
    assert "If it resumes, I answer this in the same turn" in str(undecided)
    assert "Queued" in str(admitted(replace(cut, joins=False)).ack), (
        "another message joins it, this one waits"
    )


@pytest.mark.guards("R9.3", "R16")
@pytest.mark.parametrize("turn", [None, TurnState.QUEUED, TurnState.INTERRUPTED])
def test_where_the_last_claim_failed_nobody_is_told_queued(turn: TurnState | None) -> None:
    words = str(admitted(replace(IDLE, turn=turn, faulty=True, joins=True)).ack)
    assert "Queued" not in words and "an error stopped me" in words


def test_an_idle_chat_takes_a_message_without_a_word() -> None:
    assert admitted(IDLE) == Queue(None)


@pytest.mark.parametrize(
    ("mode", "kind", "said"),
    [
        (BusyMode.QUEUE, Queue, "Queued"),
        (BusyMode.COLLECT, Collect, "together with the other"),
        (BusyMode.STEER, Steer, "next step"),
        (BusyMode.INTERRUPT, Interrupt, "stop"),
    ],
)
def test_the_busy_mode_decides_while_a_turn_runs(mode: BusyMode, kind: type, said: str) -> None:
    found = admitted(replace(BUSY, busy=mode))
    assert isinstance(found, kind)
    assert found.ack is not None and said in found.ack


@pytest.mark.parametrize("state", [TurnState.QUEUED, TurnState.INTERRUPTED, TurnState.WAITING])
@pytest.mark.parametrize("mode", BusyMode)
def test_what_does_not_run_is_neither_steered_nor_interrupted(state: TurnState, mode: BusyMode) -> None:
    found = admitted(replace(BUSY, turn=state, busy=mode))
    assert isinstance(found, Collect if mode is BusyMode.COLLECT else Queue)
    assert found.ack is not None and "comes first" in found.ack


@pytest.mark.parametrize(
    "facts", [IDLE, BUSY, CHOICE, replace(BUSY, waiting=50), replace(IDLE, draining=Drain.RESTART)]
)
def test_a_command_bypasses_the_queue(facts: ArrivalFacts) -> None:
    command = replace(facts, kind=InboxKind.COMMAND, text="/stop")
    assert admitted(command) == Execute(Command("stop", ""))


def test_a_command_nobody_can_read_is_refused() -> None:
    found = admitted(replace(IDLE, kind=InboxKind.COMMAND, text="stop"))
    assert isinstance(found, Refuse) and found.reason is Refusal.NOT_A_COMMAND


@pytest.mark.parametrize("kind", [InboxKind.WAKEUP, InboxKind.OPERATOR])
@pytest.mark.parametrize("mode", BusyMode)
def test_wakeups_and_requests_wait_silently_and_are_never_refused(kind: InboxKind, mode: BusyMode) -> None:
    crowded = replace(BUSY, kind=kind, busy=mode, waiting=1000, sent_at=NOW - 3 * DAY)
    assert admitted(crowded) == Queue(None)


def test_a_wakeup_answers_no_question() -> None:
    assert admitted(replace(CHOICE, kind=InboxKind.WAKEUP, text="red")) == Queue(None)


# Limits


@pytest.mark.parametrize("mode", BusyMode)
@pytest.mark.parametrize("draining", [None, *Drain])
def test_a_full_queue_refuses_visibly(mode: BusyMode, draining: Drain | None) -> None:
    full = replace(BUSY, busy=mode, waiting=SETTINGS.most, draining=draining)
    found = admitted(full)
    assert isinstance(found, Refuse) and found.reason is Refusal.QUEUE_FULL
    assert "Not taken" in found.ack and "50" in found.ack
    assert not isinstance(admitted(replace(full, waiting=SETTINGS.most - 1)), Refuse)


def test_a_message_older_than_the_backlog_is_offered_not_run() -> None:
    assert isinstance(admitted(replace(IDLE, sent_at=NOW - DAY - 1)), Offer)
    assert admitted(replace(IDLE, sent_at=NOW - DAY)) == Queue(None)


def test_an_old_command_is_offered_too() -> None:
    assert isinstance(admitted(replace(IDLE, kind=InboxKind.COMMAND, text="/stop", sent_at=0)), Offer)


def test_a_message_without_a_time_or_ahead_of_the_clock_is_not_old() -> None:
    assert admitted(replace(IDLE, sent_at=None)) == Queue(None)
    assert admitted(replace(IDLE, sent_at=NOW + DAY)) == Queue(None)


@pytest.mark.parametrize(("drain", "said"), [(Drain.RESTART, "restart"), (Drain.SHUTDOWN, "runs again")])
@pytest.mark.parametrize("mode", BusyMode)
@pytest.mark.parametrize("turn", [None, TurnState.RUNNING])
def test_a_message_during_a_drain_is_kept_and_said_so(
    drain: Drain, said: str, mode: BusyMode, turn: TurnState | None
) -> None:
    found = admitted(replace(IDLE, turn=turn, busy=mode, draining=drain))
    steers = turn is not None and mode is BusyMode.STEER
    assert isinstance(found, Steer if steers else Queue) and found.ack is not None
    assert "kept" in found.ack and said in found.ack
    assert ("at the next step of the current task, or" in found.ack) is steers, "what runs is steered still"


# Questions


@pytest.mark.parametrize(("text", "value"), [("red", "red"), ("2", "blue")])
def test_a_fitting_message_of_the_person_asked_is_the_answer(text: str, value: str) -> None:
    assert admitted(replace(CHOICE, text=text)) == Answer(QuestionId("q1"), value)


def test_an_answer_is_taken_while_the_turn_still_runs_and_the_queue_is_full() -> None:
    facts = replace(CHOICE, text="red", turn=TurnState.RUNNING, waiting=50)
    assert admitted(facts) == Answer(QuestionId("q1"), "red")


def test_any_text_answers_a_free_question() -> None:
    facts = replace(asked(QuestionKind.CLARIFY), text="the one on the left")
    assert admitted(facts) == Answer(QuestionId("q1"), "the one on the left")


@pytest.mark.parametrize("kind", [QuestionKind.CLARIFY, QuestionKind.APPROVAL])
def test_something_else_sets_the_question_aside(kind: QuestionKind) -> None:
    facts = replace(asked(kind, "red", "blue"), text="forget that, what time is it?")
    assert admitted(facts) == SetAsideQuestion(QuestionId("q1"))


def test_something_else_drops_the_work_the_gateway_asked_about() -> None:
    found = admitted(replace(CONTINUE, text="what time is it?"))
    assert isinstance(found, DropWork) and "dropped the work" in found.ack
    assert admitted(replace(CONTINUE, text="continue")) == Answer(QuestionId("q1"), "continue")


def test_a_message_that_finds_no_room_drops_no_work() -> None:
    found = admitted(replace(CONTINUE, text="what time is it?", waiting=50))
    assert isinstance(found, Refuse) and found.reason is Refusal.QUEUE_FULL


@pytest.mark.parametrize("mode", BusyMode)
@pytest.mark.parametrize("turn", [TurnState.RUNNING, TurnState.WAITING])
def test_others_queue_and_are_told_what_is_waited_for(mode: BusyMode, turn: TurnState) -> None:
    found = admitted(replace(CHOICE, sender=BEN, text="red", busy=mode, turn=turn))
    assert isinstance(found, Collect if mode is BusyMode.COLLECT else Queue)
    assert found.ack is not None and "Which one?" in found.ack


def test_a_question_to_nobody_in_particular_is_answered_by_anybody() -> None:
    assert CHOICE.question is not None
    everybody = replace(CHOICE, question=replace(CHOICE.question, asked_of=None), sender=BEN, text="red")
    assert admitted(everybody) == Answer(QuestionId("q1"), "red")


@pytest.mark.parametrize("facts", [CHOICE, CONTINUE])
def test_a_message_sent_before_the_question_is_not_about_it(facts: ArrivalFacts) -> None:
    early = replace(facts, sent_at=NOW - 2 * MINUTE)
    for text in ("1", "something else"):
        assert isinstance(admitted(replace(early, text=text)), Queue)


def test_a_platform_clock_a_little_behind_does_not_lose_an_answer() -> None:
    quick = replace(CHOICE, text="red", sent_at=NOW - MINUTE - 3 * SECOND)
    assert admitted(quick) == Answer(QuestionId("q1"), "red")


def test_a_question_whose_time_is_up_takes_no_answer() -> None:
    assert CHOICE.question is not None
    late = replace(CHOICE, question=replace(CHOICE.question, expires_at=NOW), text="red")
    assert isinstance(admitted(late), Queue)
    pressed = admitted(replace(late, pressed=QuestionId("q1")))
    assert isinstance(pressed, Refuse) and pressed.reason is Refusal.QUESTION_CLOSED


# Buttons


def test_a_button_answers_its_own_question_only() -> None:
    press = replace(CHOICE, text="red", pressed=QuestionId("q1"))
    assert admitted(press) == Answer(QuestionId("q1"), "red")
    for closed in (replace(press, pressed=QuestionId("q0")), replace(press, question=None)):
        found = admitted(closed)
        assert isinstance(found, Refuse) and found.reason is Refusal.QUESTION_CLOSED


def test_a_button_of_a_closed_question_answers_nothing() -> None:
    assert CHOICE.question is not None
    answered = replace(CHOICE.question, state=QuestionState.ANSWERED)
    found = admitted(replace(CHOICE, question=answered, text="red", pressed=QuestionId("q1")))
    assert isinstance(found, Refuse) and "closed" in found.ack


@pytest.mark.guards("R13", "F13")
@pytest.mark.parametrize(
    ("closed", "words"),
    [
        (QuestionState.ANSWERED, "That question already has an answer"),
        (QuestionState.EXPIRED, "That question has expired"),
        (QuestionState.SET_ASIDE, "Another message set that question aside"),
        (QuestionState.CANCELLED, "The work that asked this was stopped"),
        (None, "That question is closed"),
    ],
)
def test_who_presses_too_late_reads_how_it_was_closed(closed: QuestionState | None, words: str) -> None:
    found = admitted(replace(CHOICE, question=None, text="red", pressed=QuestionId("q1"), closed=closed))
    assert found == Refuse(Refusal.QUESTION_CLOSED, f"{words}, so I did nothing with this answer.")


def test_a_button_pressed_by_somebody_else_does_nothing() -> None:
    found = admitted(replace(CHOICE, sender=BEN, text="red", pressed=QuestionId("q1")))
    assert isinstance(found, Refuse) and found.reason is Refusal.NOT_ASKED


def test_a_button_that_is_no_longer_offered_sets_nothing_aside() -> None:
    found = admitted(replace(CHOICE, text="green", pressed=QuestionId("q1")))
    assert isinstance(found, Refuse)


def test_an_answer_during_a_drain_is_said_to_come_after_it() -> None:
    found = admitted(replace(CHOICE, text="red", draining=Drain.RESTART))
    assert isinstance(found, Answer) and found.ack is not None and "restart" in found.ack


@given(
    st.builds(
        ArrivalFacts,
        kind=st.sampled_from(InboxKind),
        sender=st.sampled_from([ANN, BEN]),
        text=st.sampled_from(["hello", "red", "1", "yes", "continue", "/stop", ""]),
        sent_at=st.none() | st.integers(NOW - 2 * DAY, NOW + DAY),
        turn=st.none()
        | st.sampled_from([TurnState.RUNNING, TurnState.WAITING, TurnState.QUEUED, TurnState.INTERRUPTED]),
        busy=st.sampled_from(BusyMode),
        waiting=st.integers(0, 60),
        question=st.none() | st.sampled_from([CHOICE.question, CONTINUE.question]),
        asked_at=st.none() | st.just(NOW - MINUTE),
        pressed=st.none() | st.sampled_from([QuestionId("q0"), QuestionId("q1")]),
        draining=st.none() | st.sampled_from(Drain),
    )
)
def test_every_arrival_has_one_outcome_and_only_taken_rows_are_called_queued(facts: ArrivalFacts) -> None:
    found = admitted(facts)
    if found.ack is not None and "Queued" in found.ack:
        assert isinstance(found, Queue | Collect)
    if isinstance(found, Answer):
        assert facts.sender == ANN
    if isinstance(found, Interrupt | Steer):
        assert facts.turn is TurnState.RUNNING
        assert facts.draining is None or isinstance(found, Steer)


def test_a_question_to_everybody_is_found_before_one_that_somebody_else_was_asked() -> None:
    def asked(id: str, of: PersonId | None) -> QuestionRecord:
        return QuestionRecord(
            QuestionId(id), QuestionKind.CLARIFY, None, QuestionState.OPEN, options=("yes", "no"), asked_of=of
        )

    bens, everybodys = asked("q1", BEN), asked("q2", None)
    for text in ("yes", "something else"):
        assert question_for((bens, everybodys), ANN, text) is everybodys
    assert question_for((bens,), ANN, "yes") is bens, "to learn what is waited for"
