"""A sender at work: how many it sends to at once, what stops it, when it looks again, and what it reports."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from holdfast.clock import Bell
from holdfast.errors import DiskFull
from holdfast.model import (
    Delivery,
    DeliveryState,
    Lost,
    QuestionState,
    Rejected,
    Sent,
    TryAgain,
    TurnState,
    working_key,
)
from holdfast.outbox import Sender
from holdfast.platforms import Ack, Capabilities, PlatformDown
from holdfast.policy.settings import HOUR, MINUTE
from holdfast.store import Store
from holdfast.testing import ManualClock
from tests.scenario.test_outbox_sending import chat, send_for, sender, states
from tests.support.ledger import Ledger, address, answers, owed
from tests.support.platforms import FakePlatform, Reports, failing, watch
from tests.support.stage import LONG, soon

SENT, FAILED, PENDING = DeliveryState.SENT, DeliveryState.FAILED, DeliveryState.PENDING
ASKS = Capabilities(Ack.OFFSET, reconcile=True)


class Gated(FakePlatform):
    """A send to a chat lasts until its gate is opened."""

    def __init__(self, *gates: str) -> None:
        super().__init__()
        self.gates = {name: asyncio.Event() for name in gates}
        self.gate = self._wait

    async def _wait(self, delivery: Delivery) -> None:
        self.bell.ring()
        gate = self.gates.get(delivery.chat.rpartition("/")[2])
        if gate is not None:
            await gate.wait()

    async def until_in_flight(self, count: int) -> None:
        while sum(self.in_flight.values()) != count:
            await soon(self.bell.since(self.bell.rung))


class Naps(Bell):
    """For how long the sender sleeps, and after how many sends."""

    def __init__(self, clock: ManualClock, platform: FakePlatform) -> None:
        super().__init__()
        self._asked: set[tuple[int, float]] = set()
        sleep = clock.sleep

        async def watched(seconds: float) -> None:
            self._asked.add((len(platform.sends), seconds))
            self.ring()
            await sleep(seconds)

        clock.sleep = watched  # type: ignore[method-assign]

    async def until(self, sends: int, seconds: float) -> None:
        while (sends, seconds) not in self._asked:
            await soon(self.since(self.rung))


async def until_sent(ledger: Ledger, platform: FakePlatform, count: int) -> None:
    """Return after so many sends. Who was awake when time passed sleeps a moment more."""
    async with asyncio.timeout(LONG):
        while len(platform.sends) < count:
            for _ in range(9):
                await ledger.store.instances(1)
            if len(platform.sends) < count:
                ledger.clock.advance(50)


@asynccontextmanager
async def at_work(sending: Sender) -> AsyncIterator[asyncio.Task[None]]:
    """The sender works while the block runs; then it is stopped."""
    working = asyncio.ensure_future(sending.work())
    try:
        yield working
    finally:
        working.cancel()
        await asyncio.wait([working])


# How many at once, and who is busy.


@pytest.mark.guards("R10.1")
async def test_what_comes_while_all_hands_are_full_waits_for_one_that_is_free(ledger: Ledger) -> None:
    await chat(ledger, "c1", "c2", "c3")
    platform, slept = Gated("c1", "c2"), watch(ledger.clock)
    for name in ("c1", "c2", "c3"):
        await ledger.store.owe(owed(f"a-{name}", f"to {name}", chat=name))
    async with at_work(sender(ledger, platform, at_once=2)):
        await platform.until_in_flight(2)
        await soon(slept.until(60.0))  # it waits for a free hand, not for the message that is due
        assert platform.most_in_flight == 2
        platform.gates["c2"].set()
        while "to c3" not in platform.shown:
            await soon(platform.bell.since(platform.bell.rung))
    assert platform.most_in_flight == 2
    assert platform.shown == ["to c2", "to c3"]


async def test_a_sender_is_busy_while_one_of_its_sends_lasts_and_idle_before_and_after(
    ledger: Ledger,
) -> None:
    await chat(ledger, "c1", "c2")
    platform = Gated("c1")
    sending = sender(ledger, platform)
    was_busy = [sending.busy]
    for name in ("c1", "c2"):
        await ledger.store.owe(owed(f"a-{name}", f"to {name}", chat=name))
    async with at_work(sending):
        while await states(ledger, "c2") != [SENT]:
            await ledger.store.instances(1)
        was_busy.append(sending.busy)  # the other send lasts
        platform.gates["c1"].set()
        await soon(sending.quiet())
    assert [*was_busy, sending.busy] == [False, True, False]


async def test_a_platform_that_is_not_connected_is_not_looked_at_all_the_time(ledger: Ledger) -> None:
    await chat(ledger)
    await ledger.store.owe(owed("a", "hello"))
    platform, slept = FakePlatform(), watch(ledger.clock)
    async with at_work(sender(ledger, platform, ready=lambda: False)):
        await soon(slept.since(0))
    assert slept.asked == [60.0]


# Stopped, and started again.


@pytest.mark.guards("R10.2")
async def test_a_send_that_the_stop_of_the_sender_cut_off_is_known_to_be_in_doubt_and_goes_on_with_it(
    ledger: Ledger,
) -> None:
    await chat(ledger)
    await ledger.store.owe(owed("a", "hello"))
    platform = Gated("c1")
    sending = sender(ledger, platform)
    async with at_work(sending):
        await platform.until_in_flight(1)
    assert sending.busy, "its result is not recorded"
    platform.gates["c1"].set()
    slept = watch(ledger.clock)
    async with at_work(sending) as working:
        await soon(slept.until(0.75))
        (part,) = await ledger.outbox()
        assert (part.state, part.repeats, part.failing_since) == (PENDING, 0, None), "nothing failed"
        ledger.clock.advance(750)
        await until_sent(ledger, platform, 1)
        await soon(sending.quiet())
        assert not working.done()
    assert platform.shown == ["(again?) hello"]


async def test_a_sender_that_is_stopped_ends_when_all_of_its_sends_have_ended(ledger: Ledger) -> None:
    await chat(ledger, "c1", "c2")
    for name in ("c1", "c2"):
        await ledger.store.owe(owed(f"a-{name}", f"to {name}", chat=name))
    leaves, platform = asyncio.Event(), Gated("c1")

    async def linger(delivery: Delivery) -> None:
        platform.bell.ring()
        try:
            await platform.gates["c1"].wait()
        except asyncio.CancelledError:
            if delivery.chat == address("c2"):
                await leaves.wait()
            raise

    platform.gate = linger
    working = asyncio.ensure_future(sender(ledger, platform).work())
    await platform.until_in_flight(2)
    working.cancel()
    await platform.until_in_flight(1)
    for _ in range(9):
        await ledger.store.instances(1)
    assert not working.done(), "one of them still closes its connection"
    leaves.set()
    await asyncio.wait([working])
    assert sum(platform.in_flight.values()) == 0


class Silent(FakePlatform):
    """When it is asked for the first time it does not answer."""

    async def find(self, delivery: Delivery) -> Sent | bool | None:
        found = await super().find(delivery)
        self.bell.ring()
        if self.asked == 1:
            await asyncio.Event().wait()
        return found


async def test_a_sender_that_was_stopped_while_it_asked_the_platform_asks_again_when_it_is_started(
    ledger: Ledger,
) -> None:
    await chat(ledger)
    await ledger.store.owe(owed("a", "hello"))
    platform = Silent(ASKS)
    platform.play.append(Lost("timeout"))
    sending = sender(ledger, platform)
    await sending.send_due()
    ledger.clock.advance(MINUTE)
    async with at_work(sending):
        while not platform.asked:
            await soon(platform.bell.since(platform.bell.rung))
    async with at_work(sending):
        while platform.asked < 2:
            await soon(platform.bell.since(platform.bell.rung))
        await until_sent(ledger, platform, 2)
    assert platform.shown == ["hello"]


# Faults of the ledger.


async def test_a_ledger_that_fails_is_looked_at_again_soon_then_ever_less_often_and_each_fault_is_reported(
    ledger: Ledger,
) -> None:
    await chat(ledger)
    await ledger.store.owe(owed("a", "hello"))
    platform, slept, reports = FakePlatform(), watch(ledger.clock), Reports()
    faults: list[Exception] = [DiskFull("full")] * 3
    store = failing(ledger.store, claim_deliveries=faults)
    async with at_work(sender(ledger, platform, store=store, report=reports)):
        for count in range(3):
            while len(slept.asked) == count:
                await soon(slept.since(slept.rung))
            assert reports.doing == ["sending to fake"] * (count + 1)
            ledger.clock.advance(round(slept.asked[count] * 1_000))
        while not platform.shown:
            await soon(platform.bell.since(platform.bell.rung))
        first, second, third = slept.asked[:3]
        assert first <= 0.5 and first < second < third
        await soon(slept.until(60.0))  # all is well again
        slept.asked.clear()
        faults.append(DiskFull("full"))
        await ledger.store.owe(owed("b", "more"))
        await soon(slept.until(first))  # the next fault is the first one again


async def test_a_result_that_the_ledger_cannot_take_is_reported_and_recorded_soon(ledger: Ledger) -> None:
    await chat(ledger)
    await ledger.store.owe(owed("a", "hello"))
    platform, slept, reports = FakePlatform(), watch(ledger.clock), Reports()
    store = failing(ledger.store, record_delivery=[DiskFull("full")])
    first = asyncio.ensure_future(sender(ledger, platform, store=store, report=reports).send_due())
    while len(slept.asked) < 2:  # the first is the bound of the send
        await soon(slept.since(slept.rung))
    assert reports.doing == ["recording delivery 1"]
    assert slept.asked[1] <= 0.5
    ledger.clock.advance(500)
    await first
    assert await states(ledger) == [SENT]


# A platform that is down, and back.


@pytest.mark.guards("R10.3")
async def test_a_platform_that_is_down_is_tried_again_by_itself_and_anew_after_it_was_back(
    ledger: Ledger,
) -> None:
    await chat(ledger)
    ledger.clock.advance(HOUR)
    platform = FakePlatform()
    naps = Naps(ledger.clock, platform)
    sending = sender(ledger, platform)

    async def waits(*seconds: float) -> None:
        """The next sends come after these waits."""
        for each in seconds:
            sends = len(platform.sends)
            await naps.until(sends, each)
            ledger.clock.advance(round(each * 1_000))
            await until_sent(ledger, platform, sends + 1)

    async with at_work(sending):
        platform.play += [PlatformDown("no route")] * 4
        await ledger.store.owe(owed("a", "hello"))
        await until_sent(ledger, platform, 1)
        await waits(0.75)
        await naps.until(2, 1.5)
        sending.poke()
        await waits(0.75, 0.75, 1.5)  # the part's own, then those for the platform, as at first
        await soon(sending.quiet())
        platform.play += [PlatformDown("no route")] * 2
        await ledger.store.owe(owed("b", "and more"))
        await until_sent(ledger, platform, 6)
        await waits(0.75, 1.5)
        await soon(sending.quiet())
    assert platform.shown == ["hello", "and more"]


@pytest.mark.guards("R10.3")
async def test_after_a_reconnection_what_fails_again_is_as_patient_as_before(ledger: Ledger) -> None:
    await chat(ledger)
    await ledger.store.owe(owed("a", "hello"))
    platform = FakePlatform()
    platform.play += [TryAgain(0, "reset")] * 99
    sending = sender(ledger, platform)
    await send_for(ledger, sending, HOUR, step=MINUTE)
    before = len(platform.sends)
    sending.poke()
    await send_for(ledger, sending, 5 * MINUTE, step=10_000)
    assert len(platform.sends) == before + 1, "once because it was back"


@pytest.mark.guards("R10.3")
async def test_who_waits_behind_a_part_in_doubt_is_answered_as_soon_as_the_platform_is_back(
    ledger: Ledger,
) -> None:
    await chat(ledger)
    await ledger.store.owe(owed("a", "hello"))
    platform, there = FakePlatform(), True
    platform.play += [Lost("502")] * 99
    sending = sender(ledger, platform, ready=lambda: there)
    while len(platform.sends) < 5:  # the next repeat is two hours away
        await send_for(ledger, sending, MINUTE, step=MINUTE)
    there = False
    ledger.clock.advance(MINUTE)
    await ledger.store.owe(owed("b", "and more"))
    await send_for(ledger, sending, HOUR // 2, step=MINUTE)
    platform.play.clear()
    assert platform.shown == []
    there = True
    sending.poke()
    while await sending.send_due():
        pass
    assert platform.shown == ["(again?) hello", "and more"]


class Looks:
    """The ledger, counting what it is asked."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.counts: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        self.counts[name] += 1
        return getattr(self._store, name)


