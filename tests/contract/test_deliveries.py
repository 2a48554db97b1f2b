"""Sending what is owed: in order within a chat, each chat for itself, never lost or doubled in silence."""

import pytest

from holdfast.errors import NotFound, WrongState
from holdfast.model import (
    Batch,
    Delivery,
    DeliveryId,
    DeliveryState,
    Inbound,
    Key,
    Lost,
    Owed,
    OwedKind,
    Place,
    Rejected,
    SendResult,
    Sent,
    TryAgain,
    place_at,
)
from holdfast.policy.settings import DAY, MINUTE
from holdfast.store import Verdict, chat_topic
from tests.support.judging import rule
from tests.support.ledger import ANN, PLATFORM, Ledger, address, owed


async def owe(ledger: Ledger, *dedupes: str, chat: str = "c1") -> None:
    """The chat is owed these, one part each."""
    await ledger.complete(chat=chat)
    for dedupe in dedupes:
        assert await ledger.store.owe(owed(dedupe, chat=chat))


async def take(ledger: Ledger) -> Delivery:
    (delivery,) = await ledger.send()
    return delivery


async def state_of(ledger: Ledger, delivery: Delivery) -> Delivery:
    return next(one for one in await ledger.outbox(delivery.chat.split("/")[-1]) if one.id == delivery.id)


async def in_doubt(ledger: Ledger) -> Delivery:
    """A part nobody knows the outcome of."""
    await owe(ledger, "first", "second")
    delivery = await take(ledger)
    await ledger.store.record_delivery(delivery.id, Lost("timeout"))
    return delivery


async def test_parts_are_numbered_without_a_gap_and_stay_together(ledger: Ledger) -> None:
    await ledger.complete()
    await ledger.store.owe(owed("one", "1a", "1b", "1c"))
    await ledger.store.owe(owed("two", "2a"))
    sent = await ledger.outbox()
    assert [(part.order, part.part, part.parts, part.text) for part in sent] == [
        (1, 1, 3, "1a"),
        (2, 2, 3, "1b"),
        (3, 3, 3, "1c"),
        (4, 1, 1, "2a"),
    ]
    assert {part.state for part in sent} == {DeliveryState.PENDING}


async def test_each_chat_counts_for_itself(ledger: Ledger) -> None:
    for chat in ("c1", "c2"):
        await owe(ledger, f"{chat} first", f"{chat} second", chat=chat)
    assert [[part.order for part in await ledger.outbox(chat)] for chat in ("c1", "c2")] == [[1, 2], [1, 2]]


async def test_the_same_thing_is_told_once_for_ever(ledger: Ledger) -> None:
    await ledger.complete()
    assert await ledger.store.owe(owed("notice", "a", "b"))
    async with ledger.unchanged():
        assert not await ledger.store.owe(owed("notice", "other words"))
    for _ in range(2):
        await ledger.store.record_delivery((await take(ledger)).id, Sent())
    await ledger.crash()
    async with ledger.unchanged():
        assert not await ledger.store.owe(owed("notice"))


async def test_owing_keeps_reply_thread_kind_and_buttons(ledger: Ledger) -> None:
    await ledger.complete()
    await ledger.store.owe(
        Owed(address(), "q", ("long", "question?"), OwedKind.QUESTION, "m1", ("yes", "no"))
    )
    first, last = await ledger.outbox()
    assert (first.reply_to, last.reply_to, first.kind) == ("m1", "m1", OwedKind.QUESTION)
    assert (first.options, last.options) == ((), ("yes", "no")), "the buttons stand under the last part"


async def test_a_chat_nobody_knows_is_owed_nothing(ledger: Ledger) -> None:
    async with ledger.refused(NotFound):
        await ledger.store.owe(owed("notice", chat="nowhere"))


