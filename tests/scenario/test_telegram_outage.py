"""On the real adapter: a Bot API that answers 502 to sends for a while loses nothing."""

import pytest

from holdfast.model import Batch, DeliveryState, Inbound, Key, Owed, Place
from holdfast.outbox import Sender
from holdfast.policy.settings import HOUR, MINUTE
from holdfast.testing.fakes.botapi import Person, ServerError
from tests.support.ledger import ANN, Ledger
from tests.support.platforms import HalfRng
from tests.unit.platforms.telegram.bots import Stage, stage


async def chat_with(ledger: Ledger, here: Stage, person: Person) -> Place:
    """Somebody wrote to the bot, and the ledger has it."""
    person.write("hello")
    await here.read()
    place = Place("telegram", here.bot.account, str(person.id))
    await ledger.store.accept(Batch("telegram", (Inbound("e1", Key(place.address), place, ANN, "hello"),)))
    return place


async def send_for(ledger: Ledger, sending: Sender, time: int) -> None:
    for _ in range(time // MINUTE):
        ledger.clock.advance(MINUTE)
        while await sending.send_due():
            pass


@pytest.mark.guards("R10.2", "R10.3")
async def test_a_reply_outlives_any_time_of_bad_gateways(ledger: Ledger) -> None:
    async with stage(clock=ledger.clock) as here:
        ada = here.people.add("Ada")
        place = await chat_with(ledger, here, ada)
        await ledger.store.owe(Owed(place.address, "a", ("the answer",)))
        sending = Sender(ledger.store, ledger.clock, HalfRng(), here.bot)
        here.api.faults.add(ServerError(502), "sendMessage", times=None)
        await send_for(ledger, sending, 20 * MINUTE)
        assert ada.hears() == []
        (part,) = await ledger.store.deliveries(place.address)
        assert part.state is DeliveryState.PENDING and part.repeated, "a 502 says nothing of what was done"
        assert part.attempts <= 5, "and it is not asked again and again"
        here.api.faults.clear()
        await send_for(ledger, sending, 2 * HOUR)
        assert ada.hears() == ["(possibly repeated) the answer"]
