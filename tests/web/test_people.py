"""Letting people in over HTTP, as the page does."""

import asyncio

from holdfast.clock import SystemClock, SystemIds
from holdfast.model import Batch, Knock, PersonId, Place
from holdfast.store import open_ledger
from tests.support.outside import House
from tests.support.web import program

EVE = PersonId("elsewhere:eve")
CODE = "ABCD2345"


async def _knock(house: House) -> None:
    clock = SystemClock()
    store = await open_ledger(house.home, clock, SystemIds(clock))
    knock = Knock("e1", EVE, Place("elsewhere", "bot", "c1"), CODE, "m1")
    await store.accept(Batch("elsewhere/bot", refused=(("e1", "person_not_allowed"),), knocks=(knock,)))
    await store.close()


def test_a_newcomer_is_seen_let_in_once_and_taken_out(house: House) -> None:
    asyncio.run(_knock(house))
    house.up()
    with program(house.home) as client:
        (asking,) = client.get("/api/people").json()["asking"]
        assert asking["person"] == EVE and CODE not in str(asking)
        wrong = client.post("/api/people/pair", json={"code": "ZZZZ-9999"})
        assert wrong.status_code >= 400 and "no such code" in wrong.json()["error"]["words"]
        assert client.post("/api/people/pair", json={"code": "abcd 2345"}).json()["person"] == EVE
        again = client.post("/api/people/pair", json={"code": CODE})
        assert "used before" in again.json()["error"]["words"]
        found = client.get("/api/people").json()
        assert found["asking"] == [] and [one["subject"] for one in found["grants"]] == [EVE]
        assert client.post("/api/people/remove", json={"who": EVE}).status_code == 200
        assert client.post("/api/people/remove", json={"who": EVE}).status_code >= 400
        assert client.post("/api/people/allow", json={"who": "Eve"}).status_code == 400
    assert house.is_sound()