async def test_a_chat_is_sent_one_part_at_a_time_in_order(ledger: Ledger) -> None:
    await owe(ledger, "first", "second", "third")
    sent = []
    while due := await ledger.send():
        (delivery,) = due
        assert (delivery.state, delivery.claimed_at) == (DeliveryState.SENDING, ledger.clock.now())
        assert await ledger.send() == (), "nothing goes out beside a part in flight"
        await ledger.store.record_delivery(delivery.id, Sent(f"p{delivery.order}"))
        sent.append(delivery.dedupe)
    assert sent == ["first", "second", "third"]
    settled = await ledger.outbox()
    assert [(one.state, one.attempts, one.platform_id, one.settled_at) for one in settled] == [
        (DeliveryState.SENT, 1, f"p{n}", ledger.clock.now()) for n in (1, 2, 3)
    ]


async def test_many_chats_are_sent_to_at_once_within_the_limit(ledger: Ledger) -> None:
    for n in range(5):
        await owe(ledger, f"n{n}", chat=f"c{n}")
    first = await ledger.store.claim_deliveries((PLATFORM,), limit=3)
    rest = await ledger.store.claim_deliveries((PLATFORM,), limit=3)
    assert (len(first), len(rest)) == (3, 2)
    assert {one.dedupe for one in first + rest} == {f"n{n}" for n in range(5)}


async def test_only_connected_platforms_are_sent_to(ledger: Ledger) -> None:
    await owe(ledger, "first")
    async with ledger.unchanged():
        assert await ledger.store.claim_deliveries(("other",)) == ()
        assert await ledger.store.claim_deliveries(()) == ()
    assert len(await ledger.store.claim_deliveries(("other", PLATFORM))) == 1


async def test_what_was_tried_in_vain_goes_out_again_at_its_time_before_what_follows(ledger: Ledger) -> None:
    await owe(ledger, "first", "second")
    at = ledger.clock.now() + MINUTE
    await ledger.store.record_delivery((await take(ledger)).id, TryAgain(at, "connection reset"))
    ledger.clock.advance(MINUTE - 1)
    await ledger.crash()
    ledger.clock.jump(-1)
    async with ledger.unchanged():
        assert await ledger.send() == ()
    ledger.clock.advance(1)
    again = await take(ledger)
    assert (again.dedupe, again.attempts, again.reason) == ("first", 1, "connection reset")


async def test_a_throttle_holds_its_own_chat_only_and_is_no_attempt(ledger: Ledger) -> None:
    await owe(ledger, "slow", chat="c1")
    await owe(ledger, "quick", chat="c2")
    at = ledger.clock.now() + MINUTE
    for delivery in await ledger.send():
        slow = delivery.dedupe == "slow"
        await ledger.store.record_delivery(
            delivery.id, TryAgain(at, "retry after", counts=False) if slow else Sent()
        )
    await ledger.store.owe(owed("quick 2", chat="c2"))
    await ledger.store.owe(owed("slow 2", chat="c1"))
    assert (await take(ledger)).dedupe == "quick 2"
    await ledger.crash()
    ledger.clock.advance(MINUTE)
    again = await take(ledger)
    assert (again.dedupe, again.attempts) == ("slow", 0)


async def test_a_throttle_outlasts_the_part_that_met_it(ledger: Ledger) -> None:
    await owe(ledger, "first", "second")
    first = await take(ledger)
    await ledger.store.record_delivery(first.id, TryAgain(ledger.clock.now() + MINUTE, "slow", counts=False))
    await ledger.store.expire_delivery(first.id, "too old")
    assert await ledger.send() == ()
    ledger.clock.advance(MINUTE)
    assert (await take(ledger)).dedupe == "second"


async def test_a_throttle_holds_what_is_owed_after_it(ledger: Ledger) -> None:
    await owe(ledger, "first")
    first = await take(ledger)
    await ledger.store.record_delivery(first.id, TryAgain(ledger.clock.now() + MINUTE, "slow", counts=False))
    await ledger.store.expire_delivery(first.id, "too old")
    await ledger.store.owe(owed("second"))
    assert await ledger.send() == ()
    ledger.clock.advance(MINUTE)
    assert (await take(ledger)).dedupe == "second"


