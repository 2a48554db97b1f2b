"""Parks: their causes are counted, what follows them is suspected, and too many hold a conversation."""

import pytest

from holdfast.errors import WrongState
from holdfast.model import InboxState, Position, StopKind, StrikeRecord, TurnState
from holdfast.policy.recovery.outcome import decide
from holdfast.policy.recovery.parks import ON_HOLD
from holdfast.policy.settings import DAY, MINUTE, RecoverySettings
from holdfast.store import Verdict, Wanted
from tests.support.judging import ANY_FACTS
from tests.support.ledger import Ledger, answers, key, owed

SETTINGS = RecoverySettings()


@pytest.mark.guards("R8.4")
@pytest.mark.parametrize("says_new", [False, True])
async def test_a_session_that_follows_a_park_is_a_suspect_until_one_of_its_turns_completes(
    ledger: Ledger, says_new: bool
) -> None:
    await ledger.begin()
    ledger.clock.advance(MINUTE)
    await ledger.store.heartbeat()
    await ledger.recover("too_many_strikes")
    if says_new:
        await ledger.store.stop(key(), StopKind.NEW, None)
    claimed = await ledger.begin("next")
    assert (claimed.fresh, claimed.suspect, claimed.longest_fatal) == (True, True, MINUTE)
    assert claimed.session.strikes == SETTINGS.suspect_strikes + 1
    await ledger.finish(claimed.fence, TurnState.FAILED)
    assert (again := await ledger.begin("and again")).suspect, "a turn that failed clears nothing"
    await ledger.finish(again.fence)
    assert not (await ledger.begin("once more")).suspect


@pytest.mark.guards("R8.4")
async def test_an_earlier_session_that_is_taken_up_after_a_park_is_a_suspect_as_well(ledger: Ledger) -> None:
    earlier = await ledger.begin()
    await ledger.finish(earlier.fence)
    await ledger.store.stop(key(), StopKind.NEW, None)
    await ledger.begin()
    ledger.clock.advance(MINUTE)
    await ledger.store.heartbeat()
    await ledger.recover("too_many_strikes")
    await ledger.store.reopen(earlier.session.id, None)
    claimed = await ledger.begin("the same again")
    assert (claimed.session.id, claimed.suspect, claimed.longest_fatal) == (earlier.session.id, True, MINUTE)
    await ledger.finish(claimed.fence)
    assert not (await ledger.begin("next")).suspect


@pytest.mark.guards("R8.4")
async def test_suspicion_goes_on_through_sessions_that_completed_nothing(ledger: Ledger) -> None:
    await ledger.begin()
    await ledger.recover("too_many_strikes")
    for _ in range(2):
        claimed = await ledger.begin("next")
        assert claimed.fresh and claimed.suspect
        await ledger.finish(claimed.fence, TurnState.CANCELLED)
        await ledger.store.stop(key(), StopKind.NEW, None)


@pytest.mark.guards("R8.2", "R8.4")
@pytest.mark.parametrize("says_new", [False, True])
async def test_a_message_after_a_park_waits_while_another_suspect_runs(
    ledger: Ledger, says_new: bool
) -> None:
    await ledger.begin(chat="c2")
    await ledger.recover("too_many_strikes")
    await ledger.die(2)
    await ledger.settle("resume")
    suspect = await ledger.claim()
    assert suspect.suspect
    if says_new:
        await ledger.store.stop(key("c2"), StopKind.NEW, None)
    await ledger.say("after the park", "c2")
    assert await ledger.try_claim() is None
    await ledger.finish(suspect.fence)
    assert (await ledger.claim()).session.key == key("c2")


