"""The facts recovery decides on are put together in one place, each from where it stands."""

from dataclasses import replace

import pytest

from holdfast.model import (
    ChatAddress,
    InstanceId,
    Key,
    OnInterruption,
    PersonId,
    QuestionKind,
    QuestionState,
    SessionId,
    StopKind,
    Tail,
    TurnId,
)
from holdfast.policy.recovery.outcome import RecoveryFacts
from holdfast.recovery import Outside
from holdfast.recovery.facts import counts_from, facts_of, progressed_at, true_now
from holdfast.store import InterruptedWork, StaleTurn

NOW = 1_000_000
STALE = StaleTurn(
    turn=TurnId("t"),
    session=SessionId("s"),
    key=Key("web/a/c"),
    chat=ChatAddress("web/a/c"),
    generation=11,
    incarnation=12,
    sender=PersonId("web:gone"),
    waiting_sender=PersonId("web:ann"),
    message_id=None,
    progress_at=13,
    progress_mark="run-1:1000",
    quarantined=14,
    silent_since=15,
    stands=InterruptedWork(
        suspended=True,
        stop=StopKind.NEW,
        tail=Tail.NOTE,
        question=QuestionState.EXPIRED,
        asked=QuestionKind.APPROVAL,
        noted=5,
        strikes=4,
        interruptions=5,
        interruption="why",
        last_owner=InstanceId("alive"),
        held=None,
        on_interruption=OnInterruption.ASK,
        consented=True,
    ),
)
OUTSIDE = Outside(
    frozenset({InstanceId("alive")}),
    frozenset({"web"}),
    frozenset({"web/a"}),
    lambda person: person != "web:gone",
    safe_mode=True,
    lane_taken=True,
)


def facts_now(stale: StaleTurn, outside: Outside) -> RecoveryFacts:
    return facts_of(stale, outside, true_now(stale, outside), counts_from(stale, outside, NOW))


def test_every_fact_comes_from_where_it_stands() -> None:
    assert facts_now(STALE, OUTSIDE) == RecoveryFacts(
        suspended=True,
        stop=StopKind.NEW,
        sender_allowed=False,
        tail=Tail.NOTE,
        question=QuestionState.EXPIRED,
        asked=QuestionKind.APPROVAL,
        resume_ended_empty=True,
        strikes=4,
        interruptions=5,
        owner_alive=True,
        origin_known=True,
        platform_connected=True,
        reason="why",
        message_waiting=True,
        progress_at=13,
        quarantined_for=14,
        on_interruption=OnInterruption.ASK,
        consented=True,
        safe_mode=True,
        lane_taken=True,
    )


def test_the_age_of_work_that_only_waits_for_an_expired_approval_counts_from_its_expiry() -> None:
    def counts(stands: InterruptedWork, **more: int | None) -> int | None:
        return counts_from(STALE._replace(stands=stands, **more), OUTSIDE, NOW)  # type: ignore[arg-type]

    silent = STALE.stands._replace(tail=Tail.QUESTION)
    assert counts(silent) == 15
    assert counts(silent, silent_since=12) == 13, "never older than its progress"
    assert counts(silent, silent_since=None) == 13
    assert counts(silent._replace(question=QuestionState.OPEN)) == 13
    assert counts(silent._replace(asked=QuestionKind.CLARIFY)) == 13
    assert counts(silent._replace(tail=Tail.WORK)) == 13


def test_whoever_cannot_be_checked_is_not_allowed() -> None:
    def fails(person: PersonId) -> bool:
        raise OSError("the list is gone")

    facts = facts_now(STALE, Outside(OUTSIDE.alive, OUTSIDE.connected, OUTSIDE.served, fails))
    assert (facts.sender_allowed, facts.message_waiting) == (False, False)


def test_each_fact_that_is_not_so_is_told_as_well() -> None:
    stands = STALE.stands._replace(
        suspended=False, stop=None, tail=Tail.WORK, question=None, on_interruption=None, consented=False
    )
    plain = STALE._replace(stands=stands)
    nothing = Outside(frozenset(), frozenset(), frozenset(), lambda _: True)
    facts = facts_now(plain._replace(waiting_sender=None), nothing)
    assert (facts.suspended, facts.stop, facts.sender_allowed, facts.tail) == (False, None, True, Tail.WORK)
    assert (facts.question, facts.resume_ended_empty, facts.owner_alive) == (None, False, False)
    assert (facts.origin_known, facts.platform_connected) == (False, False)
    assert (facts.message_waiting, facts.consented) == (False, False)
    assert (facts.on_interruption, facts.safe_mode, facts.lane_taken) == (OnInterruption.RESUME, False, False)


@pytest.mark.guards("R5")
def test_age_is_measured_on_the_machines_own_clock_while_it_is_the_same_run() -> None:
    """Whatever the wall clock says: it may have been set since the turn last progressed."""
    for now in (NOW, NOW + 7_200_000, NOW - 7_200_000):
        assert progressed_at(STALE, replace(OUTSIDE, uptime=("run-1", 1_250)), now) == now - 250
        assert progressed_at(STALE, replace(OUTSIDE, uptime=("run-2", 1_250)), now) == STALE.progress_at


@pytest.mark.guards("R1.5", "R5")
@pytest.mark.parametrize(
    "damaged", [None, "", "run-1", "run-1:", "run-1:-5", "run-1:a word", "run-1:9999", ":"]
)
def test_a_mark_that_cannot_be_read_leaves_the_wall_clock(damaged: str | None) -> None:
    stale = STALE._replace(progress_mark=damaged)
    assert progressed_at(stale, replace(OUTSIDE, uptime=("run-1", 1_250)), NOW) == STALE.progress_at