async def test_a_throttle_holds_what_recovery_owes_many_chats_at_once(ledger: Ledger) -> None:
    for chat in ("c1", "c2", "c3"):
        await ledger.begin(chat=chat)
    await ledger.store.owe(owed("met", chat="c1"))
    met = await take(ledger)
    until = ledger.clock.now() + MINUTE
    await ledger.store.record_delivery(met.id, TryAgain(until, "slow", counts=False))
    await ledger.store.expire_delivery(met.id, "too old")
    await ledger.crash()
    await ledger.store.interrupt_orphans()
    stale = await ledger.store.stale_turns()
    told = {one.chat: owed(f"told {one.chat}", chat=place_at(one.chat).chat) for one in stale}
    assert len(await ledger.give(*(Verdict(one, rule("too_old"), (told[one.chat],)) for one in stale))) == 3
    assert {one.chat for one in await ledger.send()} == {address("c2"), address("c3")}
    ledger.clock.advance(MINUTE - 2)
    assert await ledger.send() == (), "one millisecond is left of the wait"
    ledger.clock.advance(1)
    assert [one.chat for one in await ledger.send()] == [address("c1")]


async def test_an_unknown_outcome_holds_its_own_chat_only(ledger: Ledger) -> None:
    delivery = await in_doubt(ledger)
    assert await ledger.send() == ()
    await owe(ledger, "elsewhere", chat="c2")
    assert (await take(ledger)).dedupe == "elsewhere"
    (doubt,) = await ledger.store.in_doubt()
    assert (doubt.id, doubt.state, doubt.reason, doubt.attempts) == (
        delivery.id,
        DeliveryState.UNKNOWN,
        "timeout",
        1,
    )


async def test_doubts_can_be_asked_for_by_platform(ledger: Ledger) -> None:
    ours = await in_doubt(ledger)
    elsewhere = Place("other", "bot", "c1")
    there = Inbound("e", Key(elsewhere.address), elsewhere, ANN, "hello")
    await ledger.store.accept(Batch("other-bot", (there,)))
    await ledger.store.owe(Owed(elsewhere.address, "theirs", ("text",), OwedKind.NOTICE))
    (theirs,) = await ledger.store.claim_deliveries(("other",))
    await ledger.store.record_delivery(theirs.id, Lost("timeout"))
    assert [one.id for one in await ledger.store.in_doubt()] == [ours.id, theirs.id]
    assert [one.id for one in await ledger.store.in_doubt(1, PLATFORM)] == [ours.id]
    assert [one.id for one in await ledger.store.in_doubt(1, "other")] == [theirs.id]
    assert await ledger.store.in_doubt(1, "third") == ()


@pytest.mark.parametrize(
    ("result", "state"),
    [
        (Sent("p1"), DeliveryState.SENT),
        (Rejected("blocked"), DeliveryState.FAILED),
    ],
)
async def test_a_doubt_is_settled_by_asking_the_platform(
    ledger: Ledger, result: SendResult, state: DeliveryState
) -> None:
    delivery = await in_doubt(ledger)
    await ledger.store.settle_delivery(delivery.id, result)
    settled = await state_of(ledger, delivery)
    assert (settled.state, settled.attempts, settled.repeated) == (state, 1, False)
    assert (await take(ledger)).dedupe == "second"
    async with ledger.refused(WrongState):
        await ledger.store.settle_delivery(delivery.id, result)


async def test_a_doubt_settled_as_not_arrived_goes_out_unmarked(ledger: Ledger) -> None:
    delivery = await in_doubt(ledger)
    await ledger.store.settle_delivery(delivery.id, TryAgain(0, "not found on the platform"))
    again = await take(ledger)
    assert (again.id, again.repeated, again.attempts) == (delivery.id, False, 1)


