"""R5: every row of the table, every precedence between rows that can both fit, and what must never happen."""

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model import (
    RESUMABLE,
    TURN,
    OnInterruption,
    QuestionKind,
    QuestionState,
    StopKind,
    Tail,
    TurnState,
    advance,
)
from holdfast.model.states import SILENT
from holdfast.policy.recovery.outcome import LEADS_TO, Outcome, RecoveryFacts, after_silence, decide, table
from holdfast.policy.settings import HOUR, MINUTE, RecoverySettings

NOW = 1_800_000_000_000
SETTINGS = RecoverySettings()

RESUMES = RecoveryFacts(
    suspended=False,
    stop=None,
    sender_allowed=True,
    tail=Tail.WORK,
    question=None,
    asked=None,
    resume_ended_empty=False,
    strikes=1,
    interruptions=1,
    owner_alive=False,
    origin_known=True,
    platform_connected=True,
    reason="restart_interrupted",
    message_waiting=False,
    progress_at=NOW - MINUTE,
    quarantined_for=0,
    on_interruption=OnInterruption.RESUME,
    consented=False,
    safe_mode=False,
    lane_taken=False,
)

# The order of the rules, written down here a second time on purpose: swapping two rows must be noticed.
# For each row, what makes work fit it that would otherwise be resumed.
ROWS: dict[str, tuple[Outcome, bool, dict[str, Any]]] = {
    "suspended": (Outcome.PARK_WITH_SESSION, False, {"suspended": True}),
    "stop_asked": (Outcome.CANCEL, False, {"stop": StopKind.STOP}),
    "not_allowed": (Outcome.CANCEL, False, {"sender_allowed": False}),
    "restored": (Outcome.HOLD, False, {"reason": "restored"}),
    "answered": (Outcome.DONE, False, {"tail": Tail.ANSWER}),
    "resume_produced_nothing": (
        Outcome.EXPIRE,
        True,
        {"tail": Tail.NOTE, "resume_ended_empty": True},
    ),
    "question_open": (
        Outcome.WAIT,
        False,
        {"tail": Tail.QUESTION, "question": QuestionState.OPEN},
    ),
    "approval_expired": (
        Outcome.EXPIRE,
        True,
        {
            "tail": Tail.QUESTION,
            "question": QuestionState.EXPIRED,
            "asked": QuestionKind.APPROVAL,
            "progress_at": NOW - HOUR - 1,
        },
    ),
    "unanswered": (
        Outcome.EXPIRE,
        False,
        {"tail": Tail.QUESTION, "question": QuestionState.EXPIRED, "asked": QuestionKind.CLARIFY},
    ),
    "too_many_strikes": (Outcome.PARK, True, {"strikes": 3}),
    "too_many_interruptions": (Outcome.PARK, True, {"interruptions": 8}),
    "owner_alive": (Outcome.HOLD, False, {"owner_alive": True}),
    "reply_unknown": (Outcome.EXPIRE, True, {"tail": Tail.REPLYING}),
    "origin_unknown": (Outcome.HOLD, False, {"origin_known": False}),
    "platform_down": (Outcome.HOLD, False, {"platform_connected": False}),
    "unknown_reason": (Outcome.HOLD, False, {"reason": "moved_to_the_moon"}),
    "too_old": (Outcome.EXPIRE, True, {"progress_at": NOW - HOUR - 1}),
    "chat_says_never": (Outcome.EXPIRE, True, {"on_interruption": OnInterruption.NEVER}),
    "chat_says_ask": (Outcome.ASK, False, {"on_interruption": OnInterruption.ASK}),
    "safe_mode_suspect": (Outcome.ASK, False, {"safe_mode": True, "strikes": 2}),
    "safe_mode": (Outcome.HOLD, True, {"safe_mode": True}),
    "quarantine": (Outcome.HOLD, False, {"strikes": 2, "lane_taken": True}),
    "resume": (Outcome.RESUME, False, {}),
}

TAILS = {
    "answered",
    "resume_produced_nothing",
    "question_open",
    "approval_expired",
    "unanswered",
    "reply_unknown",
}
WITHIN_THE_WINDOW = ("owner_alive", "origin_unknown", "platform_down", "unknown_reason")
EXCLUSIVE = {frozenset(pair) for pair in combinations(TAILS, 2)} | {
    frozenset({"chat_says_never", "chat_says_ask"}),
    frozenset({"safe_mode", "quarantine"}),
    *(frozenset({held, old}) for held in WITHIN_THE_WINDOW for old in ("too_old", "approval_expired")),
}


