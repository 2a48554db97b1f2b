"""Sending on the real ledger: in order, never silently lost, never silently doubled."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from holdfast.errors import DiskFull, StoreClosed, StoreUnavailable
from holdfast.model import (
    Attachment,
    CallId,
    Delivery,
    DeliveryState,
    Lost,
    OwedKind,
    QuestionKind,
    QuestionState,
    Rejected,
    SendResult,
    Sent,
    Tail,
    TryAgain,
    TurnState,
)
from holdfast.outbox import Sender
from holdfast.platforms import Ack, Capabilities, Idempotency, PlatformDown
from holdfast.policy.settings import DAY, HOUR, MINUTE
from holdfast.store import Store
from tests.support.ledger import Ledger, asks, owed, planned
from tests.support.platforms import FakePlatform, HalfRng, Reports, failing, watch

SENT, FAILED, UNKNOWN, PENDING = (
    DeliveryState.SENT,
    DeliveryState.FAILED,
    DeliveryState.UNKNOWN,
    DeliveryState.PENDING,
)
ASKS = Capabilities(Ack.OFFSET, reconcile=True)
KEYED = Capabilities(Ack.OFFSET, Idempotency.STRONG)
FORGETFUL = Capabilities(Ack.OFFSET, Idempotency.WINDOW, repeat_within=5 * MINUTE)


def sender(ledger: Ledger, platform: FakePlatform, **more: Any) -> Sender:
    store = more.pop("store", ledger.store)
    return Sender(store, ledger.clock, HalfRng(), platform, **more)


async def chat(ledger: Ledger, *names: str) -> None:
    """The chats exist, and nothing is owed to them."""
    for name in names or ("c1",):
        await ledger.complete(chat=name)


async def states(ledger: Ledger, name: str = "c1") -> list[DeliveryState]:
    return [part.state for part in await ledger.outbox(name)]


async def send_for(ledger: Ledger, sending: Sender, milliseconds: int, step: int = 1_000) -> None:
    """Let time pass, and send whatever is due meanwhile."""
    for _ in range(milliseconds // step):
        ledger.clock.advance(step)
        while await sending.send_due():
            pass


@pytest.mark.guards("R10.1")
async def test_parts_arrive_in_order_one_in_flight_per_chat_and_chats_side_by_side(ledger: Ledger) -> None:
    await chat(ledger, "c1", "c2", "c3")
    for name in ("c1", "c2", "c3"):
        await ledger.store.owe(owed(f"a-{name}", "1", "2", chat=name))
        await ledger.store.owe(owed(f"b-{name}", "3", chat=name))
    platform = FakePlatform()
    gate = asyncio.Event()

    async def wait(delivery: Delivery) -> None:
        await gate.wait()

    platform.gate = wait
    sending = sender(ledger, platform)
    first = asyncio.ensure_future(sending.send_due())
    while platform.most_in_flight < 3:
        await ledger.store.instances(1)
    gate.set()
    await first
    while await sending.send_due():
        pass
    for name in ("c1", "c2", "c3"):
        assert [d.text for d in platform.sends if d.chat.endswith(name)] == ["1", "2", "3"]
        assert await states(ledger, name) == [SENT] * 3


async def test_no_more_chats_are_sent_to_at_once_than_there_are_hands(ledger: Ledger) -> None:
    names = [f"c{n}" for n in range(5)]
    await chat(ledger, *names)
    for name in names:
        await ledger.store.owe(owed(f"a-{name}", chat=name))
    platform = FakePlatform()
    sending = sender(ledger, platform, at_once=2)
    assert [await sending.send_due() for _ in range(4)] == [2, 2, 1, 0]
    assert platform.most_in_flight <= 2


@pytest.mark.guards("R10.3", "E3")
async def test_a_throttle_holds_its_own_chat_until_its_time_and_is_no_attempt(ledger: Ledger) -> None:
    await chat(ledger, "c1", "c2")
    platform = FakePlatform()
    platform.play.append(TryAgain(ledger.clock.now() + 30_000, "flood", counts=False))
    await ledger.store.owe(owed("a"))
    await sender(ledger, platform).send_due()
    await ledger.store.owe(owed("b", chat="c2"))
    await sender(ledger, platform).send_due()
    assert await states(ledger, "c2") == [SENT]
    await ledger.crash()
    ledger.clock.advance(29_998)
    assert await sender(ledger, platform).send_due() == 0
    ledger.clock.advance(1)
    await sender(ledger, platform).send_due()
    (part,) = await ledger.outbox()
    assert (part.state, part.attempts) == (SENT, 1)


async def test_a_throttle_of_a_century_is_bounded(ledger: Ledger) -> None:
    await chat(ledger)
    platform = FakePlatform()
    platform.play.append(TryAgain(ledger.clock.now() + 10_000 * DAY, "flood", counts=False))
    await ledger.store.owe(owed("a"))
    sending = sender(ledger, platform)
    await sending.send_due()
    ledger.clock.advance(DAY)
    assert await sending.send_due() == 1


async def test_what_failed_for_now_is_tried_again_later_and_later(ledger: Ledger) -> None:
    await chat(ledger)
    platform = FakePlatform()
    platform.play += [TryAgain(0, "502"), TryAgain(0, "502")]
    await ledger.store.owe(owed("a"))
    sending = sender(ledger, platform)
    await sending.send_due()
    for wait in (750, 1_500):
        ledger.clock.advance(wait - 1)
        assert await sending.send_due() == 0
        ledger.clock.advance(1)
        assert await sending.send_due() == 1
    (part,) = await ledger.outbox()
    assert (part.state, part.attempts) == (SENT, 3)


@pytest.mark.guards("R10.2", "E7")
async def test_a_send_of_unknown_outcome_goes_out_again_visibly_marked(ledger: Ledger) -> None:
    await chat(ledger)
    platform = FakePlatform()

    def arrives_but_answer_is_lost(delivery: Delivery) -> Lost:
        platform.put_up(delivery)
        return Lost("timeout")

    platform.play.append(arrives_but_answer_is_lost)
    await ledger.store.owe(owed("a", "hello"))
    sending = sender(ledger, platform)
    await sending.send_due()
    assert await states(ledger) == [UNKNOWN]
    await send_for(ledger, sending, 3_000)
    assert platform.shown == ["hello", "(again?) hello"]
    assert await states(ledger) == [SENT]


@pytest.mark.guards("R10.2")
async def test_where_keys_count_an_unknown_send_is_repeated_unmarked_and_shows_once(ledger: Ledger) -> None:
    await chat(ledger)
    platform = FakePlatform(KEYED)

    def arrives_but_answer_is_lost(delivery: Delivery) -> Lost:
        platform.put_up(delivery)
        return Lost("timeout")

    platform.play.append(arrives_but_answer_is_lost)
    await ledger.store.owe(owed("a", "hello"))
    await send_for(ledger, sender(ledger, platform), 4_000)
    assert platform.shown == ["hello"]
    assert [(d.key, d.repeated) for d in platform.sends] == [("a/1", False)] * 2
    assert await states(ledger) == [SENT]


async def lost_once(ledger: Ledger) -> tuple[FakePlatform, Sender]:
    """A message to a platform that forgets keys was tried once, and nobody knows what became of it."""
    await chat(ledger)
    platform = FakePlatform(FORGETFUL)
    platform.play.append(Lost("timeout"))
    await ledger.store.owe(owed("a", "hello"))
    sending = sender(ledger, platform)
    await sending.send_due()
    return platform, sending


async def test_a_repeat_is_marked_when_the_platform_has_forgotten_its_key_meanwhile(ledger: Ledger) -> None:
    platform, sending = await lost_once(ledger)
    await sending.send_due()
    (part,) = await ledger.outbox()
    assert part.state is PENDING  # to be repeated with its key, and then nobody was there for a while
    ledger.clock.advance(6 * MINUTE)
    await sending.send_due()
    assert platform.shown == ["(again?) hello"]


@pytest.mark.guards("R10.2")
async def test_how_old_a_key_is_nobody_knows_once_the_clock_was_set_back(ledger: Ledger) -> None:
    platform, sending = await lost_once(ledger)
    ledger.clock.advance(6 * MINUTE)
    ledger.clock.jump(-60 * MINUTE)
    await send_for(ledger, sending, 10_000)
    assert platform.shown == ["(again?) hello"]


@pytest.mark.guards("R10.2")
@pytest.mark.parametrize("restarted", ["never", "before", "after"])
@pytest.mark.parametrize("back", [MINUTE, 60 * MINUTE])
async def test_a_key_grows_old_by_the_time_that_passes_and_not_by_what_the_clock_says(
    ledger: Ledger, back: int, restarted: str
) -> None:
    """Set back, the wall clock comes to the same hour once more: the key is older by then."""
    platform, sending = await lost_once(ledger)
    await sending.send_due()
    ledger.clock.jump(-back)
    if restarted == "before":
        sending = sender(ledger, platform)
    ledger.clock.advance(back + 4 * MINUTE)
    if restarted == "after":
        sending = sender(ledger, platform)
    await sending.send_due()
    assert platform.shown == ["(again?) hello"]


@pytest.mark.guards("R10.2")
async def test_how_old_a_key_is_nobody_knows_once_the_machine_was_started_again(ledger: Ledger) -> None:
    platform, sending = await lost_once(ledger)
    await sending.send_due()
    ledger.clock.advance(1_000)
    ledger.clock.reboot()
    await send_for(ledger, sender(ledger, platform), MINUTE)
    assert platform.shown == ["(again?) hello"]


@pytest.mark.guards("R10.2")
async def test_a_key_is_as_old_as_its_first_try_by_whichever_run(ledger: Ledger) -> None:
    platform, _ = await lost_once(ledger)
    platform.play.append(Lost("timeout"))
    ledger.clock.advance(4 * MINUTE)
    sending = sender(ledger, platform)
    await sending.send_due()
    await send_for(ledger, sending, 2_000)  # lost again, with a key that was young enough then
    assert (len(platform.sends), platform.shown) == (2, [])
    ledger.clock.advance(2 * MINUTE)
    await send_for(ledger, sending, 10_000)
    assert platform.shown == ["(again?) hello"]


@pytest.mark.guards("R10.2")
async def test_a_repeat_that_would_come_after_its_key_is_forgotten_is_let_go_of(ledger: Ledger) -> None:
    platform, sending = await lost_once(ledger)
    await sending.send_due()
    under_way, late = asyncio.Event(), asyncio.Event()

    async def dawdle(delivery: Delivery) -> None:
        under_way.set()
        await late.wait()

    platform.gate = dawdle
    ledger.clock.advance(5 * MINUTE - 10_000)
    trying = asyncio.ensure_future(sending.send_due())
    await under_way.wait()
    ledger.clock.advance(8_000)  # it could still be shown as the first was, but not for long
    assert await trying == 1
    late.set()
    assert await states(ledger) == [UNKNOWN]
    await send_for(ledger, sending, MINUTE)
    assert platform.shown == ["(again?) hello"]


@pytest.mark.guards("R10.2")
async def test_a_young_key_is_trusted_after_a_restart(ledger: Ledger) -> None:
    platform, sending = await lost_once(ledger)
    await sending.send_due()
    ledger.clock.advance(1_000)
    sending = sender(ledger, platform)
    await send_for(ledger, sending, MINUTE)
    assert platform.shown == ["hello"]


@pytest.mark.guards("R10.2")
async def test_a_platform_that_can_be_asked_is_asked_and_nothing_goes_out_twice(ledger: Ledger) -> None:
    await chat(ledger)
    platform = FakePlatform(ASKS)

    def arrives_but_answer_is_lost(delivery: Delivery) -> Lost:
        platform.put_up(delivery)
        return Lost("timeout")

    platform.play.append(arrives_but_answer_is_lost)
    await ledger.store.owe(owed("a", "hello"))
    sending = sender(ledger, platform)
    await sending.send_due()
    assert await sending.send_due() == 0  # not at once: it may still be on its way
    await send_for(ledger, sending, 2_000)
    assert (platform.shown, platform.asked, len(platform.sends)) == (["hello"], 1, 1)
    assert await states(ledger) == [SENT]


@pytest.mark.parametrize(("answer", "shown"), [(False, "hello"), (None, "(again?) hello")])
async def test_what_did_not_arrive_is_sent_again_and_marked_only_if_nobody_can_tell(
    ledger: Ledger, answer: bool | None, shown: str
) -> None:
    await chat(ledger)
    platform = FakePlatform(ASKS)
    platform.play.append(Lost("timeout"))
    platform.answers.append(answer)
    await ledger.store.owe(owed("a", "hello"))
    await send_for(ledger, sender(ledger, platform), 5_000)
    assert platform.shown == [shown]


async def test_asking_a_platform_that_does_not_answer_goes_on_and_ends_with_the_age(ledger: Ledger) -> None:
    await chat(ledger)
    platform = FakePlatform(ASKS)
    platform.play.append(Lost("timeout"))
    platform.answers += [PlatformDown("down")] * 1_000
    await ledger.store.owe(owed("a", "hello"))
    sending = sender(ledger, platform)
    await send_for(ledger, sending, HOUR, step=10_000)
    assert await states(ledger) == [UNKNOWN]
    assert platform.asked < 30
    await send_for(ledger, sending, DAY, step=10 * MINUTE)
    first, line = await ledger.outbox()
    assert first.state is FAILED
    assert first.reason == "too_old; it may have arrived"
    assert "may have been shown" in line.text


async def test_a_part_a_dead_process_was_sending_is_settled_by_the_next(ledger: Ledger) -> None:
    await chat(ledger)
    await ledger.store.owe(owed("a", "hello"))
    await ledger.send()
    await ledger.crash()
    await ledger.store.doubt_orphans()
    platform = FakePlatform()
    await send_for(ledger, sender(ledger, platform), 2_000)
    assert platform.shown == ["(again?) hello"]


@pytest.mark.guards("R10.2")
async def test_a_part_that_many_gateways_died_on_is_sent_soon_by_the_next(ledger: Ledger) -> None:
    await chat(ledger)
    await ledger.store.owe(owed("a", "hello"))
    platform = FakePlatform()
    for _ in range(4):
        assert await ledger.send(), "one has it in hand, and dies"
        await ledger.crash()
        await ledger.store.doubt_orphans()
        await sender(ledger, platform).send_due()
        ledger.clock.advance(10_000)
    await sender(ledger, platform).send_due()
    assert platform.shown == ["(again?) hello"]


@pytest.mark.guards("R10.2", "O5")
async def test_what_was_delivered_is_not_sent_again_by_a_restart(ledger: Ledger) -> None:
    await chat(ledger)
    await ledger.store.owe(owed("a", "hello"))
    platform = FakePlatform()
    await sender(ledger, platform).send_due()
    for _ in range(2):
        await ledger.crash()
        await ledger.store.doubt_orphans()
        await send_for(ledger, sender(ledger, platform), 3_000)
    assert platform.shown == ["hello"]


@pytest.mark.guards("R10.3")
async def test_a_refused_part_is_replaced_by_a_visible_line_and_the_rest_goes_out(ledger: Ledger) -> None:
    await chat(ledger)
    await ledger.store.owe(owed("a", "one", "two", "three"))
    platform = FakePlatform()
    platform.play += [Sent(), Rejected("bad markup"), Sent(), Rejected("bad markup again")]
    sending = sender(ledger, platform)
    for _ in range(5):
        await sending.send_due()
    assert platform.shown == ["one", "three"]
    parts = await ledger.outbox()
    assert [(part.state, part.reason) for part in parts] == [
        (SENT, None),
        (FAILED, "bad markup"),
        (SENT, None),
        (FAILED, "bad markup again"),  # the line itself: it is not replaced in turn
    ]
    assert "Part 2 of 3" in parts[-1].text


async def test_the_line_for_a_refused_part_is_owed_in_the_commit_that_refuses_it(ledger: Ledger) -> None:
    await chat(ledger)
    await ledger.store.owe(owed("a"))
    platform = FakePlatform()
    platform.play.append(Rejected("bad markup"))
    store = failing(ledger.store, owe=[AssertionError("owed apart")] * 9)
    await sender(ledger, platform, store=store).send_due()
    await ledger.crash()
    assert [part.kind for part in await ledger.outbox()] == [OwedKind.REPLY, OwedKind.NOTICE]


@pytest.mark.guards("R10.1")
@pytest.mark.parametrize("repeated", [False, True])
async def test_a_reply_to_a_message_that_is_gone_goes_out_without_reply_to(
    ledger: Ledger, repeated: bool
) -> None:
    await chat(ledger)
    platform = FakePlatform()
    platform.play += [Lost("no answer")] if repeated else []
    await ledger.store.owe(replace(owed("a", "one", "two"), reply_to="gone"))

    def gone(delivery: Delivery) -> Rejected | Sent:
        return Rejected("no such message", reply_gone=True) if delivery.reply_to else Sent()

    platform.play += [gone] * 4
    await send_for(ledger, sender(ledger, platform), 5_000)
    assert platform.shown == [f"{'(again?) ' if repeated else ''}one", "two"]
    assert await states(ledger) == [SENT, SENT]
    assert {one.chat for one in platform.sends} == {(await ledger.outbox())[0].chat}


@pytest.mark.guards("R10.1", "R10.3")
async def test_what_is_refused_without_reply_to_as_well_has_failed_once(ledger: Ledger) -> None:
    await chat(ledger)
    platform = FakePlatform()
    platform.play += [Rejected("no such message", reply_gone=True)] * 2
    await ledger.store.owe(replace(owed("a"), reply_to="gone"))
    await send_for(ledger, sender(ledger, platform), 5_000)
    assert (await states(ledger))[0] is FAILED
    assert len(platform.shown) == 1, "the line in its place"


@pytest.mark.guards("R10.3", "O6")
async def test_a_chat_that_is_gone_fails_as_a_whole_once_and_holds_up_no_other(ledger: Ledger) -> None:
    await chat(ledger, "c1", "c2")
    for n in range(3):
        await ledger.store.owe(owed(f"a{n}"))
    await ledger.store.owe(owed("b", "hi", chat="c2"))
    platform = FakePlatform()
    platform.play.append(lambda d: Rejected("blocked", whole_chat=True))
    sending = sender(ledger, platform)
    await send_for(ledger, sending, 5_000)
    await ledger.crash()
    await send_for(ledger, sender(ledger, platform), 5_000)
    assert [(part.state, part.reason) for part in await ledger.outbox()] == [(FAILED, "blocked")] * 3
    assert platform.shown == ["hi"]
    assert len(platform.sends) == 2


@pytest.mark.guards("R10.3", "E5", "O7")
async def test_a_platform_that_is_down_costs_no_attempt_and_is_not_hammered(ledger: Ledger) -> None:
    names = [f"c{n}" for n in range(4)]
    await chat(ledger, *names)
    for name in names:
        await ledger.store.owe(owed(f"a-{name}", chat=name))
    platform = FakePlatform()
    platform.play += [PlatformDown("no route")] * 1_000
    sending = sender(ledger, platform)
    await send_for(ledger, sending, 10 * MINUTE)
    assert len(platform.sends) < 80
    platform.play.clear()
    sending.poke()
    await send_for(ledger, sending, 2_000)
    assert [await states(ledger, name) for name in names] == [[SENT]] * 4
    assert (await ledger.outbox("c0"))[0].attempts == 1


@pytest.mark.guards("R10.3")
@pytest.mark.parametrize("restarted", [False, True])
async def test_a_platform_that_is_down_is_left_alone_for_the_seconds_it_asks_for(
    ledger: Ledger, restarted: bool
) -> None:
    await chat(ledger)
    await ledger.store.owe(owed("a", "hello"))
    platform = FakePlatform()
    platform.play.append(PlatformDown("too many requests", retry_after=30.0))
    sending = sender(ledger, platform)
    await sending.send_due()
    if restarted:
        await ledger.crash()
        sending = sender(ledger, platform)
    await send_for(ledger, sending, 29_000)
    assert platform.shown == []
    await send_for(ledger, sending, 2_000)
    assert platform.shown == ["hello"]


async def test_a_clock_set_back_while_the_platform_is_down_holds_up_no_other_chat(ledger: Ledger) -> None:
    await chat(ledger, "c1", "c2")
    await ledger.store.owe(owed("a", chat="c1"))
    platform = FakePlatform()
    platform.play.append(PlatformDown("no route"))
    sending = sender(ledger, platform)
    await sending.send_due()
    ledger.clock.jump(-6 * HOUR)
    await ledger.store.owe(owed("b", chat="c2"))
    await send_for(ledger, sending, 2_000)
    assert await states(ledger, "c2") == [SENT]


async def test_nothing_is_claimed_while_the_platform_is_not_connected(ledger: Ledger) -> None:
    await chat(ledger)
    await ledger.store.owe(owed("a"))
    platform, connected = FakePlatform(), False
    sending = sender(ledger, platform, ready=lambda: connected)
    await sending.send_due()
    assert await states(ledger) == [PENDING]
    connected = True
    await sending.send_due()
    assert await states(ledger) == [SENT]


async def test_what_is_too_old_is_not_sent_but_expired_and_told_once_per_message(ledger: Ledger) -> None:
    await chat(ledger)
    await ledger.store.owe(owed("a", "one", "two"))
    await ledger.store.owe(owed("n", "a notice", kind=OwedKind.NOTICE))
    ledger.clock.advance(DAY + 1)
    platform = FakePlatform()
    await send_for(ledger, sender(ledger, platform), 10_000)
    parts = await ledger.outbox()
    assert [(part.state, part.attempts) for part in parts[:3]] == [(DeliveryState.EXPIRED, 0)] * 3
    assert [part.reason for part in parts[:3]] == ["too_old"] * 3
    assert platform.shown == ["[A message could not be delivered here and was left out.]"]


async def test_an_adapter_that_breaks_leaves_an_unknown_outcome_and_a_report(ledger: Ledger) -> None:
    await chat(ledger)
    await ledger.store.owe(owed("a", "hello"))
    platform, reports = FakePlatform(), Reports()
    platform.play.append(ValueError("token 123:abc"))
    await sender(ledger, platform, report=reports).send_due()
    (part,) = await ledger.outbox()
    assert (part.state, part.reason) == (UNKNOWN, "the adapter failed (ValueError)")
    assert reports.doing == ["sending delivery 1"]


async def test_a_send_that_cancels_itself_is_an_unknown_outcome_like_any_other(ledger: Ledger) -> None:
    await chat(ledger)
    await ledger.store.owe(owed("a", "hello"))
    platform = FakePlatform()

    async def cancelled(delivery: Delivery) -> None:
        raise asyncio.CancelledError

    platform.gate = cancelled
    await sender(ledger, platform).send_due()
    assert await states(ledger) == [UNKNOWN]


async def test_a_send_that_never_returns_is_lost_after_a_while(ledger: Ledger) -> None:
    await chat(ledger)
    await ledger.store.owe(owed("a", "hello"))
    platform, slept = FakePlatform(), watch(ledger.clock)

    async def hang(delivery: Delivery) -> None:
        await asyncio.get_running_loop().create_future()

    platform.gate = hang
    sending = asyncio.ensure_future(sender(ledger, platform).send_due())
    await slept.since(0)
    ledger.clock.advance(120_000)
    await sending
    assert await states(ledger) == [UNKNOWN]


async def test_a_result_the_ledger_could_not_take_is_recorded_later_and_nothing_is_sent_meanwhile(
    ledger: Ledger,
) -> None:
    await chat(ledger)
    await ledger.store.owe(owed("a", "one", "two"))
    platform, slept = FakePlatform(), watch(ledger.clock)
    store = failing(ledger.store, record_delivery=[DiskFull("full"), StoreUnavailable("busy")])
    sending = sender(ledger, platform, store=store)
    first = asyncio.ensure_future(sending.send_due())
    for n in (1, 2):  # the send's own bound comes first
        await slept.since(n)
        assert sending.busy
        assert platform.shown == ["one"]
        assert await states(ledger) == [DeliveryState.SENDING, PENDING]
        ledger.clock.advance(30_000)
    await first
    assert await states(ledger) == [SENT, PENDING]
    await sending.send_due()
    assert platform.shown == ["one", "two"]


async def test_a_result_kept_back_by_the_ledger_outlives_a_stop_of_the_sender(ledger: Ledger) -> None:
    await chat(ledger)
    await ledger.store.owe(owed("a", "one"))
    platform, slept = FakePlatform(), watch(ledger.clock)
    sending = sender(ledger, platform, store=failing(ledger.store, record_delivery=[DiskFull("full")]))
    working = asyncio.ensure_future(sending.work())
    while not platform.shown:
        await platform.bell.since(platform.bell.rung)
    await slept.since(slept.rung)
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)
    assert await states(ledger) == [DeliveryState.SENDING]
    working = asyncio.ensure_future(sending.work())
    await sending.quiet()
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)
    assert await states(ledger) == [SENT]
    assert platform.shown == ["one"]


@pytest.mark.guards("R13", "C7")
async def test_a_question_that_reaches_nobody_is_closed_and_ends_its_turn(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.ask(claimed.fence)
    platform = FakePlatform()
    platform.play.append(Rejected("blocked", whole_chat=True))
    await sender(ledger, platform).send_due()
    assert (await ledger.turn(claimed.session.id)).state is TurnState.EXPIRED


async def test_of_two_questions_only_the_one_that_was_refused_is_closed(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.append(
        claimed.fence,
        asks("c1", "c2"),
        plan=(planned("c1"), planned("c2")),
        start=(CallId("c1"), CallId("c2")),
        ask=tuple(
            ledger.question(f"q{n}", f"c{n}", kind=QuestionKind.APPROVAL, call_hash="x") for n in (1, 2)
        ),
        tail=Tail.QUESTION,
    )
    await ledger.store.wait(claimed.fence)
    platform = FakePlatform()
    platform.play += [Sent("m1"), Rejected("not this one")]
    sending = sender(ledger, platform)
    while await sending.send_due():
        pass
    asked = {one.id: one.state for one in await ledger.store.questions((claimed.turn.id,))}
    assert asked == {"q1": QuestionState.OPEN, "q2": QuestionState.UNDELIVERABLE}


async def test_a_question_behind_the_part_that_found_the_chat_gone_is_closed_too(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.store.owe(owed("before"))
    await ledger.ask(claimed.fence)
    platform = FakePlatform()
    platform.play.append(Rejected("blocked", whole_chat=True))
    await sender(ledger, platform).send_due()
    assert (await ledger.turn(claimed.session.id)).state is TurnState.EXPIRED


async def test_work_wakes_up_for_what_is_owed_and_at_the_time_of_a_retry(ledger: Ledger) -> None:
    await chat(ledger)
    platform, slept = FakePlatform(), watch(ledger.clock)
    platform.play.append(TryAgain(ledger.clock.now() + 20_000, "flood", counts=False))
    sending = sender(ledger, platform)
    working = asyncio.ensure_future(sending.work())
    await slept.since(0)  # there was nothing to do
    await ledger.store.owe(owed("a", "one"))
    await slept.until(20.0)
    assert platform.shown == []
    ledger.clock.advance(20_000)
    await sending.quiet()
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)
    assert platform.shown == ["one"]


async def test_quiet_waits_for_what_is_in_doubt_and_for_what_is_due_later(ledger: Ledger) -> None:
    await chat(ledger)
    platform, slept = FakePlatform(), watch(ledger.clock)
    platform.play.append(Lost("timeout"))
    await ledger.store.owe(owed("a", "one", "two"))
    sending = sender(ledger, platform)
    working = asyncio.ensure_future(sending.work())
    quiet = asyncio.ensure_future(sending.quiet())
    await slept.until(0.75)  # the repeat of the first part
    assert not quiet.done()
    ledger.clock.advance(750)
    await quiet
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)
    assert platform.shown == ["(again?) one", "two"]


async def test_a_full_disk_delays_sending_and_a_closed_ledger_ends_it(ledger: Ledger) -> None:
    await chat(ledger)
    await ledger.store.owe(owed("a", "one"))
    platform, slept = FakePlatform(), watch(ledger.clock)
    faults: list[Exception] = [DiskFull("full"), StoreClosed("closed")]
    sending = sender(ledger, platform, store=failing(ledger.store, claim_deliveries=faults))
    working = asyncio.ensure_future(sending.work())
    await slept.since(0)
    assert not working.done()
    ledger.clock.advance(30_000)
    with pytest.raises(StoreClosed):
        await working
    assert platform.shown == []


async def test_a_ledger_that_is_closed_before_a_result_is_recorded_ends_the_sending(ledger: Ledger) -> None:
    await chat(ledger)
    await ledger.store.owe(owed("a", "one"))
    platform = FakePlatform()
    closed: list[Exception] = [StoreClosed("closed")]
    sending = sender(ledger, platform, store=failing(ledger.store, record_delivery=closed))
    with pytest.raises(StoreClosed):
        await sending.work()
    assert platform.shown == ["one"]


class Looks:
    """The ledger, counting how often it is asked what is in doubt."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.count = 0

    def __getattr__(self, name: str) -> Any:
        self.count += name == "in_doubt"
        return getattr(self._store, name)


