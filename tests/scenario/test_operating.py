"""What operators do to sends of unknown outcome and to safe mode, on the real ledger."""

from typing import Any

import pytest

from holdfast.api.arguments import Unwilling
from holdfast.api.commands import GatewayCommands
from holdfast.api.queries import GatewayQueries
from holdfast.errors import WrongState
from holdfast.model import Delivery, DeliveryState, Lost, Sent, TurnState
from holdfast.outbox import Sender
from holdfast.platforms import Ack, Capabilities
from holdfast.policy.recovery.outcome import Outcome
from holdfast.recovery import SAFE_MODE_OFF, SAFE_MODE_ON, Care
from holdfast.store import ArrivalSettings
from tests.scenario.test_recovery_loop import OWNER, reconciler, told
from tests.support.gateways import Town
from tests.support.ledger import Ledger, owed
from tests.support.platforms import FakePlatform, HalfRng, Reports


def operator(ledger: Ledger | Town) -> GatewayCommands:
    looks = GatewayQueries(ledger.store, ledger.clock)
    given: dict[str, Any] = {"web": None, "looks": looks, "stop_all": lambda: "nobody"}
    given["arrival"] = ArrivalSettings
    return GatewayCommands(store=ledger.store, clock=ledger.clock, ids=ledger.ids, **given)


async def in_doubt(ledger: Ledger, *parts: str) -> Delivery:
    """A reply whose first part may or may not have arrived."""
    await ledger.complete()
    await ledger.store.owe(owed("r", *(parts or ("the reply",))))
    (part,) = await ledger.send()
    await ledger.store.record_delivery(part.id, Lost("no answer"))
    return part


async def shown(ledger: Ledger) -> FakePlatform:
    """Everything that is due is sent; what the platform showed."""
    platform = FakePlatform(Capabilities(Ack.OFFSET))
    sender = Sender(ledger.store, ledger.clock, HalfRng(), platform, report=Reports())
    while await sender.send_due():
        ledger.clock.advance(1_000)
    return platform


@pytest.mark.guards("R10.2", "R15")
async def test_what_an_operator_saw_arrive_counts_as_sent_and_is_not_sent_again(ledger: Ledger) -> None:
    part = await in_doubt(ledger)
    await operator(ledger).settle(part.id, "sent")
    (row,) = await ledger.outbox()
    assert row.state is DeliveryState.SENT
    assert (await shown(ledger)).sends == []


@pytest.mark.guards("R10.2", "R15")
async def test_what_is_sent_again_by_an_operator_is_marked_as_possibly_repeated(ledger: Ledger) -> None:
    part = await in_doubt(ledger, "one", "two")
    await operator(ledger).settle(part.id, "retry")
    sent = (await shown(ledger)).sends
    assert [(one.text, one.repeated) for one in sent] == [("one", True), ("two", False)]


@pytest.mark.guards("R10.2", "R15")
async def test_what_an_operator_leaves_is_replaced_by_a_line_and_the_rest_follows(ledger: Ledger) -> None:
    part = await in_doubt(ledger, "one", "two")
    await operator(ledger).settle(part.id, "drop")
    first, *_ = await ledger.outbox()
    assert (first.state, first.reason) == (DeliveryState.FAILED, "an operator left it; it may have arrived")
    texts = [one.text for one in (await shown(ledger)).sends]
    assert texts[0] == "two"
    assert texts[1].startswith("[Part 1 of 2 of a message could not be delivered here")
    assert "may have been shown all the same" in texts[1]


@pytest.mark.guards("R10.2")
@pytest.mark.parametrize("how", ["sent", "retry", "drop"])
async def test_what_was_settled_meanwhile_is_not_settled_again(ledger: Ledger, how: str) -> None:
    part = await in_doubt(ledger)
    at_work = operator(ledger)
    await ledger.store.settle_delivery(part.id, Sent("p1"))
    async with ledger.unchanged():
        with pytest.raises(Unwilling, match="no unknown outcome"):
            await at_work.settle(part.id, how)
    with pytest.raises(Unwilling, match="allowed: sent, retry, drop"):
        await at_work.settle(part.id, "perhaps")
    with pytest.raises(WrongState):
        await ledger.store.settle_delivery(part.id, Sent("p1"))


@pytest.mark.guards("R15")
async def test_the_outbox_shows_what_is_owed_what_is_unknown_and_all_of_one_chat(ledger: Ledger) -> None:
    part = await in_doubt(ledger, "one", "two")
    await ledger.complete(chat="c2")
    await ledger.store.owe(owed("other", chat="c2"))
    looks = GatewayQueries(ledger.store, ledger.clock)

    async def texts(**more: Any) -> list[str]:
        return [one["text"] for one in (await looks.outbox(**more))["deliveries"]]

    assert await texts() == ["one", "two", "text of other"]
    assert await texts(unknown=True) == ["one"]
    assert await texts(after=part.id) == ["two", "text of other"]
    assert await texts(chat=part.chat) == ["one", "two"]
    (found,) = (await looks.outbox(unknown=True))["deliveries"]
    assert (found["id"], found["chat"], found["state"]) == (part.id, part.chat, "unknown")


@pytest.mark.guards("R8.3", "R15")
async def test_put_on_by_an_operator_it_stays_on_until_an_operator_ends_it(ledger: Ledger) -> None:
    await ledger.complete(chat="owner")
    claimed = await ledger.begin()
    await operator(ledger).safe_mode(True)
    await ledger.crash()
    await ledger.store.interrupt_orphans()
    at_work = reconciler(ledger, care=Care(owner=OWNER))
    assert await at_work.round() == {Outcome.HOLD: 1}
    assert (at_work.safe_mode.active, at_work.safe_mode.ends_at) == (True, None)
    ledger.clock.advance(30 * 60_000)
    assert await reconciler(ledger).round() == {}
    (line,) = await told(ledger, "owner")
    assert "an operator put it on" in line and "holdfast safe-mode off" in line
    await operator(ledger).safe_mode(False)
    assert await at_work.round() == {Outcome.RESUME: 1}
    assert (await ledger.turn(claimed.session.id)).state is TurnState.QUEUED
    assert await ledger.store.requests() == (), "nothing is left to be remembered"


@pytest.mark.guards("R8.3")
async def test_of_several_words_about_safe_mode_the_last_one_counts_whatever_the_clock(
    ledger: Ledger,
) -> None:
    at_work = reconciler(ledger)
    for what, active in ((SAFE_MODE_ON, True), (SAFE_MODE_OFF, False), (SAFE_MODE_ON, True)):
        ledger.clock.advance(-60_000)
        await ledger.store.request(what, f"cli:{ledger.clock.now()}")
        await at_work.round()
        assert at_work.safe_mode.active is active
    (left,) = await ledger.store.requests()
    assert left.what == SAFE_MODE_ON
