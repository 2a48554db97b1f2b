"""What an orderly stop asks of the ledger."""

from holdfast.model import (
    ChatSettings,
    DeliveryState,
    OnInterruption,
    OwedKind,
    Sent,
    TryAgain,
    TurnState,
)
from tests.support.ledger import PLATFORM, Ledger, address, owed

WORDS = {wanted: f"words for {wanted}" for wanted in OnInterruption}


async def tell(ledger: Ledger, once: str = "leaving:1") -> tuple[str, ...]:
    return await ledger.store.tell_running(WORDS, OnInterruption.RESUME, once)


async def texts(ledger: Ledger, chat: str) -> list[str]:
    return [part.text for part in await ledger.outbox(chat)]


async def test_each_chat_with_a_running_turn_is_told_once_and_no_other(ledger: Ledger) -> None:
    await ledger.complete(chat="answered")
    asking = await ledger.begin(chat="c1")
    await ledger.ask(asking.fence)
    await ledger.begin(chat="busy")
    await ledger.say(chat="waiting")
    for _ in range(2):
        assert await tell(ledger) in ((address("busy"),), ())
    assert await texts(ledger, "busy") == ["words for resume"]
    assert (await ledger.outbox("busy"))[0].kind is OwedKind.NOTICE
    for chat in ("answered", "waiting"):
        assert await texts(ledger, chat) == []
    assert len(await texts(ledger, "c1")) == 1, "its question, and nothing else"


async def test_a_chat_is_told_in_the_words_for_what_it_wants(ledger: Ledger) -> None:
    for wanted in OnInterruption:
        await ledger.begin(chat=wanted)
        await ledger.store.configure_chat(address(wanted), ChatSettings(on_interruption=wanted))
    await tell(ledger)
    for wanted in OnInterruption:
        assert await texts(ledger, wanted) == [f"words for {wanted}"]


async def test_the_next_process_tells_again_under_its_own_word(ledger: Ledger) -> None:
    await ledger.begin()
    await tell(ledger)
    await ledger.recover()
    await ledger.claim()
    assert await tell(ledger, "leaving:2") == (address(),)


async def test_turns_of_a_dead_process_are_nobodys_to_tell_of(ledger: Ledger) -> None:
    await ledger.begin()
    await ledger.crash()
    assert await tell(ledger) == ()


async def test_running_turns_are_named_oldest_first_with_their_times(ledger: Ledger) -> None:
    first = await ledger.begin(chat="a")
    ledger.clock.advance(1_000)
    second = await ledger.begin(chat="b")
    done = await ledger.complete(chat="c")
    asking = await ledger.begin(chat="c1")
    await ledger.ask(asking.fence)
    found = await ledger.store.running_turns()
    assert [one.turn for one in found] == [first.turn.id, second.turn.id]
    assert [one.claimed_at for one in found] == [first.turn.claimed_at, second.turn.claimed_at]
    assert done.turn.id not in {one.turn for one in found}


async def test_what_is_owed_counts_until_it_is_sent(ledger: Ledger) -> None:
    async def unsent(until: int = 0, *platforms: str) -> int:
        return await ledger.store.unsent(platforms or (PLATFORM,), ledger.clock.now() + until)

    claimed = await ledger.begin()
    assert await unsent() == 0
    await ledger.finish(claimed.fence, TurnState.DONE, owed("a"))
    assert await unsent() == 1
    assert await unsent(0, "elsewhere") == 0
    (delivery,) = await ledger.send()
    assert await unsent() == 1, "it is on its way"
    await ledger.store.record_delivery(delivery.id, TryAgain(ledger.clock.now() + 5_000, "throttled", False))
    assert (await unsent(4_000), await unsent(5_000)) == (0, 1)
    ledger.clock.advance(5_000)
    (delivery,) = await ledger.send()
    await ledger.store.record_delivery(delivery.id, Sent())
    assert await unsent() == 0


async def test_a_reply_is_settled_once_its_turn_has_ended_and_nothing_of_it_is_owed(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    settled = ledger.store.reply_settled
    assert not await settled(claimed.turn.id)
    await ledger.store.finish(claimed.fence, TurnState.FAILED, owe=(owed("a", "one", "two"),), why="x")
    for state in (DeliveryState.PENDING, DeliveryState.PENDING):
        assert (await ledger.outbox())[-1].state is state
        assert not await settled(claimed.turn.id)
        (delivery,) = await ledger.send()
        await ledger.store.record_delivery(delivery.id, Sent())
    assert await settled(claimed.turn.id)