async def test_the_ledger_is_asked_for_doubts_only_when_there_may_be_some(ledger: Ledger) -> None:
    await chat(ledger)
    looks = Looks(ledger.store)
    platform = FakePlatform(capabilities=ASKS)
    sending = sender(ledger, platform, store=looks)
    for dedupe in ("a", "b", "c"):
        await ledger.store.owe(owed(dedupe))
        await sending.send_due()
    assert looks.count == 1
    platform.play = [Lost("no answer")]
    await ledger.store.owe(owed("d"))
    await sending.send_due()
    assert await states(ledger) == [SENT, SENT, SENT, UNKNOWN]
    await sending.send_due()
    assert looks.count == 2


async def test_that_nothing_is_in_doubt_is_not_believed_for_ever(ledger: Ledger) -> None:
    await chat(ledger)
    looks = Looks(ledger.store)
    sending = sender(ledger, FakePlatform(), store=looks)
    await sending.send_due()
    ledger.clock.advance(2 * MINUTE)
    await sending.send_due()
    assert looks.count == 2


async def test_what_the_platform_finds_keeps_the_id_it_has_there(ledger: Ledger) -> None:
    await chat(ledger)
    await ledger.store.owe(owed("a"))
    platform = FakePlatform(ASKS)
    platform.play, platform.answers = [Lost("no answer")], [Sent("m7")]
    await send_for(ledger, sender(ledger, platform), 5 * MINUTE)
    (part,) = await ledger.outbox()
    assert (part.state, part.platform_id) == (SENT, "m7")