@pytest.mark.guards("R8.6")
async def test_what_the_strikes_came_from_is_counted_beside_them(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.recover()
    again = await ledger.claim()
    await ledger.store.interrupt(again.fence, "restart_timeout")
    (stale,) = await ledger.store.stale_turns()
    assert stale.stands.strikes == 2
    assert stale.stands.record == StrikeRecord(deaths=1, cuts=1, turn_deaths=1)
    await ledger.settle("resume")
    third = await ledger.claim()
    await ledger.append(third.fence, answers("so far"))
    await ledger.store.interrupt(third.fence, "restart_timeout")
    (stale,) = await ledger.store.stale_turns()
    assert (stale.stands.strikes, stale.stands.record.cuts) == (2, 1), "it had something to show"
    await ledger.settle("resume")
    await ledger.finish((await ledger.claim()).fence)
    fresh = await ledger.begin("next")
    assert fresh.session.id == claimed.session.id
    await ledger.recover("safe_mode")
    (stale,) = await ledger.store.stale_turns()
    assert stale.stands.record == StrikeRecord(deaths=1, turn_deaths=1), "a completed turn clears the record"


async def park(ledger: Ledger, chat: str = "c1") -> None:
    """One park more, by recovery's own rule: the messages are held if it is one too many."""
    for stale in await ledger.store.stale_turns():
        if stale.key == key(chat):
            facts = ANY_FACTS._replace(strikes=3, record=stale.stands.record)
            await ledger.give(Verdict(stale, decide(facts, 0, SETTINGS)))


@pytest.mark.guards("R8.4")
async def test_the_third_park_of_a_conversation_within_a_day_holds_its_messages_until_it_is_released(
    ledger: Ledger,
) -> None:
    for n in range(3):
        await ledger.die(3 if n == 0 else 1)
        assert [one.stands.record.parks for one in await ledger.store.stale_turns()] == [n]
        await park(ledger)
    position = await ledger.say("hello?")
    assert await ledger.try_claim() is None
    (words,) = [part.text for part in await ledger.outbox() if part.dedupe == f"ack:{position}"]
    assert words == f"Kept. {ON_HOLD}"
    assert await ledger.store.verify() == (), "a message that waits for an owner is in order"
    await ledger.crash()
    (held,) = await ledger.store.on_hold()
    assert (held.key, held.waiting) == (key(), 1)
    assert (await ledger.store.overview(0)).on_hold == 1
    (line, *_) = await ledger.store.sessions()
    assert (line.on_hold, line.suspended) == (True, True)
    await ledger.store.release_conversation(key(), None)
    async with ledger.refused(WrongState):
        await ledger.store.release_conversation(key(), None)
    claimed = await ledger.claim()
    assert (claimed.cause.position, claimed.fresh, claimed.suspect) == (position, True, True)
    assert await ledger.store.on_hold() == ()
    await ledger.crash()
    await ledger.store.interrupt_orphans()
    await park(ledger)
    assert len(await ledger.store.on_hold()) == 1, "the next park within the day holds them again"


@pytest.mark.guards("R8.4")
async def test_parks_that_are_a_day_apart_hold_nothing(ledger: Ledger) -> None:
    for n in range(4):
        await ledger.die(3 if n == 0 else 1)
        await park(ledger)
        ledger.clock.advance(DAY // 2 + MINUTE)
    assert await ledger.store.on_hold() == ()


@pytest.mark.guards("R8.4")
async def test_resuming_the_parked_session_lifts_the_hold_of_its_conversation(ledger: Ledger) -> None:
    await ledger.die(3)
    await park(ledger)
    await ledger.die(1)
    await park(ledger)
    session = await ledger.die(1)
    await park(ledger)
    await ledger.say("hello?")
    await ledger.store.revive(session, await ledger.command("/resume"), "Go on.")
    assert await ledger.store.on_hold() == ()
    claimed = await ledger.claim()
    assert (claimed.session.id, claimed.suspect, claimed.cause.text) == (session, False, "hello?")


@pytest.mark.guards("R8.2")
async def test_a_parked_session_is_found_and_counted_also_when_a_fresh_one_has_begun(ledger: Ledger) -> None:
    parked = await ledger.die(3)
    await park(ledger)
    fresh = await ledger.complete("hello again")
    assert fresh.session.id != parked
    for live_only in (False, True):
        found = await ledger.store.find_sessions(Wanted(state="parked", live_only=live_only))
        assert [line.id for line in found.lines] == [parked]
    assert (await ledger.store.overview(0)).parked == 1
    await ledger.store.reopen(parked, None)
    assert (await ledger.store.find_sessions(Wanted(state="parked"))).lines == ()
    assert (await ledger.store.overview(0)).parked == 0


async def test_a_parked_conversation_that_its_people_ended_waits_for_no_one(ledger: Ledger) -> None:
    await ledger.die(3)
    await park(ledger)
    await ledger.store.stop(key(), StopKind.NEW, None)
    assert (await ledger.store.overview(0)).parked == 0


@pytest.mark.guards("R8.4")
async def test_a_parked_session_that_was_left_goes_on_with_the_command_that_wants_it_also_from_elsewhere(
    ledger: Ledger,
) -> None:
    parked = await ledger.die(3)
    await park(ledger)
    await ledger.complete("hello again")
    by: Position = await ledger.command(f"/resume {parked}", chat="owner")
    await ledger.store.reopen(parked, by, (owed("told", chat="owner"),), "Go on.")
    claimed = await ledger.claim()
    assert (claimed.session.id, claimed.cause.position, claimed.cause.text) == (parked, by, "Go on.")
    assert (claimed.cause.key, claimed.cause.message_id) == (key(), None)
    assert (await ledger.store.row(by)).state is InboxState.TAKEN
    await ledger.finish(claimed.fence)
    assert (await ledger.begin("later", "owner")).session.key == key("owner")
