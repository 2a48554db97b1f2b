"""Two gateways on one ledger, as no lock would let them be: the one taken over writes nothing more."""

import inspect
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from holdfast.clock import Clock, Ids
from holdfast.errors import StaleWrite, WrongState
from holdfast.model import CallId, Fence, Lost, Rejected, SendResult, Sent, TryAgain, TurnState
from holdfast.store import Step, Store
from holdfast.store.contract.work import Work
from holdfast.store.sqlite import LEDGER
from holdfast.store.sqlite.home_lock import HomeLock
from holdfast.store.sqlite.store import end_process, open_under
from tests.contract.test_fences import WRITES
from tests.support.backends import SqliteBackend
from tests.support.ledger import Ledger, answers, owed
from tests.support.loops import on_a_loop


class Unlocked(SqliteBackend):
    """Opens the home whoever else has it open."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self._path = home / LEDGER

    async def open(self, clock: Clock, ids: Ids) -> Store:
        return await open_under(HomeLock(self._path.parent), self._path, clock, ids, end_process)


@asynccontextmanager
async def two_owners(home: Path) -> AsyncIterator[tuple[Ledger, Store]]:
    """A ledger as its second owner sees it, and the first owner's store, paused."""
    ledger = Ledger(Unlocked(home))
    await ledger.open()
    paused = ledger.store
    await ledger.open()
    assert paused.instance != ledger.store.instance
    try:
        yield ledger, paused
    finally:
        await paused.close()
        await ledger.store.close()


async def claim_by(store: Store, ledger: Ledger) -> Fence:
    second, ledger.store = ledger.store, store
    fence = (await ledger.claim()).fence
    ledger.store = second
    return fence


async def take_over(ledger: Ledger) -> Fence:
    assert await ledger.store.interrupt_orphans() == 1
    await ledger.settle("resume")
    return (await ledger.claim()).fence


def test_every_fenced_verb_is_tried() -> None:
    verbs = inspect.getmembers(Work, inspect.isfunction)
    fenced = {name for name, verb in verbs if "fence" in inspect.signature(verb).parameters}
    tried = {name for write in WRITES.values() for name in write.__code__.co_names if name in fenced}
    assert fenced
    assert tried == fenced


@pytest.mark.parametrize("write", WRITES)
@on_a_loop
async def test_an_owner_that_was_taken_over_writes_nothing(tmp_path: Path, write: str) -> None:
    async with two_owners(tmp_path) as (ledger, paused):
        await ledger.say()
        old = await claim_by(paused, ledger)
        await paused.record(old, Step(plan=()))
        new = await take_over(ledger)
        assert new.generation > old.generation
        for stale in (old, Fence(old.session, old.turn, new.generation, old.owner)):
            async with ledger.refused(StaleWrite):
                await WRITES[write](paused, stale, ledger)
        await ledger.store.finish(new, TurnState.DONE, (answers(),), (owed("reply"),))
        assert await ledger.store.verify() == ()


@on_a_loop
async def test_a_turn_is_claimed_by_one_of_two_owners(tmp_path: Path) -> None:
    async with two_owners(tmp_path) as (ledger, paused):
        await ledger.say()
        await claim_by(paused, ledger)
        assert await ledger.try_claim() is None


@pytest.mark.parametrize("result", [Sent("m1"), TryAgain(0, "later"), Lost("cut"), Rejected("gone")])
@on_a_loop
async def test_a_sender_that_was_taken_over_records_nothing(tmp_path: Path, result: SendResult) -> None:
    async with two_owners(tmp_path) as (ledger, paused):
        await ledger.complete()
        await ledger.store.owe(owed("notice"))
        (sending,) = await paused.claim_deliveries(("fake",))
        assert await ledger.store.claim_deliveries(("fake",)) == ()
        assert await ledger.store.doubt_orphans() == 1
        async with ledger.refused(WrongState):
            await paused.record_delivery(sending.id, result)
        await ledger.store.settle_delivery(sending.id, Sent("m1"))
        assert await ledger.store.verify() == ()


@on_a_loop
async def test_a_call_started_by_the_first_owner_cannot_be_settled_by_it_later(tmp_path: Path) -> None:
    async with two_owners(tmp_path) as (ledger, paused):
        await ledger.say()
        old = await claim_by(paused, ledger)
        second, ledger.store = ledger.store, paused
        await ledger.start(old, "c1")
        ledger.store = second
        new = await take_over(ledger)
        async with ledger.refused(StaleWrite):
            await WRITES["settle"](paused, old, ledger)
        journal = await ledger.store.journal(new.turn, new.generation)
        assert [(call.id, call.state) for call in journal.calls] == [(CallId("c1"), "started")]
