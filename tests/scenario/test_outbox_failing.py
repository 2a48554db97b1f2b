"""R10.3 on the real ledger: what fails is tried until it is too old, floods nobody, and mutes no chat."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from holdfast.model import Delivery, DeliveryState, Lost, Rejected, SendResult, Sent, TryAgain
from holdfast.outbox import Sender
from holdfast.platforms import Ack, Capabilities, PlatformDown
from holdfast.policy.settings import DAY, HOUR, MINUTE
from tests.support.ledger import Ledger, owed
from tests.support.platforms import FakePlatform, HalfRng

SENT, FAILED, PENDING = DeliveryState.SENT, DeliveryState.FAILED, DeliveryState.PENDING


def sender(ledger: Ledger, platform: FakePlatform) -> Sender:
    return Sender(ledger.store, ledger.clock, HalfRng(), platform)


async def chats(ledger: Ledger, *names: str) -> None:
    """The chats exist, and nothing is owed to them."""
    for name in names:
        await ledger.complete(chat=name)


async def send_for(ledger: Ledger, sending: Sender, time: int, step: int = MINUTE) -> None:
    """Let time pass, and send whatever is due meanwhile."""
    for _ in range(time // step):
        ledger.clock.advance(step)
        while await sending.send_due():
            pass


class Outage(FakePlatform):
    """What becomes of a send that `fails` is not known, or, without `lost`, that it did not arrive."""

    def __init__(self, ledger: Ledger, fails: Callable[[Delivery], bool], lost: bool = True) -> None:
        super().__init__()
        self._ledger = ledger
        self._fails = fails
        self._result: SendResult = Lost("502") if lost else TryAgain(0, "reset")
        self._begun = ledger.clock.now()
        self.tries: list[tuple[str, int]] = []

    def _send(self, delivery: Delivery) -> SendResult:
        self.tries.append((delivery.text, self.now))
        self.play = [self._result] if self._fails(delivery) else [Sent()]
        return super()._send(delivery)

    @property
    def now(self) -> int:
        return self._ledger.clock.now() - self._begun

    def times(self, text: str) -> list[int]:
        return [at for said, at in self.tries if said == text]


@pytest.mark.guards("R10.3")
async def test_what_certainly_did_not_arrive_is_tried_until_it_is_too_old(ledger: Ledger) -> None:
    await chats(ledger, "c1")
    await ledger.store.owe(owed("a", "hello"))
    platform = Outage(ledger, lambda _: platform.now < 23 * HOUR, lost=False)
    await send_for(ledger, sender(ledger, platform), DAY)
    assert platform.shown == ["hello"]
    times = platform.times("hello")
    assert len(times) > 90
    assert max(b - a for a, b in zip(times, times[1:], strict=False)) <= 16 * MINUTE


@pytest.mark.guards("R10.3")
async def test_what_never_arrives_is_given_up_with_its_age_and_said(ledger: Ledger) -> None:
    await chats(ledger, "c1")
    await ledger.store.owe(owed("a", "hello"))
    platform = Outage(ledger, lambda delivery: delivery.text == "hello")
    await send_for(ledger, sender(ledger, platform), DAY + HOUR)
    first, line = await ledger.outbox()
    assert (first.state, first.reason) == (FAILED, "repeated 8 times; it may have arrived")
    assert line.state is SENT
    assert "may have been shown" in line.text


OUTAGES = [2, 20, 45, 3 * 60, 7 * 60, 14 * 60, 23 * 60, 24 * 60 - 5]


@pytest.mark.guards("R10.3")
@pytest.mark.parametrize("minutes", OUTAGES)
async def test_an_outage_below_the_age_loses_nothing_and_shows_few_copies(
    ledger: Ledger, minutes: int
) -> None:
    await chats(ledger, "c1")
    await ledger.store.owe(owed("a", "hello"))
    platform = Outage(ledger, lambda _: platform.now < minutes * MINUTE)
    await send_for(ledger, sender(ledger, platform), DAY)
    assert platform.shown == ["(again?) hello"]
    assert len(platform.sends) <= 9


@pytest.mark.guards("R10.3")
async def test_no_restart_gives_a_part_more_repeats_or_earlier_ones(ledger: Ledger) -> None:
    await chats(ledger, "c1")
    await ledger.store.owe(owed("a", "hello"))
    platform = Outage(ledger, lambda _: True)
    for _ in range(24):
        sending = sender(ledger, platform)
        sending.poke()
        await send_for(ledger, sending, HOUR - MINUTE)
        await ledger.crash()
        await ledger.store.doubt_orphans()
        ledger.clock.advance(MINUTE)
    times = platform.times("hello")
    assert len(times) <= 9
    assert times[4] > HOUR


@pytest.mark.guards("R10.3")
@pytest.mark.parametrize("restarted", [False, True])
async def test_the_first_other_send_that_succeeds_brings_what_failed_at_once(
    ledger: Ledger, restarted: bool
) -> None:
    await chats(ledger, "c1", "c2")
    await ledger.store.owe(owed("a", "hello"))
    platform = Outage(ledger, lambda _: platform.now < 4 * HOUR)
    sending = sender(ledger, platform)
    await send_for(ledger, sending, 4 * HOUR + MINUTE)
    before = len(platform.sends)
    if restarted:
        await ledger.crash()
        sending = sender(ledger, platform)
    await ledger.store.owe(owed("b", "elsewhere", chat="c2"))
    await send_for(ledger, sending, 2_000, step=1_000)
    assert platform.shown == ["elsewhere", "(again?) hello"]
    assert len(platform.sends) == before + 2


@pytest.mark.guards("R10.3")
async def test_a_bad_part_is_not_repeated_with_every_other_send_and_mutes_nothing(ledger: Ledger) -> None:
    """One part fails for good, all others arrive: hers comes a few times, and her chat goes on."""
    await chats(ledger, "c1", "c2")
    await ledger.store.owe(owed("a", "one", "bad", "three"))
    platform = Outage(ledger, lambda delivery: delivery.text == "bad")
    sending = sender(ledger, platform)
    for n in range(15):
        await ledger.store.owe(owed(f"b{n}", "elsewhere", chat="c2"))
        await send_for(ledger, sending, MINUTE)
    await ledger.store.owe(owed("c", "later"))
    await send_for(ledger, sending, MINUTE)
    assert [text for text in platform.shown if text != "elsewhere"] == ["one"], "it is not given up so soon"
    await send_for(ledger, sending, 5 * MINUTE)
    one, three, later, line = [text for text in platform.shown if text != "elsewhere"]
    assert (one, three, later) == ("one", "three", "later")
    assert line.startswith("[Part 2 of 3 of a message could not be delivered here so far.")
    for n in range(24 * 6):
        await ledger.store.owe(owed(f"d{n}", "elsewhere", chat="c2"))
        await send_for(ledger, sending, 10 * MINUTE)
    times = platform.times("bad")
    assert len(times) <= 9
    waits = [later - earlier for earlier, later in zip(times, times[1:], strict=False)]
    assert all(wait >= MINUTE for wait in waits[2:])
    assert waits[-1] >= 2 * HOUR
    bad = (await ledger.outbox())[1]
    assert (bad.state, bad.attempts) == (FAILED, len(times))
    assert any("could not be delivered here and was left out" in text for text in platform.shown)


@pytest.mark.guards("R10.3")
@pytest.mark.parametrize("lost", [True, False])
async def test_a_part_that_stepped_aside_arrives_late_and_says_what_it_is(ledger: Ledger, lost: bool) -> None:
    await chats(ledger, "c1", "c2")
    await ledger.store.owe(replace(owed("a", "one", "two"), reply_to="m7"))
    platform = Outage(
        ledger, lambda delivery: delivery.text == "one" and platform.now < 40 * MINUTE, lost=lost
    )
    sending = sender(ledger, platform)
    await send_for(ledger, sending, MINUTE)
    await ledger.store.owe(owed("b", "elsewhere", chat="c2"))
    await send_for(ledger, sending, 20 * MINUTE)
    first = (await ledger.outbox())[0]
    assert (first.state, first.aside_at is not None) == (PENDING, True)
    await ledger.crash()
    await send_for(ledger, sender(ledger, platform), 4 * HOUR)
    late = platform.sends[-1]
    assert (late.text, late.part, late.parts, late.repeated, late.aside_at) == (
        *("one", 1, 2, lost),
        first.aside_at,
    )
    parts = await ledger.outbox()
    assert [part.state for part in parts] == [SENT] * 3
    assert {part.reply_to for part in parts} == {late.reply_to} == {"m7"}, "also the line in its place"


async def test_no_line_is_owed_for_a_line_that_steps_aside(ledger: Ledger) -> None:
    await chats(ledger, "c1", "c2")
    await ledger.store.owe(owed("line:a", "one"))
    platform = Outage(ledger, lambda delivery: delivery.text == "one")
    sending = sender(ledger, platform)
    await send_for(ledger, sending, MINUTE)
    await ledger.store.owe(owed("b", "elsewhere", chat="c2"))
    await send_for(ledger, sending, 20 * MINUTE)
    (only,) = await ledger.outbox()
    assert (only.text, only.aside_at is not None) == ("one", True)


async def test_a_part_that_stepped_aside_is_never_in_flight_beside_another_of_its_chat(
    ledger: Ledger,
) -> None:
    """The platform itself asserts that it is sent one part of a chat at a time."""
    await chats(ledger, "c1", "c2")
    platform = Outage(ledger, lambda delivery: delivery.text == "bad")
    sending = sender(ledger, platform)
    await ledger.store.owe(owed("a", "bad"))
    await ledger.store.owe(owed("b", "elsewhere", chat="c2"))
    await send_for(ledger, sending, HOUR)
    for n in range(300):
        await ledger.store.owe(owed(f"c{n}", "more"))
        await send_for(ledger, sending, MINUTE)
    assert platform.shown.count("more") == 300
    assert len(platform.times("bad")) > 4


@pytest.mark.guards("R10.3", "R10.1")
async def test_an_outage_of_everything_lets_nothing_overtake(ledger: Ledger) -> None:
    await chats(ledger, "c1", "c2")
    await ledger.store.owe(owed("a", "one", "two"))
    platform = Outage(ledger, lambda _: platform.now < 2 * HOUR)
    sending = sender(ledger, platform)
    await send_for(ledger, sending, 10 * MINUTE)
    await ledger.store.owe(owed("b", "three"))
    await ledger.store.owe(owed("c", "elsewhere", chat="c2"))
    await send_for(ledger, sending, 4 * HOUR)
    assert [text for text in platform.shown if "elsewhere" not in text] == ["(again?) one", "two", "three"]


async def test_a_chat_by_itself_is_answered_soon_after_the_outage_once_its_person_writes_again(
    ledger: Ledger,
) -> None:
    await chats(ledger, "c1")
    await ledger.store.owe(owed("a", "one"))
    platform = Outage(ledger, lambda _: platform.now < 8 * HOUR)
    sending = sender(ledger, platform)
    await send_for(ledger, sending, 9 * HOUR)
    assert platform.shown == []
    await ledger.store.owe(owed("b", "two"))
    await send_for(ledger, sending, MINUTE)
    assert platform.shown == ["(again?) one", "two"]


async def test_a_person_who_writes_all_through_an_outage_is_answered_after_it(ledger: Ledger) -> None:
    await chats(ledger, "c1")
    platform = Outage(ledger, lambda _: platform.now < 10 * HOUR)
    sending = sender(ledger, platform)
    for n in range(24):
        await ledger.store.owe(owed(f"a{n}", f"answer {n}"))
        await send_for(ledger, sending, 30 * MINUTE)
    await send_for(ledger, sending, DAY)
    parts = await ledger.outbox()
    assert all(part.state is SENT for part in parts)
    assert max(len(platform.times(f"answer {n}")) for n in range(24)) <= 9
    assert platform.now > DAY
    assert len([text for text in platform.shown if text == "answer 23"]) == 1


@pytest.mark.guards("R10.3")
async def test_a_platform_that_is_back_is_sent_at_once_what_certainly_did_not_arrive(ledger: Ledger) -> None:
    await chats(ledger, "c1", "c2")
    platform = Outage(ledger, lambda _: platform.now < 3 * HOUR, lost=False)
    sending = sender(ledger, platform)
    await ledger.store.owe(owed("a", "hello"))
    await send_for(ledger, sending, 3 * HOUR)
    sending.poke()
    await sending.send_due()
    assert platform.shown == ["hello"]


@pytest.mark.guards("R10.3")
async def test_neither_a_reconnection_nor_a_success_elsewhere_breaks_a_throttle(ledger: Ledger) -> None:
    await chats(ledger, "c1", "c2")
    await ledger.store.owe(owed("a", "hello"))
    platform = FakePlatform()
    until = ledger.clock.now() + HOUR
    platform.play += [TryAgain(0, "reset"), TryAgain(until, "flood", counts=False)]
    sending = sender(ledger, platform)
    await send_for(ledger, sending, 2 * MINUTE)
    await ledger.store.owe(owed("b", "elsewhere", chat="c2"))
    sending.poke()
    await send_for(ledger, sending, 50 * MINUTE)
    assert platform.shown == ["elsewhere"]
    await send_for(ledger, sending, 20 * MINUTE)
    assert platform.shown == ["elsewhere", "hello"]


async def test_a_platform_that_is_down_for_a_day_fails_nothing_and_ages_everything(ledger: Ledger) -> None:
    await chats(ledger, "c1")
    await ledger.store.owe(owed("a", "hello"))
    platform = FakePlatform()
    platform.play += [PlatformDown("no route")] * 10_000
    await send_for(ledger, sender(ledger, platform), 12 * HOUR)
    (part,) = await ledger.outbox()
    assert (part.state, part.attempts, part.failing_since) == (PENDING, 0, None)


async def test_what_a_platform_was_asked_about_in_vain_steps_aside_too(ledger: Ledger) -> None:
    await chats(ledger, "c1", "c2")
    await ledger.store.owe(owed("a", "hello", "and more"))
    platform = FakePlatform(Capabilities(Ack.OFFSET, reconcile=True))
    platform.play.append(Lost("timeout"))
    platform.answers += [PlatformDown("cannot be asked")] * 1_000
    sending = sender(ledger, platform)
    await send_for(ledger, sending, MINUTE)
    await ledger.store.owe(owed("b", "elsewhere", chat="c2"))
    await send_for(ledger, sending, 25 * MINUTE)
    assert platform.shown[:2] == ["elsewhere", "and more"]
    platform.answers[:] = [False]
    await send_for(ledger, sending, HOUR)
    assert platform.shown[-1] == "hello"


@pytest.mark.guards("R12")
async def test_an_answer_waits_for_no_words_about_its_work(ledger: Ledger) -> None:
    await chats(ledger, "c1")
    await ledger.store.owe(owed("working:t:1", "Still working"))
    await ledger.store.owe(owed("a", "the answer"))
    platform = Outage(ledger, lambda delivery: delivery.text == "Still working")
    await send_for(ledger, sender(ledger, platform), 10_000, step=1_000)
    assert platform.shown == ["the answer"]
    assert len(platform.times("Still working")) == 2


async def test_a_refusal_of_a_part_that_stepped_aside_is_final(ledger: Ledger) -> None:
    await chats(ledger, "c1", "c2")
    await ledger.store.owe(owed("a", "bad"))
    platform = Outage(ledger, lambda delivery: delivery.text == "bad")
    sending = sender(ledger, platform)
    await send_for(ledger, sending, MINUTE)
    await ledger.store.owe(owed("b", "elsewhere", chat="c2"))
    await send_for(ledger, sending, HOUR)
    platform._result = Rejected("no")
    await send_for(ledger, sending, DAY)
    part = (await ledger.outbox())[0]
    assert (part.state, part.reason) == (FAILED, "no")
