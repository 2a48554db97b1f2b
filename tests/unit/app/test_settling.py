"""Sends of unknown outcome, settled by an operator's word."""

import asyncio
from pathlib import Path

import pytest

from holdfast.app.actions import Actions
from holdfast.app.looks import Looks
from holdfast.errors import WrongState
from holdfast.model import Batch, ChatAddress, DeliveryState, Inbound, Key, Lost, Owed, PersonId, place_at
from holdfast.platforms.web import WebChat
from holdfast.store import AS_CONFIGURED, open_ledger
from holdfast.testing import ManualClock, SeededIds

CHAT = ChatAddress("letters/box/a")


@pytest.mark.parametrize(
    ("how", "becomes", "repeated"),
    [
        ("sent", DeliveryState.SENT, False),
        ("retry", DeliveryState.PENDING, True),
        ("drop", DeliveryState.FAILED, False),
    ],
)
def test_a_part_of_unknown_outcome_becomes_what_the_operator_says(
    tmp_path: Path, how: str, becomes: DeliveryState, repeated: bool
) -> None:
    asyncio.run(_settle(tmp_path, how, becomes, repeated))


async def _settle(home: Path, how: str, becomes: DeliveryState, repeated: bool) -> None:
    clock = ManualClock()
    ids = SeededIds(clock)
    store = await open_ledger(home, clock, ids)
    actions = Actions(store, clock, ids, WebChat(), Looks(store, clock), lambda: "", lambda: AS_CONFIGURED)
    try:
        key, ann = Key(CHAT), PersonId("letters:ann")
        await store.accept(Batch("letters", (Inbound("e1", key, place_at(CHAT), ann, "hello"),)))
        await store.owe(Owed(CHAT, "one", ("hello",)))
        (waits,) = await store.deliveries(CHAT)
        with pytest.raises(WrongState):
            await actions.settle(waits.id, how)
        (part,) = await store.claim_deliveries(("letters",))
        await store.record_delivery(part.id, Lost("nobody knows"))
        assert await actions.settle(part.id, how) == {"delivery": part.id, "settled": how}
        (found,) = await store.deliveries(CHAT)
        assert (found.state, found.repeated) == (becomes, repeated)
        with pytest.raises(WrongState):
            await actions.settle(part.id, "sent")
    finally:
        await store.close()