@pytest.mark.guards("R10.1")
@pytest.mark.parametrize("files", [(), (Attachment("d", "a.pdf", "application/pdf", 3),)])
async def test_a_line_in_place_of_a_part_replies_to_what_the_part_replied_to(
    ledger: Ledger, files: tuple[Attachment, ...]
) -> None:
    await chat(ledger)
    results: tuple[SendResult, ...] = (Rejected("no"), TryAgain(0, "late"))
    for n, result in enumerate(results):
        platform = FakePlatform(Capabilities(Ack.OFFSET, files=9))
        platform.play.append(result)
        await ledger.store.owe(replace(owed(f"a{n}", "one"), reply_to=f"m{n}", files=files))
        sending = sender(ledger, platform)
        await sending.send_due()
        if isinstance(result, TryAgain):
            ledger.clock.advance(DAY + 1)
        await send_for(ledger, sending, 2_000)
        assert [one.reply_to for one in platform.sends] == [f"m{n}"] * 2, "the part, and the line for it"
        assert platform.sends[-1].dedupe.startswith("line:")


class Between:
    """The ledger, with something that happens right after a verb has looked."""

    def __init__(self, store: Store, verb: str, then: Callable[[], Awaitable[object]]) -> None:
        self._store = store
        self._verb = verb
        self._then: Callable[[], Awaitable[object]] | None = then

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._store, name)
        if name != self._verb or self._then is None:
            return real

        async def looked(*args: Any, **kwargs: Any) -> Any:
            found, then = await real(*args, **kwargs), self._then
            self._then = None
            if then is not None:
                await then()
            return found

        return looked