def changed(**changes: Any) -> RecoveryFacts:
    return RESUMES._replace(**changes)


def decided(facts: RecoveryFacts, settings: RecoverySettings = SETTINGS) -> str:
    return decide(facts, NOW, settings).reason


def test_the_table_has_the_rows_of_the_rules_in_their_order() -> None:
    assert [row.name for row in table()] == list(ROWS)


@pytest.mark.parametrize("name", ROWS)
def test_each_row_decides_what_it_says(name: str) -> None:
    outcome, told, changes = ROWS[name]
    decision = decide(changed(**changes), NOW, SETTINGS)
    assert (decision.reason, decision.outcome, decision.told) == (name, outcome, told)
    assert decision.facts == changed(**changes)
    assert decision.row.sentence.endswith((".", "?")) and decision.row.found


@pytest.mark.parametrize(("first", "second"), list(combinations(ROWS, 2)))
def test_of_two_rows_that_fit_the_earlier_decides(first: str, second: str) -> None:
    facts = changed(**{**ROWS[second][2], **ROWS[first][2]})
    rows = {row.name: row for row in table()}
    old = facts.progress_at == NOW - HOUR - 1
    fitting = {name for name in (first, second) if rows[name].fits(facts, old, SETTINGS)}
    if frozenset({first, second}) in EXCLUSIVE:
        assert fitting != {first, second} or decided(facts) not in fitting
        return
    assert fitting == {first, second}
    assert decided(facts) == first


@pytest.mark.parametrize("held", WITHIN_THE_WINDOW)
def test_a_hold_ends_at_the_window(held: str) -> None:
    assert decided(changed(**ROWS[held][2], progress_at=NOW - HOUR)) == held
    assert decided(changed(**ROWS[held][2], progress_at=NOW - HOUR - 1)) == "too_old"
    assert decided(changed(**ROWS[held][2], progress_at=None)) == "too_old"


# Age


def test_work_exactly_as_old_as_the_window_is_resumed() -> None:
    assert decided(changed(progress_at=NOW - HOUR)) == "resume"


def test_work_without_a_readable_time_is_not_fresh() -> None:
    assert decided(changed(progress_at=None)) == "too_old"


def test_without_a_window_nothing_is_too_old() -> None:
    endless = RecoverySettings(window=0)
    assert decided(changed(progress_at=0), endless) == "resume"
    assert decided(changed(progress_at=None), endless) == "resume"
    assert decided(changed(progress_at=None, platform_connected=False), endless) == "platform_down"


def test_a_time_ahead_of_the_clock_expires_nothing() -> None:
    assert decided(changed(progress_at=NOW + 1000 * HOUR)) == "resume"


def test_time_in_the_quarantine_lane_is_not_counted() -> None:
    waited = changed(progress_at=NOW - 3 * HOUR, quarantined_for=2 * HOUR)
    assert decided(waited) == "resume"
    assert decided(waited._replace(quarantined_for=2 * HOUR - 1)) == "too_old"


# Reasons


@pytest.mark.parametrize("reason", [*sorted(RESUMABLE), None, ""])
def test_known_and_missing_reasons_resume_by_themselves(reason: str | None) -> None:
    assert decided(changed(reason=reason)) == "resume"


def test_an_unknown_reason_waits_for_a_message_or_a_continue() -> None:
    assert decided(changed(reason="newer")) == "unknown_reason"
    assert decided(changed(reason="newer", message_waiting=True)) == "resume"
    assert decided(changed(reason="newer", consented=True)) == "resume"


def test_what_a_restore_holds_waits_for_a_continue_alone_however_old_it_is() -> None:
    held = changed(reason="restored")
    for more in ({"message_waiting": True}, {"progress_at": None}, {"tail": Tail.ANSWER}, {"strikes": 3}):
        assert decided(held._replace(**more)) == "restored"
    assert decided(held._replace(consented=True)) == "resume"


# Tails


@pytest.mark.guards("R5", "R13")
@pytest.mark.parametrize("state", sorted(SILENT))
def test_an_approval_that_expired_within_the_window_lets_the_rows_below_decide(state: QuestionState) -> None:
    silent = changed(tail=Tail.QUESTION, question=state, asked=QuestionKind.APPROVAL, progress_at=NOW - HOUR)
    assert decided(silent) == "resume"
    assert decided(silent._replace(strikes=3)) == "too_many_strikes"
    assert decided(silent._replace(platform_connected=False)) == "platform_down"
    assert decided(silent._replace(progress_at=NOW - HOUR - 1)) == "approval_expired"


