"""The message that says that work goes on: one per session, told under a fence, ended with its last words."""

import pytest

from holdfast.errors import StaleWrite
from holdfast.model import (
    Claimed,
    DeliveryState,
    Lost,
    Owed,
    Sent,
    StopKind,
    TryAgain,
    TurnState,
    working_key,
)
from holdfast.store import LiveNotice
from tests.support.ledger import PLATFORM, Ledger, key, owed, resume_all

LAST = "This is done."


def speaking(claimed: Claimed) -> Owed:
    return owed(working_key(claimed.turn.id, claimed.turn.generation), "Still working.")


async def told(ledger: Ledger) -> Claimed:
    claimed = await ledger.begin()
    assert await ledger.store.tell_working(claimed.fence, speaking(claimed))
    return claimed


async def only(ledger: Ledger) -> LiveNotice:
    (notice,) = await ledger.store.live_notices()
    return notice


async def test_a_run_owes_one_message_about_itself_however_often_it_tells(ledger: Ledger) -> None:
    claimed = await told(ledger)
    assert not await ledger.store.tell_working(claimed.fence, speaking(claimed))
    notice = await only(ledger)
    assert (notice.state, notice.running, notice.delivery.turn) == (TurnState.RUNNING, True, claimed.turn.id)
    assert [part.text for part in await ledger.outbox()] == ["Still working."]


async def test_who_lost_the_turn_tells_nothing(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.store.interrupt(claimed.fence, "restart_timeout")
    before = ledger.dump()
    with pytest.raises(StaleWrite):
        await ledger.store.tell_working(claimed.fence, speaking(claimed))
    assert ledger.dump() == before


async def test_a_run_that_was_asked_to_stop_tells_nothing(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.store.stop(key(), StopKind.STOP, None)
    assert not await ledger.store.tell_working(claimed.fence, speaking(claimed))
    assert await ledger.store.live_notices() == ()


async def test_the_next_run_tells_only_when_the_last_ones_message_is_ended(ledger: Ledger) -> None:
    first = await told(ledger)
    await ledger.store.interrupt(first.fence, "restart_timeout")
    await ledger.settle("resume")
    second = await ledger.claim(resume_all)
    assert second is not None
    assert not await ledger.store.tell_working(second.fence, speaking(second))
    notice = await only(ledger)
    assert not notice.running, "the turn runs, but under another generation"
    await ledger.store.forget_notice(notice.delivery.id)
    assert await ledger.store.tell_working(second.fence, speaking(second))
    assert (await only(ledger)).running


async def test_after_a_crash_the_message_is_found_as_one_of_nobody(ledger: Ledger) -> None:
    await told(ledger)
    await ledger.crash()
    notice = await only(ledger)
    assert (notice.state, notice.running) == (TurnState.RUNNING, False)


async def test_of_two_sessions_each_has_its_own(ledger: Ledger) -> None:
    for chat in ("c1", "c2"):
        claimed = await ledger.begin(chat=chat)
        about = owed(working_key(claimed.turn.id, claimed.turn.generation), chat=chat)
        assert await ledger.store.tell_working(claimed.fence, about)
    assert len(await ledger.store.live_notices()) == 2


async def test_one_that_nobody_can_have_seen_expires_and_holds_nothing_up(ledger: Ledger) -> None:
    await told(ledger)
    await ledger.store.owe(owed("after"))
    notice = await only(ledger)
    await ledger.store.reword_notice(notice.delivery.id, LAST)
    ended = (await only(ledger)).delivery
    assert (ended.state, ended.text) == (DeliveryState.EXPIRED, "Still working.")
    (next_,) = await ledger.store.claim_deliveries((PLATFORM,))
    assert next_.dedupe == "after"


async def test_one_that_may_have_arrived_says_its_last_words_when_it_is_sent_again(ledger: Ledger) -> None:
    await told(ledger)
    (sending,) = await ledger.store.claim_deliveries((PLATFORM,))
    await ledger.store.reword_notice(sending.id, LAST)
    assert (await only(ledger)).delivery.text == "Still working.", "what is in flight stays as it is"
    await ledger.store.record_delivery(sending.id, Lost("no answer"))
    await ledger.store.reword_notice(sending.id, LAST)
    await ledger.store.settle_delivery(sending.id, TryAgain(0, "again"), repeated=True)
    await ledger.store.reword_notice(sending.id, LAST)
    (again,) = await ledger.store.claim_deliveries((PLATFORM,))
    assert (again.text, again.repeated) == (LAST, True)


async def test_what_was_sent_is_not_reworded_and_no_other_message_ever_is(ledger: Ledger) -> None:
    await told(ledger)
    await ledger.store.owe(owed("reply"))
    (sending,) = await ledger.store.claim_deliveries((PLATFORM,))
    await ledger.store.record_delivery(sending.id, Sent("m7"))
    before = ledger.dump()
    for part in await ledger.outbox():
        await ledger.store.reword_notice(part.id, LAST)
    assert ledger.dump() == before
    assert (await only(ledger)).delivery.platform_id == "m7"


async def test_forgetting_twice_is_forgetting_once(ledger: Ledger) -> None:
    await told(ledger)
    notice = await only(ledger)
    for _ in range(2):
        await ledger.store.forget_notice(notice.delivery.id)
    assert await ledger.store.live_notices() == ()