async def test_a_doubt_nobody_can_settle_is_repeated_and_marked_for_good(ledger: Ledger) -> None:
    delivery = await in_doubt(ledger)
    await ledger.store.settle_delivery(delivery.id, TryAgain(0, "sent again"), repeated=True)
    again = await take(ledger)
    assert (again.id, again.repeated) == (delivery.id, True)
    await ledger.store.record_delivery(again.id, TryAgain(0, "connection refused"))
    assert (await take(ledger)).repeated


async def test_a_doubt_is_not_settled_by_another_doubt(ledger: Ledger) -> None:
    delivery = await in_doubt(ledger)
    async with ledger.refused(WrongState):
        await ledger.store.settle_delivery(delivery.id, Lost("again"))


async def test_what_a_dead_process_was_sending_becomes_unknown_once(ledger: Ledger) -> None:
    await owe(ledger, "first", "second")
    delivery = await take(ledger)
    async with ledger.unchanged():
        assert await ledger.store.doubt_orphans() == 0, "its own sends are in good hands"
    await ledger.crash()
    assert await ledger.send() == ()
    assert await ledger.store.doubt_orphans() == 1
    async with ledger.unchanged():
        assert await ledger.store.doubt_orphans() == 0
    (doubt,) = await ledger.store.in_doubt()
    assert (doubt.id, doubt.attempts) == (delivery.id, 1)
    assert await ledger.send() == ()


async def test_a_dead_process_cannot_record_what_it_sent(ledger: Ledger) -> None:
    await owe(ledger, "first")
    delivery = await take(ledger)
    await ledger.crash()
    async with ledger.refused(WrongState):
        await ledger.store.record_delivery(delivery.id, Sent())


@pytest.mark.parametrize(
    "result", [Sent(), TryAgain(0, "again"), Lost("?"), Rejected("no"), Rejected("gone", whole_chat=True)]
)
async def test_only_a_part_in_flight_is_recorded_and_only_once(ledger: Ledger, result: SendResult) -> None:
    await owe(ledger, "first")
    (pending,) = await ledger.outbox()
    async with ledger.refused(WrongState):
        await ledger.store.record_delivery(pending.id, result, (owed("told"),))
    async with ledger.refused(WrongState):
        await ledger.store.record_delivery(DeliveryId(77), result)
    delivery = await take(ledger)
    await ledger.store.record_delivery(delivery.id, result)
    async with ledger.refused(WrongState):
        await ledger.store.record_delivery(delivery.id, result)


async def test_a_refused_part_fails_once_with_its_reason_and_a_line_in_its_place(ledger: Ledger) -> None:
    await owe(ledger, "first", "second")
    delivery = await take(ledger)
    await ledger.store.record_delivery(delivery.id, Rejected("too long"), (owed("could not be sent"),))
    failed = await state_of(ledger, delivery)
    assert (failed.state, failed.reason, failed.attempts) == (DeliveryState.FAILED, "too long", 1)
    rest = []
    while due := await ledger.send():
        rest.append(due[0].dedupe)
        await ledger.store.record_delivery(due[0].id, Sent())
    assert rest == ["second", "could not be sent"]


async def test_a_chat_that_is_gone_fails_everything_owed_to_it(ledger: Ledger) -> None:
    await owe(ledger, "first", "second", "third")
    await owe(ledger, "elsewhere", chat="c2")
    for delivery in await ledger.send():
        gone = delivery.dedupe == "first"
        await ledger.store.record_delivery(
            delivery.id, Rejected("blocked", whole_chat=True) if gone else Sent()
        )
    failed = await ledger.outbox()
    assert [(one.state, one.reason, one.attempts) for one in failed] == [
        (DeliveryState.FAILED, "blocked", 1),
        (DeliveryState.FAILED, "blocked", 0),
        (DeliveryState.FAILED, "blocked", 0),
    ]
    assert [one.state for one in await ledger.outbox("c2")] == [DeliveryState.SENT]
    assert await ledger.send() == ()