@pytest.mark.guards("R5", "R13")
def test_silence_ends_the_turn_of_a_question_and_that_of_an_approval_only_when_it_is_noticed_late() -> None:
    def after(kind: QuestionKind, since: int, settings: RecoverySettings = SETTINGS) -> str | None:
        row = after_silence(kind, since, NOW, settings)
        return None if row is None else row.name

    assert after(QuestionKind.CLARIFY, NOW) == after(QuestionKind.CLARIFY, NOW - 99 * HOUR) == "unanswered"
    assert after(QuestionKind.APPROVAL, NOW - HOUR) is None
    assert after(QuestionKind.APPROVAL, NOW - HOUR - 1) == "approval_expired"
    assert after(QuestionKind.APPROVAL, 0, RecoverySettings(window=0)) is None
    assert after(QuestionKind.CONTINUE, 0) is None


@pytest.mark.parametrize("tail", [Tail.NOTHING, Tail.MESSAGE, Tail.WORK, Tail.PARTIAL])
def test_unfinished_tails_are_resumed(tail: Tail) -> None:
    assert decided(changed(tail=tail)) == "resume"


def test_a_resume_that_was_itself_cut_off_is_tried_again() -> None:
    assert decided(changed(tail=Tail.NOTE, resume_ended_empty=False, interruptions=2)) == "resume"


@pytest.mark.parametrize(
    ("state", "row"),
    [
        (QuestionState.OPEN, "question_open"),
        (QuestionState.EXPIRED, "unanswered"),
        (QuestionState.UNDELIVERABLE, "unanswered"),
        (QuestionState.CANCELLED, "unanswered"),
        (None, "unanswered"),
        (QuestionState.ANSWERED, "resume"),
        (QuestionState.SET_ASIDE, "resume"),
    ],
)
def test_a_question_at_the_end_decides_by_how_it_stands(state: QuestionState | None, row: str) -> None:
    assert decided(changed(tail=Tail.QUESTION, question=state)) == row


@pytest.mark.parametrize(
    "else_true",
    [
        {},
        {"safe_mode": True, "strikes": 2},
        {"on_interruption": OnInterruption.ASK},
        {"on_interruption": OnInterruption.NEVER},
        {"progress_at": NOW - 2 * HOUR},
    ],
)
def test_work_that_a_limit_asks_about_waits_for_that_answer_and_for_no_other(
    else_true: dict[str, Any],
) -> None:
    facts = changed(tail=Tail.WORK, question=QuestionState.OPEN, asked=QuestionKind.CONTINUE, **else_true)
    assert decided(facts) == "question_open"


@pytest.mark.parametrize("stop", StopKind)
def test_every_kind_of_stop_cancels(stop: StopKind) -> None:
    assert decided(changed(stop=stop)) == "stop_asked"


# What a person's "continue" and a waiting message are worth


@pytest.mark.parametrize(
    "name",
    ["restored", "unknown_reason", "chat_says_never", "chat_says_ask", "safe_mode_suspect", "safe_mode"],
)
def test_a_continue_outranks_what_made_the_gateway_ask(name: str) -> None:
    assert decided(changed(**ROWS[name][2], consented=True)) == "resume"


_BEFORE = [name for name in list(ROWS)[: list(ROWS).index("unknown_reason")] if name != "restored"]


@pytest.mark.parametrize("name", [*_BEFORE, "too_old", "quarantine"])
def test_a_continue_outranks_nothing_else(name: str) -> None:
    assert decided(changed(**ROWS[name][2], consented=True)) == name


@pytest.mark.guards("R8.3")
def test_in_safe_mode_a_message_releases_the_work_unless_its_session_is_a_suspect() -> None:
    assert decided(changed(safe_mode=True)) == "safe_mode"
    assert decided(changed(safe_mode=True, message_waiting=True)) == "resume"
    for waits in (False, True):
        assert decided(changed(safe_mode=True, strikes=2, message_waiting=waits)) == "safe_mode_suspect"


def test_a_suspect_waits_for_the_lane_also_when_a_message_waits() -> None:
    suspect = changed(strikes=2, lane_taken=True, message_waiting=True)
    assert decided(suspect) == "quarantine"
    assert decided(suspect._replace(lane_taken=False)) == "resume"
    assert decided(suspect._replace(strikes=1)) == "resume"


