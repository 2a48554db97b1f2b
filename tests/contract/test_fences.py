"""Every write of a turn is fenced: an owner that lost its turn changes nothing, whatever it tries."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from holdfast.errors import StaleWrite
from holdfast.model import CallId, Fence, InstanceId, SessionId, StopKind, TurnId, TurnState
from holdfast.store import Step, Store
from tests.support.ledger import ANN, Ledger, answers, key, owed, planned, result

Write = Callable[[Store, Fence, Ledger], Awaitable[object]]

WRITES: dict[str, Write] = {
    "append": lambda store, fence, ledger: store.record(fence, Step((answers(),))),
    "settle": lambda store, fence, ledger: store.record(fence, Step((result("c1"),))),
    "plan": lambda store, fence, ledger: store.record(fence, Step(plan=(planned("c9"),))),
    "start": lambda store, fence, ledger: store.record(fence, Step(start=(CallId("c2"),))),
    "ask": lambda store, fence, ledger: store.record(fence, Step(ask=(ledger.question("q9"),))),
    "owe": lambda store, fence, ledger: store.record(fence, Step(owe=(owed("progress"),))),
    "nothing": lambda store, fence, ledger: store.record(fence, Step()),
    "progress": lambda store, fence, ledger: store.progress(fence),
    "done": lambda store, fence, ledger: store.finish(fence, TurnState.DONE, (answers(),), (owed("reply"),)),
    "failed": lambda store, fence, ledger: store.finish(fence, TurnState.FAILED),
    "cancelled": lambda store, fence, ledger: store.finish(fence, TurnState.CANCELLED),
    "wait": lambda store, fence, ledger: store.wait(fence),
    "put_back": lambda store, fence, ledger: store.put_back(fence),
    "interrupt": lambda store, fence, ledger: store.interrupt(fence, "restart_timeout"),
    "clear_suspect": lambda store, fence, ledger: store.clear_suspect(fence),
}


async def interrupted(ledger: Ledger, fence: Fence) -> None:
    await ledger.store.interrupt(fence, "restart_timeout")


async def taken_over(ledger: Ledger, fence: Fence) -> None:
    await ledger.recover()
    await ledger.claim()


async def queued_again(ledger: Ledger, fence: Fence) -> None:
    await interrupted(ledger, fence)
    await ledger.settle("resume")


async def waiting(ledger: Ledger, fence: Fence) -> None:
    await ledger.append(fence, ask=(ledger.question(),))
    await ledger.store.wait(fence)


async def stopped(ledger: Ledger, fence: Fence, kind: StopKind = StopKind.STOP) -> None:
    await ledger.store.stop(key(), kind, None)
    await ledger.finish(fence, TurnState.CANCELLED)


async def stopped_while_interrupted(ledger: Ledger, fence: Fence) -> None:
    await interrupted(ledger, fence)
    await ledger.store.stop(key(), StopKind.STOP, None)


LOST: dict[str, Callable[[Ledger, Fence], Awaitable[object]]] = {
    "taken over": taken_over,
    "interrupted": interrupted,
    "queued again": queued_again,
    "waiting": waiting,
    "stopped": stopped,
    "ended by new": lambda ledger, fence: stopped(ledger, fence, StopKind.NEW),
    "stopped while interrupted": stopped_while_interrupted,
    "parked": lambda ledger, fence: ledger.recover("too_many_strikes"),
    "expired": lambda ledger, fence: ledger.recover("too_old"),
    "done": lambda ledger, fence: ledger.finish(fence),
    "put back": lambda ledger, fence: ledger.store.put_back(fence),
    "owner dead": lambda ledger, fence: ledger.crash(),
}


async def lose(ledger: Ledger, how: str) -> Fence:
    """A fence that was good once, and how its turn was lost."""
    fence = (await ledger.begin()).fence
    await ledger.start(fence, "c1")
    await ledger.start(fence, "c2", start=False)
    await LOST[how](ledger, fence)
    return fence


@pytest.mark.parametrize("how", LOST)
async def test_an_owner_that_lost_its_turn_writes_nothing(ledger: Ledger, how: str) -> None:
    fence = await lose(ledger, how)
    if how == "owner dead":
        # Its fence still fits; it is the process that is gone. Whoever comes after it is not the owner.
        fence = replace(fence, owner=ledger.store.instance)
    for write in WRITES.values():
        async with ledger.refused(StaleWrite):
            await write(ledger.store, fence, ledger)


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
async def test_a_fence_that_never_was_good_opens_nothing(ledger: Ledger, write: Write) -> None:
    claimed = await ledger.begin()
    other = await ledger.begin(chat="c2")
    await ledger.start(claimed.fence, "c1")
    await ledger.start(claimed.fence, "c2", start=False)
    good = claimed.fence
    for bad in (
        replace(good, generation=good.generation + 1),
        replace(good, generation=good.generation - 1),
        replace(good, owner=InstanceId("somebody")),
        replace(good, turn=TurnId("none")),
        replace(good, session=SessionId("none")),
        replace(good, session=other.fence.session),
        replace(good, turn=other.fence.turn),
    ):
        async with ledger.refused(StaleWrite):
            await write(ledger.store, bad, ledger)


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
async def test_the_owner_itself_may_write(ledger: Ledger, write: Write) -> None:
    claimed = await ledger.begin()
    await ledger.start(claimed.fence, "c1")
    await ledger.start(claimed.fence, "c2", start=False)
    await ledger.append(claimed.fence, ask=(ledger.question(),))
    await write(ledger.store, claimed.fence, ledger)


async def test_what_is_owed_already_is_delivered_whatever_became_of_the_turn(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.append(claimed.fence, owe=(owed("notice"),))
    await ledger.store.stop(key(), StopKind.NEW, None)
    await ledger.finish(claimed.fence, TurnState.CANCELLED)
    assert [delivery.dedupe for delivery in await ledger.send()] == ["notice"]


async def test_the_fence_names_the_owner_the_turn_and_its_generation(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    assert claimed.fence == Fence(claimed.session.id, claimed.turn.id, 1, ledger.store.instance)
    assert claimed.cause.sender == ANN