async def test_what_is_too_old_is_given_up_and_stays_visible(ledger: Ledger) -> None:
    delivery = await in_doubt(ledger)
    await ledger.store.expire_delivery(delivery.id, "older than a day")
    expired = await state_of(ledger, delivery)
    assert (expired.state, expired.reason) == (DeliveryState.EXPIRED, "older than a day")
    second = await take(ledger)
    assert second.dedupe == "second"
    for id in (delivery.id, second.id, DeliveryId(77)):
        async with ledger.refused(WrongState):
            await ledger.store.expire_delivery(id, "again")


async def test_a_pending_part_can_be_given_up_before_it_was_tried(ledger: Ledger) -> None:
    await owe(ledger, "first", "second")
    first, _ = await ledger.outbox()
    await ledger.store.expire_delivery(first.id, "older than a day")
    assert (await take(ledger)).dedupe == "second"


async def test_a_reader_goes_on_after_the_number_it_has_seen(ledger: Ledger) -> None:
    await owe(ledger, "first", "second", "third")
    page = await ledger.store.deliveries(address(), after=1, limit=1)
    assert [one.dedupe for one in page] == ["second"]
    assert await ledger.store.deliveries(address(), after=3) == ()


async def test_a_refused_commit_takes_no_number(ledger: Ledger) -> None:
    await owe(ledger, "first")
    with pytest.raises(NotFound):
        await ledger.store.record_delivery((await take(ledger)).id, Sent(), (owed("x"), owed("y", chat="no")))
    await ledger.store.owe(owed("second"))
    assert [one.order for one in await ledger.outbox()] == [1, 2]


async def test_a_refusal_names_the_state_it_found(ledger: Ledger) -> None:
    await owe(ledger, "first")
    (pending,) = await ledger.outbox()
    with pytest.raises(WrongState) as caught:
        await ledger.store.record_delivery(pending.id, Sent())
    assert caught.value.found == DeliveryState.PENDING


async def test_the_next_time_is_that_of_the_part_that_may_go_first(ledger: Ledger) -> None:
    next_at = ledger.store.next_send_at
    assert await next_at((PLATFORM,)) is None
    for chat in ("c1", "c2"):
        await owe(ledger, f"to {chat}", chat=chat)
    first, second = await ledger.send()
    assert await next_at((PLATFORM,)) is None, "both are in flight"
    at = ledger.clock.now() + MINUTE
    await ledger.store.record_delivery(first.id, TryAgain(at + 5, "slow", counts=False))
    await ledger.store.record_delivery(second.id, TryAgain(at, "connection reset"))
    assert await next_at((PLATFORM,)) == at
    assert await next_at(("another",)) is None
    assert await next_at(("another", PLATFORM)) == at
    assert await next_at(()) is None


@pytest.mark.parametrize("counts", [True, False])
async def test_a_wait_of_more_than_a_day_is_tried_again_after_one(ledger: Ledger, counts: bool) -> None:
    await owe(ledger, "first")
    at = ledger.clock.now() + 10 * DAY
    await ledger.store.record_delivery((await take(ledger)).id, TryAgain(at, "later", counts))
    assert await ledger.send() == ()
    assert await ledger.store.next_send_at((PLATFORM,)) == ledger.clock.now() + DAY
    ledger.clock.advance(DAY)
    assert (await take(ledger)).dedupe == "first"