def test_every_outcome_is_an_arrow_from_interrupted() -> None:
    for outcome, state in LEADS_TO.items():
        if outcome is not Outcome.HOLD:
            assert advance(TURN, TurnState.INTERRUPTED, state) == state
    assert set(LEADS_TO) == set(Outcome)


# Properties

TIMES = st.one_of(st.none(), st.integers(NOW - 3 * HOUR, NOW + 3 * HOUR))
FACTS = st.builds(
    RecoveryFacts,
    suspended=st.booleans(),
    stop=st.none() | st.sampled_from(StopKind),
    sender_allowed=st.booleans(),
    tail=st.sampled_from(Tail),
    question=st.none() | st.sampled_from(QuestionState),
    resume_ended_empty=st.booleans(),
    strikes=st.integers(0, 5),
    interruptions=st.integers(0, 10),
    owner_alive=st.booleans(),
    origin_known=st.booleans(),
    platform_connected=st.booleans(),
    reason=st.none() | st.sampled_from([*sorted(RESUMABLE), "newer", "restored", ""]),
    message_waiting=st.booleans(),
    progress_at=TIMES,
    quarantined_for=st.integers(0, 2 * HOUR),
    on_interruption=st.sampled_from(OnInterruption),
    consented=st.booleans(),
    safe_mode=st.booleans(),
    lane_taken=st.booleans(),
)
# Most random facts are stopped by the first rows; these come past them, to where the later rows decide.
LIVELY = FACTS.map(
    lambda f: f._replace(
        suspended=False,
        stop=None,
        sender_allowed=True,
        owner_alive=False,
        strikes=min(f.strikes, 2),
        interruptions=min(f.interruptions, 7),
        tail=f.tail if f.tail not in (Tail.ANSWER, Tail.QUESTION) else Tail.WORK,
    )
)
ANY = FACTS | LIVELY
POLICIES = st.builds(RecoverySettings, window=st.sampled_from([0, 1, HOUR]), strikes=st.integers(1, 4))


@given(ANY, POLICIES)
def test_decide_always_answers_and_always_the_same(facts: RecoveryFacts, settings: RecoverySettings) -> None:
    assert decide(facts, NOW, settings) == decide(facts, NOW, settings)


@given(ANY, POLICIES)
def test_what_may_not_run_is_never_resumed_nor_asked_about(
    facts: RecoveryFacts, settings: RecoverySettings
) -> None:
    if decide(facts, NOW, settings).outcome not in (Outcome.RESUME, Outcome.ASK):
        return
    assert not facts.suspended and facts.stop is None and facts.sender_allowed
    assert facts.tail is not Tail.ANSWER
    assert not (facts.tail is Tail.QUESTION and facts.question is QuestionState.OPEN)
    assert not facts.owner_alive and facts.origin_known and facts.platform_connected
    assert facts.strikes < settings.strikes and facts.interruptions < settings.interruptions
    if settings.window:
        assert facts.progress_at is not None
        assert NOW - facts.progress_at - facts.quarantined_for <= settings.window


@given(ANY, POLICIES)
def test_nothing_jumps_the_quarantine_lane(facts: RecoveryFacts, settings: RecoverySettings) -> None:
    waiting = facts._replace(lane_taken=True, strikes=max(2, facts.strikes))
    assert decide(waiting, NOW, settings).outcome is not Outcome.RESUME


@given(ANY)
def test_a_message_changes_only_an_unknown_reason_and_safe_mode(facts: RecoveryFacts) -> None:
    without = decided(facts._replace(message_waiting=False))
    if without not in ("unknown_reason", "safe_mode"):
        assert decided(facts._replace(message_waiting=True)) == without


@given(ANY)
def test_nothing_resumes_by_itself_in_safe_mode_or_where_the_chat_wants_to_be_asked(
    facts: RecoveryFacts,
) -> None:
    silent = facts._replace(consented=False, message_waiting=False)
    if silent.safe_mode or silent.on_interruption is not OnInterruption.RESUME:
        assert decide(silent, NOW, SETTINGS).outcome is not Outcome.RESUME


@given(ANY, st.integers(0, 10 * HOUR))
def test_getting_older_never_brings_work_back(facts: RecoveryFacts, later: int) -> None:
    if decided(facts) == "too_old":
        assert decide(facts, NOW + later, SETTINGS).reason == "too_old"