async def test_the_ledger_is_asked_for_what_fails_when_there_may_be_something_and_now_and_then(
    ledger: Ledger,
) -> None:
    await chat(ledger)
    ledger.clock.advance(HOUR)
    looks = Looks(ledger.store)
    sending = sender(ledger, FakePlatform(), store=looks)
    for dedupe in ("a", "b", "c"):
        await ledger.store.owe(owed(dedupe))
        await sending.send_due()
        ledger.clock.advance(1)
    assert looks.counts["failing"] == 1
    ledger.clock.advance(2 * MINUTE)
    await sending.send_due()
    assert looks.counts["failing"] == 2


# Asking a platform.


@pytest.mark.guards("R10.2", "R10.3")
async def test_when_another_send_arrives_the_platform_is_asked_at_once_about_what_is_in_doubt(
    ledger: Ledger,
) -> None:
    await chat(ledger, "c1", "c2")
    await ledger.store.owe(owed("a", "hello"))
    platform, reports = FakePlatform(ASKS), Reports()
    platform.play.append(Lost("timeout"))
    platform.answers += [PlatformDown("cannot be asked")] * 99
    sending = sender(ledger, platform, report=reports)
    await send_for(ledger, sending, 4 * MINUTE)
    asked = platform.asked
    assert asked < 99 and reports.doing == ["asking about delivery 1"] * asked
    platform.answers.clear()
    await ledger.store.owe(owed("b", "elsewhere", chat="c2"))
    await sending.send_due()
    await sending.send_due()
    assert platform.asked == asked + 1


