"""Which session a message belongs to: the same one, unless there is a reason that can be named."""

import pytest

from holdfast.model import Began, InboxKind, OwedKind, StopKind, TurnState
from holdfast.policy.settings import DAY, HOUR, MINUTE, ResetSettings
from tests.support.ledger import Ledger, key

IDLE = ResetSettings(idle=HOUR)
DAILY = ResetSettings(daily_at=4 * HOUR)


async def told(ledger: Ledger) -> list[str]:
    return [sent.text for sent in await ledger.outbox() if sent.kind is OwedKind.NOTICE]


async def test_the_first_message_begins_a_session_and_nobody_is_told(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    assert (claimed.fresh, claimed.session.began, claimed.session.began_at) == (
        True,
        Began.FIRST,
        ledger.clock.now(),
    )
    assert await ledger.store.live_session(key()) == claimed.session
    assert await told(ledger) == []


async def test_the_next_message_goes_on_in_the_same_session(ledger: Ledger) -> None:
    first = await ledger.complete()
    ledger.clock.advance(400 * DAY)
    await ledger.crash()
    second = await ledger.complete("later")
    assert (second.session.id, second.fresh) == (first.session.id, False)
    assert [entry.seq for entry in await ledger.store.transcript(first.session.id)] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("reset", "passes", "began"),
    [
        (ResetSettings(), 400 * DAY, None),
        (IDLE, HOUR, None),
        (IDLE, HOUR + 1, Began.IDLE),
        (DAILY, MINUTE, None),
        (DAILY, DAY, Began.DAILY),
    ],
)
async def test_the_reset_policy_alone_decides_by_the_last_completed_turn(
    ledger: Ledger, reset: ResetSettings, passes: int, began: Began | None
) -> None:
    first = await ledger.complete()
    ledger.clock.advance(passes)
    await ledger.say("later")
    second = await ledger.claim(reset=reset)
    if began is None:
        assert (second.session.id, second.fresh) == (first.session.id, False)
        assert await told(ledger) == []
        return
    assert (second.session.began, second.fresh) == (began, True)
    assert len(await told(ledger)) == 1
    old = await ledger.store.session(first.session.id)
    assert (old.ended_at, old.ended_why) == (ledger.clock.now(), began)
    assert old.incarnation == first.session.incarnation + 1
    assert old.generation == first.session.generation + 1


async def test_a_session_without_a_completed_turn_is_not_reset(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.finish(claimed.fence, TurnState.FAILED)
    ledger.clock.advance(2 * DAY)
    await ledger.say()
    assert (await ledger.claim(reset=IDLE)).session.id == claimed.session.id


async def test_unfinished_work_keeps_its_session_whatever_the_reset_policy_says(ledger: Ledger) -> None:
    await ledger.complete()
    claimed = await ledger.begin()
    await ledger.recover()
    ledger.clock.advance(2 * DAY)
    await ledger.word("new message")
    again = await ledger.claim(reset=IDLE)
    assert (again.turn.id, again.session.id) == (claimed.turn.id, claimed.session.id)
    assert await told(ledger) == []


async def test_a_wakeup_goes_on_in_the_session_that_wanted_it(ledger: Ledger) -> None:
    first = await ledger.complete()
    ledger.clock.advance(2 * HOUR)
    await ledger.say("wake", kind=InboxKind.WAKEUP, incarnation=first.session.incarnation)
    second = await ledger.claim(reset=IDLE)
    assert second.session.id == first.session.id


async def test_a_reset_leaves_the_wakeups_of_the_old_session_behind(ledger: Ledger) -> None:
    first = await ledger.complete()
    ledger.clock.advance(2 * HOUR)
    await ledger.say("a person writes")
    await ledger.say("wake", kind=InboxKind.WAKEUP, incarnation=first.session.incarnation)
    second = await ledger.claim(reset=IDLE, busy="collect")
    assert second.fresh
    assert [entry.body.text for entry in second.entries] == ["a person writes"]  # type: ignore[union-attr]
    assert await ledger.store.waiting(key()) == ()


async def test_after_new_the_next_message_begins_a_session_and_the_command_told_so_itself(
    ledger: Ledger,
) -> None:
    first = await ledger.complete()
    await ledger.store.stop(key(), StopKind.NEW, None)
    second = await ledger.complete()
    assert (second.session.began, second.session.id != first.session.id) == (Began.NEW, True)
    assert await told(ledger) == []


async def test_a_suspended_session_gives_way_to_a_fresh_one_and_it_is_told_once(ledger: Ledger) -> None:
    parked = await ledger.die(3)
    await ledger.settle("too_many_strikes")
    await ledger.say("hello again")
    fresh = await ledger.claim()
    assert (fresh.session.began, fresh.fresh, fresh.session.strikes) == (Began.SUSPENDED, True, 3)
    assert fresh.session.id != parked
    assert len(fresh.entries) == 1, "no note: what was parked is no business of the fresh session"
    await ledger.finish(fresh.fence)
    await ledger.complete("and again")
    assert len(await told(ledger)) == 1
    old = await ledger.store.session(parked)
    assert (old.suspended_why, old.ended_why) == ("too_many_strikes", Began.SUSPENDED)


async def test_suspended_wins_over_the_reset_policy(ledger: Ledger) -> None:
    await ledger.complete()
    await ledger.die(3)
    await ledger.settle("too_many_strikes")
    ledger.clock.advance(2 * DAY)
    await ledger.say()
    assert (await ledger.claim(reset=IDLE)).session.began is Began.SUSPENDED


async def test_conversations_of_one_chat_each_have_their_own_session(ledger: Ledger) -> None:
    one = await ledger.begin(chat="c1")
    two = await ledger.begin(chat="c2")
    assert one.session.id != two.session.id
    await ledger.store.stop(key("c1"), StopKind.NEW, None)
    assert await ledger.store.live_session(key("c2")) is not None


async def test_a_time_that_cannot_be_read_resets_nothing(ledger: Ledger) -> None:
    first = await ledger.complete()
    ledger.damage(f"UPDATE sessions SET completed_at = -5 WHERE id = '{first.session.id}'")
    ledger.clock.advance(2 * DAY)
    await ledger.say()
    assert (await ledger.claim(reset=IDLE)).session.id == first.session.id


async def test_a_clock_set_back_resets_nothing(ledger: Ledger) -> None:
    first = await ledger.complete()
    ledger.clock.jump(-30 * DAY)
    await ledger.say()
    settings = ResetSettings(idle=HOUR, daily_at=0)
    assert (await ledger.claim(reset=settings)).session.id == first.session.id
