"""Deciding about thousands at once decides about each as if it were the only one, but for the lane."""

from dataclasses import replace

from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.model import (
    RESUMABLE,
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
from holdfast.policy.recovery.outcome import Decision, Outcome
from holdfast.policy.settings import HOUR, MINUTE, RecoverySettings
from holdfast.recovery.facts import Outside, judge_stale
from holdfast.recovery.verdicts import Judging
from holdfast.store import InterruptedWork, StaleTurn

NOW = 1_000 * HOUR
SETTINGS = RecoverySettings()
ALIVE, DEAD, ME = InstanceId("alive"), InstanceId("dead"), InstanceId("me")
OUTSIDE = Outside(
    frozenset({ALIVE, ME}),
    frozenset({"web"}),
    frozenset({"web/a", "down/a"}),
    lambda person: person != "web:gone",
    me=ME,
    uptime=("here", 3 * HOUR),
    running=frozenset({TurnId("t2"), TurnId("t5")}),
)

PLAIN = InterruptedWork(
    suspended=False,
    stop=None,
    tail=Tail.WORK,
    question=None,
    asked=None,
    noted=0,
    strikes=1,
    interruptions=1,
    interruption="restart_interrupted",
    last_owner=DEAD,
    held=None,
    on_interruption=None,
    consented=False,
)


def stale(
    number: int, stands: InterruptedWork = PLAIN, sender: str = "ann", **of_its_own: object
) -> StaleTurn:
    chat = of_its_own.pop("chat", f"web/a/{number}")
    return StaleTurn(
        turn=TurnId(f"t{number}"),
        session=SessionId(f"s{number}"),
        key=Key(str(chat)),
        chat=ChatAddress(str(chat)),
        generation=1,
        incarnation=0,
        sender=PersonId(f"web:{sender}"),
        waiting_sender=None,
        message_id=None,
        progress_at=NOW - MINUTE - number,
        progress_mark=None,
        quarantined=0,
        silent_since=None,
        stands=stands,
    )._replace(**of_its_own)  # type: ignore[arg-type]


def one_by_one(page: list[StaleTurn], outside: Outside = OUTSIDE) -> dict[TurnId, Decision]:
    """What the table says of each; a suspect that goes on takes the lane."""
    decided = {}
    for one in page:
        decision = decided[one.turn] = judge_stale(one, NOW, outside, SETTINGS)
        if decision.outcome is Outcome.RESUME and one.stands.strikes >= SETTINGS.suspect_strikes:
            outside = replace(outside, lane_taken=True)
    return decided


def at_once(page: list[StaleTurn], outside: Outside = OUTSIDE) -> dict[TurnId, Decision]:
    decided: dict[TurnId, Decision] = {}
    judged = Judging(outside, SETTINGS, lambda chat: 4096, None, decided)(page, NOW, lambda turn: ())
    assert judged.go_on == [one for one in page if decided[one.turn].outcome is Outcome.RESUME]
    others = [(one, decided[one.turn]) for one in page if one not in judged.go_on]
    assert [(verdict.stale, verdict.decision) for verdict in judged.others] == others
    return decided


# Each differs from the plain one in one thing; where that thing decides, it must not be taken for its like.
STANDINGS = st.builds(
    InterruptedWork,
    suspended=st.sampled_from([False, False, False, True]),
    stop=st.sampled_from([None, None, None, StopKind.STOP]),
    tail=st.sampled_from([Tail.WORK, Tail.WORK, *Tail]),
    question=st.none() | st.sampled_from(QuestionState),
    asked=st.none() | st.sampled_from(QuestionKind),
    noted=st.integers(0, 1),
    strikes=st.sampled_from([0, 1, 1, 2, 2, 3]),
    interruptions=st.sampled_from([1, 1, 2, 8]),
    interruption=st.sampled_from([*sorted(RESUMABLE), "restored", "newer", None]),
    last_owner=st.sampled_from([DEAD, DEAD, ALIVE, ME, ME, None]),
    held=st.sampled_from([None, "quarantine"]),
    on_interruption=st.sampled_from([None, None, *OnInterruption]),
    consented=st.booleans(),
)
PAGES = st.lists(
    st.tuples(
        st.just(PLAIN) | STANDINGS,
        st.sampled_from(["ann", "bob", "gone"]),
        st.sampled_from([None, PersonId("web:ann"), PersonId("web:gone")]),
        st.sampled_from(["web/a/c", "web/a/d", "web/b/c", "down/a/c"]),
        st.sampled_from([NOW, NOW - MINUTE, NOW - 2 * HOUR, None]),
        st.sampled_from([0, 0, 2 * HOUR]),
        st.sampled_from([None, f"here:{3 * HOUR}", f"here:{2 * HOUR - 1}", "elsewhere:5"]),
    ),
    max_size=30,
).map(
    lambda rows: [
        stale(
            n,
            stands,
            sender,
            waiting_sender=waits,
            chat=chat,
            progress_at=at,
            quarantined=spent,
            progress_mark=mark,
        )
        for n, (stands, sender, waits, chat, at, spent, mark) in enumerate(rows)
    ]
)


OUTSIDES = st.builds(
    replace,
    st.just(OUTSIDE),
    safe_mode=st.sampled_from([False, False, True]),
    lane_taken=st.sampled_from([False, False, True]),
    on_interruption=st.sampled_from([OnInterruption.RESUME, OnInterruption.RESUME, *OnInterruption]),
)
MINE, SUSPECT = PLAIN._replace(last_owner=ME), PLAIN._replace(strikes=2)


@example(
    [stale(1), stale(2, PLAIN._replace(strikes=2)), stale(3, PLAIN._replace(strikes=2)), stale(4)], OUTSIDE
)
@example([stale(1), stale(2, progress_at=NOW - 2 * HOUR), stale(3, quarantined=2 * HOUR)], OUTSIDE)
@example([stale(1), stale(2, sender="gone"), stale(3, chat="down/a/c"), stale(4)], OUTSIDE)
@example([stale(1), stale(2, chat="web/b/c"), stale(3)], OUTSIDE)
@example([stale(1, MINE), stale(2, MINE), stale(3, MINE)], OUTSIDE)
@given(PAGES, OUTSIDES)
def test_many_are_decided_about_as_each_would_be_alone(page: list[StaleTurn], outside: Outside) -> None:
    alone, together = one_by_one(page, outside), at_once(page, outside)
    assert {turn: one.row.name for turn, one in together.items()} == {
        turn: one.row.name for turn, one in alone.items()
    }
    written_down = {turn for turn, one in alone.items() if one.outcome is not Outcome.RESUME}
    assert all(together[turn].facts == alone[turn].facts for turn in written_down)


def test_those_that_go_on_and_stand_alike_share_a_decision() -> None:
    first, second = at_once([stale(number, sender=f"p{number}") for number in (1, 2)]).values()
    assert first is second


def test_one_suspect_goes_and_the_next_waits_for_it() -> None:
    rows = [one.row.name for one in at_once([stale(n, SUSPECT) for n in range(3)]).values()]
    assert rows == ["resume", "quarantine", "quarantine"]


def test_who_is_let_in_while_a_page_is_judged_lets_nobody_else_in() -> None:
    let_in: set[PersonId] = set()

    def allowed(person: PersonId) -> bool:
        was = person in let_in
        let_in.add(PersonId("web:ann"))
        return was

    page = [stale(1, sender="ann"), stale(2, sender="bob"), stale(3, sender="ann"), stale(4, sender="bob")]
    found = at_once(page, replace(OUTSIDE, allowed=allowed))
    assert [one.row.name for one in found.values()] == ["not_allowed", "not_allowed", "resume", "not_allowed"]