async def test_a_part_that_is_in_doubt_again_is_asked_about_as_eagerly_as_the_first_time(
    ledger: Ledger,
) -> None:
    await chat(ledger)
    await ledger.store.owe(owed("a", "hello"))
    platform, away = FakePlatform(ASKS), PlatformDown("cannot be asked")
    platform.play += [Lost("timeout"), Lost("timeout")]
    platform.answers += [*[away] * 6, False, away, True]
    sending = sender(ledger, platform)
    while len(platform.sends) < 2:
        await send_for(ledger, sending, 1_000)
    await send_for(ledger, sending, 5_000)
    assert (platform.answers, await states(ledger)) == ([], [SENT])


# The words that take the place of a part, and what an operator reads.


async def test_the_line_for_a_refused_part_says_that_the_platform_refused_it(ledger: Ledger) -> None:
    await chat(ledger)
    await ledger.store.owe(owed("a", "one", "two"))
    platform = FakePlatform()
    platform.play.append(Rejected("no"))
    await send_for(ledger, sender(ledger, platform), 3_000)
    assert platform.shown == ["two", "[Part 1 of 2 could not be shown here: the platform refused it.]"]


async def test_why_a_part_is_sent_again_is_recorded_for_the_operator(ledger: Ledger) -> None:
    await chat(ledger)
    await ledger.store.owe(owed("a", "hello"))
    platform = FakePlatform()
    platform.play.append(Lost("timeout"))
    sending = sender(ledger, platform)
    for _ in range(2):
        await sending.send_due()
    (part,) = await ledger.outbox()
    assert (part.state, part.reason) == (PENDING, "outcome unknown, sent again")


