"""The facts recovery decides on are put together in one place, each from where it stands."""

from holdfast.model import (
    ChatAddress,
    InstanceId,
    Key,
    OnInterruption,
    PersonId,
    QuestionState,
    SessionId,
    StopKind,
    Tail,
    TurnId,
)
from holdfast.policy.recovery import RecoveryFacts
from holdfast.recovery import Outside
from holdfast.recovery.facts import facts_of, true_now
from holdfast.store import StaleTurn, Standing

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
    quarantined=14,
    stands=Standing(
        suspended=True,
        stop=StopKind.NEW,
        tail=Tail.NOTE,
        question=QuestionState.EXPIRED,
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
    lambda person: person != "web:gone",
    safe_mode=True,
    lane_taken=True,
)


def facts_now(stale: StaleTurn, outside: Outside) -> RecoveryFacts:
    return facts_of(stale, outside, true_now(stale, outside))


def test_every_fact_comes_from_where_it_stands() -> None:
    assert facts_now(STALE, OUTSIDE) == RecoveryFacts(
        suspended=True,
        stop=StopKind.NEW,
        sender_allowed=False,
        tail=Tail.NOTE,
        question=QuestionState.EXPIRED,
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


def test_whoever_cannot_be_checked_is_not_allowed() -> None:
    def fails(person: PersonId) -> bool:
        raise OSError("the list is gone")

    facts = facts_now(STALE, Outside(OUTSIDE.alive, OUTSIDE.connected, fails))
    assert (facts.sender_allowed, facts.message_waiting) == (False, False)


def test_each_fact_that_is_not_so_is_told_as_well() -> None:
    stands = STALE.stands._replace(
        suspended=False, stop=None, tail=Tail.WORK, question=None, on_interruption=None, consented=False
    )
    plain = STALE._replace(stands=stands)
    facts = facts_now(plain._replace(waiting_sender=None), Outside(frozenset(), frozenset(), lambda _: True))
    assert (facts.suspended, facts.stop, facts.sender_allowed, facts.tail) == (False, None, True, Tail.WORK)
    assert (facts.question, facts.resume_ended_empty, facts.owner_alive) == (None, False, False)
    assert (facts.platform_connected, facts.message_waiting, facts.consented) == (False, False, False)
    assert (facts.on_interruption, facts.safe_mode, facts.lane_taken) == (OnInterruption.RESUME, False, False)