@pytest.mark.parametrize("counts", [True, False])
async def test_a_time_that_a_clock_ahead_of_its_time_wrote_mutes_no_chat(
    ledger: Ledger, counts: bool
) -> None:
    await owe(ledger, "first", "second")
    ledger.clock.advance(400 * DAY)
    at = ledger.clock.now() + MINUTE
    await ledger.store.record_delivery((await take(ledger)).id, TryAgain(at, "slow", counts))
    ledger.clock.jump(-400 * DAY)
    assert await ledger.store.next_send_at((PLATFORM,)) == ledger.clock.now()
    first = await take(ledger)
    await ledger.store.record_delivery(first.id, Sent())
    ledger.clock.advance(399 * DAY + DAY // 2)
    assert (await take(ledger)).dedupe == "second", "what was damaged is forgotten once it was found"


async def test_a_throttle_from_a_clock_ahead_of_its_time_mutes_no_chat_whose_part_waits(
    ledger: Ledger,
) -> None:
    delivery = await failing_part(ledger)
    ledger.damage(
        f"UPDATE chats SET throttled_until = {ledger.clock.now() + 400 * DAY},"
        f" send_at = {ledger.clock.now() + 400 * DAY}"
    )
    assert await ledger.send() == ()
    ledger.clock.advance(60 * MINUTE)
    assert (await take(ledger)).id == delivery.id


async def test_who_reads_a_chat_is_told_of_what_is_owed_behind_a_part_in_the_air(ledger: Ledger) -> None:
    await owe(ledger, "first")
    await take(ledger)
    topic = chat_topic(address())
    seen = ledger.store.version(topic)
    await ledger.store.owe(owed("second"))
    assert ledger.store.version(topic) > seen


async def test_every_way_into_doubt_is_announced(ledger: Ledger) -> None:
    before = ledger.store.version("doubts")
    await in_doubt(ledger)
    lost = ledger.store.version("doubts")
    assert lost > before
    await owe(ledger, "other", chat="c2")
    await ledger.send()
    await ledger.crash()
    reopened = ledger.store.version("doubts")
    assert await ledger.store.doubt_orphans() == 1
    assert ledger.store.version("doubts") > reopened


async def failing_part(ledger: Ledger) -> Delivery:
    """The first of three parts has failed, and is to be tried again in an hour."""
    await owe(ledger, "first", "second", "third")
    delivery = await take(ledger)
    later = ledger.clock.now() + 60 * MINUTE
    await ledger.store.record_delivery(delivery.id, TryAgain(later, "reset"))
    return delivery


async def test_what_fails_is_listed_with_what_waits_behind_it(ledger: Ledger) -> None:
    assert await ledger.store.failing(PLATFORM) == ()
    delivery = await failing_part(ledger)
    (part,) = await ledger.store.failing(PLATFORM)
    assert (part.delivery.id, part.delivery.failing_since) == (delivery.id, ledger.clock.now())
    assert part.held == ledger.clock.now()
    assert await ledger.store.failing("other") == ()
    await ledger.store.expire_delivery(delivery.id, "too old")
    assert await ledger.store.failing(PLATFORM) == ()


async def test_other_parts_of_its_own_message_do_not_count_as_waiting_for_a_failing_one(
    ledger: Ledger,
) -> None:
    await ledger.complete()
    await ledger.store.owe(owed("a", "one", "two"))
    await ledger.store.record_delivery((await take(ledger)).id, TryAgain(0, "reset"))
    (part,) = await ledger.store.failing(PLATFORM)
    assert part.held is None


@pytest.mark.parametrize("counts", [True, False])
async def test_a_throttle_is_no_failure(ledger: Ledger, counts: bool) -> None:
    await owe(ledger, "first")
    await ledger.store.record_delivery((await take(ledger)).id, TryAgain(0, "slow", counts))
    assert len(await ledger.store.failing(PLATFORM)) == counts


async def test_every_way_to_fail_is_announced_and_keeps_when_it_began(ledger: Ledger) -> None:
    seen = ledger.store.version("failing")
    await failing_part(ledger)
    assert ledger.store.version("failing") > seen
    began = ledger.clock.now()
    ledger.clock.advance(60 * MINUTE)
    seen = ledger.store.version("failing")
    await ledger.store.record_delivery((await take(ledger)).id, Lost("timeout"))
    assert ledger.store.version("failing") > seen
    (part,) = await ledger.store.failing(PLATFORM)
    assert part.delivery.failing_since == began


async def test_a_send_that_the_end_of_the_gateway_cut_off_is_no_failure_of_the_platform(
    ledger: Ledger,
) -> None:
    await owe(ledger, "first")
    await owe(ledger, "elsewhere", chat="c2")
    first, _ = await ledger.send()
    await ledger.store.record_delivery(first.id, Lost("cut off", ours=True))
    await ledger.crash()
    assert await ledger.store.doubt_orphans() == 1
    assert len(await ledger.store.in_doubt()) == 2
    assert await ledger.store.failing(PLATFORM) == ()


async def test_a_failing_part_can_be_hurried_and_a_throttle_holds_all_the_same(ledger: Ledger) -> None:
    delivery = await failing_part(ledger)
    await ledger.store.hurry_delivery(delivery.id, at_once=False, overtaken=True)
    assert await ledger.send() == ()
    assert (await state_of(ledger, delivery)).overtaken_at == ledger.clock.now()
    await ledger.store.hurry_delivery(delivery.id)
    again = await take(ledger)
    assert again.id == delivery.id
    later = ledger.clock.now() + MINUTE
    await ledger.store.record_delivery(again.id, TryAgain(later, "slow", counts=False))
    await ledger.store.hurry_delivery(delivery.id)
    assert await ledger.send() == ()
    ledger.clock.advance(MINUTE)
    assert (await take(ledger)).id == delivery.id


async def test_only_what_fails_is_hurried_or_steps_aside_and_that_once(ledger: Ledger) -> None:
    await owe(ledger, "sound", chat="c2")
    (sound,) = await ledger.outbox("c2")
    async with ledger.refused(WrongState):
        await ledger.store.hurry_delivery(sound.id)
    async with ledger.refused(WrongState):
        await ledger.store.step_aside(sound.id, (owed("line", chat="c2"),))
    await ledger.store.record_delivery((await take(ledger)).id, Sent())
    delivery = await failing_part(ledger)
    await ledger.store.step_aside(delivery.id)
    async with ledger.refused(WrongState):
        await ledger.store.step_aside(delivery.id)


@pytest.mark.guards("R10.3")
async def test_a_part_that_stepped_aside_holds_up_no_other_and_is_sent_at_its_time(ledger: Ledger) -> None:
    delivery = await failing_part(ledger)
    assert await ledger.send() == ()
    await ledger.store.step_aside(delivery.id, (owed("line"),))
    await ledger.crash()
    sent = []
    while due := await ledger.send():
        assert await ledger.send() == (), "nothing goes out beside a part in flight"
        await ledger.store.record_delivery(due[0].id, Sent())
        sent.append(due[0].dedupe)
    assert sent == ["second", "third", "line"]
    await ledger.store.owe(owed("fourth"))
    assert (await take(ledger)).dedupe == "fourth", "what is owed later does not wait either"
    ledger.clock.advance(60 * MINUTE)
    assert await ledger.send() == ()
    (flying,) = [one for one in await ledger.outbox() if one.state is DeliveryState.SENDING]
    await ledger.store.record_delivery(flying.id, Sent())
    late = await take(ledger)
    assert (late.id, late.aside_at is not None) == (delivery.id, True)
    await ledger.store.owe(owed("fifth"))
    assert await ledger.send() == (), "one part of a chat at a time"
    await ledger.store.record_delivery(late.id, Lost("timeout"))
    assert (await take(ledger)).dedupe == "fifth", "its doubt holds up no other either"


async def test_marked_repeats_are_counted_and_those_with_a_key_are_not(ledger: Ledger) -> None:
    delivery = await in_doubt(ledger)
    for n, marked in enumerate((True, False, True)):
        if n:
            await ledger.store.record_delivery((await take(ledger)).id, Lost("timeout"))
        again = TryAgain(0, "again")
        await ledger.store.settle_delivery(delivery.id, again, repeated=True, marked=marked)
    assert (await state_of(ledger, delivery)).repeats == 2