@pytest.mark.parametrize("verb", ["in_doubt", "failing", "claim_deliveries", "next_send_at"])
async def test_what_is_owed_in_the_middle_of_a_look_is_sent_without_any_time_passing(
    ledger: Ledger, verb: str
) -> None:
    await chat(ledger)
    platform = FakePlatform()
    store = Between(ledger.store, verb, lambda: ledger.store.owe(owed("a", "hello")))
    working = asyncio.ensure_future(sender(ledger, platform, store=store).work())
    async with asyncio.timeout(10):
        while not platform.shown:
            await platform.bell.since(platform.bell.rung)
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)
    assert platform.shown == ["hello"]


async def test_a_doubt_that_comes_up_in_the_middle_of_the_look_for_doubts_is_settled(ledger: Ledger) -> None:
    await chat(ledger)
    await ledger.store.owe(owed("a", "hello"))

    async def lose_it() -> None:
        (part,) = await ledger.send()
        await ledger.store.record_delivery(part.id, Lost("timeout"))

    platform = FakePlatform()
    sending = sender(ledger, platform, store=Between(ledger.store, "in_doubt", lose_it))
    await sending.send_due()
    await send_for(ledger, sending, 2_000)
    assert platform.shown == ["(again?) hello"]


async def test_a_failure_in_the_middle_of_the_look_for_failures_is_not_overlooked(ledger: Ledger) -> None:
    await chat(ledger, "c1", "c2")
    await ledger.store.owe(owed("a", "hello"))

    async def fail() -> None:
        (part,) = await ledger.send()
        await ledger.store.record_delivery(part.id, TryAgain(ledger.clock.now() + 50_000, "reset"))

    platform = FakePlatform()
    sending = sender(ledger, platform, store=Between(ledger.store, "failing", fail))
    await sending.send_due()
    await ledger.store.owe(owed("b", "elsewhere", chat="c2"))
    await send_for(ledger, sending, 2_000)
    assert platform.shown == ["elsewhere", "hello"], "it is tried at once when another send succeeds"


@pytest.mark.guards("R12")
async def test_a_refused_word_about_work_in_progress_is_not_replaced(ledger: Ledger) -> None:
    await chat(ledger)
    await ledger.store.owe(owed("working:t:1", kind=OwedKind.NOTICE))
    platform = FakePlatform()
    platform.play = [Rejected("no")]
    await send_for(ledger, sender(ledger, platform), 5 * MINUTE)
    assert await states(ledger) == [FAILED]