# Words about work in progress.


@pytest.mark.guards("R12")
async def test_a_word_about_work_that_goes_out_again_is_true_by_then(ledger: Ledger) -> None:
    runs = [await ledger.begin(chat=name) for name in ("c1", "c2")]
    for name, claimed in zip(("c1", "c2"), runs, strict=True):
        key = working_key(claimed.turn.id, claimed.turn.generation)
        await ledger.store.tell_working(claimed.fence, owed(key, f"Still working for {name}", chat=name))
    platform = FakePlatform()
    platform.play += [Lost("timeout"), Lost("timeout")]
    sending = sender(ledger, platform)
    await sending.send_due()
    await ledger.finish(runs[1].fence, TurnState.DONE)
    await send_for(ledger, sending, 3_000)
    assert sorted(platform.shown) == ["(again?) Still working for c1", "(again?) This is done."]


async def test_an_answer_that_goes_out_again_asks_for_no_words_about_work(ledger: Ledger) -> None:
    await chat(ledger)
    await ledger.store.owe(owed("a", "hello"))
    platform, looks = FakePlatform(), Looks(ledger.store)
    platform.play.append(TryAgain(0, "502"))
    await send_for(ledger, sender(ledger, platform, store=looks), 2_000)
    assert platform.shown == ["hello"]
    assert looks.counts["live_notices"] == 0


# Questions.


@pytest.mark.guards("R13")
async def test_a_question_stays_open_when_another_message_of_its_turn_is_refused(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.append(claimed.fence, answers("Let me see."), owe=(owed("r", "Let me see."),))
    await ledger.ask(claimed.fence)
    platform = FakePlatform()
    platform.play.append(Rejected("no"))
    await send_for(ledger, sender(ledger, platform), 3_000)
    assert (await states(ledger))[:2] == [FAILED, SENT]
    (asked,) = await ledger.store.questions((claimed.turn.id,))
    assert asked.state is QuestionState.OPEN
