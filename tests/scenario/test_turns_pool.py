"""The pool: how many turns run, which of them, and what one of them can do to the others."""

import asyncio

import pytest

from holdfast.model import StopKind, TurnState
from tests.support.ledger import Ledger, key
from tests.support.stage import Deed, Line, Stage, hangs, says, soon, wants


async def begun(stage: Stage, turns: int) -> None:
    """So many model calls have begun."""
    while len(stage.model.shown) < turns:
        stage.model.asked.clear()
        await soon(stage.model.asked.wait())


async def test_no_more_turns_run_than_there_are_workers_and_the_next_follows_at_once(ledger: Ledger) -> None:
    first, second = Deed("first"), Deed("second")
    for n in range(4):
        await ledger.say(chat=f"c{n}")
    lines: list[Line] = [wants("first"), wants("second"), says(), hangs]
    async with Stage(ledger, *lines, tools=[first, second], workers=2) as stage:
        await soon(first.running.wait())
        await soon(second.running.wait())
        assert len(stage.pool.running()) == 2
        first.release.set()
        await begun(stage, 4)
        assert len(stage.pool.running()) == 2
        assert len(stage.model.shown) == 4


@pytest.mark.guards("R4.2")
async def test_resumes_take_at_most_half_of_the_workers(ledger: Ledger) -> None:
    for n in range(4):
        await ledger.begin(chat=f"old{n}")
    await ledger.recover()
    async with Stage(ledger, *[hangs] * 9, workers=4) as stage:
        await begun(stage, 2)
        await ledger.say(chat="new")
        await begun(stage, 3)
        running = [chat for chat in ("old0", "old1", "old2", "old3", "new") if await runs(stage, chat)]
        assert running == ["old0", "old1", "new"]


@pytest.mark.guards("R4.2", "C20")
@pytest.mark.parametrize("workers", [1, 2, 4, 8])
async def test_resumes_that_hang_keep_other_resumes_waiting_for_half_a_minute_at_most(
    ledger: Ledger, workers: int
) -> None:
    half = max(1, workers // 2)
    for n in range(half + 1):
        await ledger.begin(chat=f"old{n}")
    await ledger.recover()
    async with Stage(ledger, *[hangs] * half, says("went on"), workers=workers) as stage:
        await begun(stage, half)
        await stage.clock.nap(30, 30)
        ledger.clock.advance(29_999)
        await stage.ledger.store.heartbeat()
        assert len(stage.model.shown) == half
        ledger.clock.advance(1)
        await begun(stage, half + 1)
        last = f"old{half}"
        seen = ledger.store.version("outbox")
        while await stage.told(last) != ["went on"]:
            seen = await soon(ledger.store.changed("outbox", seen))


@pytest.mark.guards("R4.2")
async def test_however_many_resumes_hang_a_new_message_finds_a_worker(ledger: Ledger) -> None:
    for n in range(4):
        await ledger.begin(chat=f"old{n}")
    await ledger.recover()
    async with Stage(ledger, *[hangs] * 3, says("here I am"), workers=4) as stage:
        for running in (2, 3, 3):
            await begun(stage, running)
            assert stage.pool.hangs(120_000) == 0
            ledger.clock.advance(30_000)
        ledger.clock.advance(120_000)
        assert stage.pool.hangs(120_000) == 3, "no resume finds a worker any more"
        await ledger.say(chat="new")
        seen = ledger.store.version("outbox")
        while await stage.told("new") != ["here I am"]:
            seen = await soon(ledger.store.changed("outbox", seen))


async def runs(stage: Stage, chat: str) -> bool:
    return (await stage.turn(chat)).state is TurnState.RUNNING


async def test_a_single_worker_resumes_as_well(ledger: Ledger) -> None:
    await ledger.begin()
    await ledger.recover()
    async with Stage(ledger, says("went on"), workers=1) as stage:
        await stage.leave_after_answer("went on")


@pytest.mark.guards("R4.2", "C20")
async def test_a_hung_resume_delays_no_other_chat(ledger: Ledger) -> None:
    await ledger.begin(chat="hung")
    await ledger.recover()
    async with Stage(ledger, hangs, says("here I am"), workers=2) as stage:
        await begun(stage, 1)
        await ledger.say(chat="other")
        seen = ledger.store.version("outbox")
        while await stage.told("other") != ["here I am"]:
            seen = await soon(ledger.store.changed("outbox", seen))


async def test_behind_a_closed_door_nothing_starts_and_what_runs_goes_on(ledger: Ledger) -> None:
    deed = Deed()
    await ledger.say(chat="c1")
    async with Stage(ledger, wants("deed"), says("done"), tools=[deed]) as stage:
        await soon(deed.running.wait())
        stage.pool.stop_claiming()
        await ledger.say(chat="c2")
        deed.release.set()
        await stage.leave()
        assert await stage.told("c1") == ["done"]
        assert len(await ledger.store.waiting(key("c2"))) == 1
        assert len(stage.model.shown) == 2


async def test_a_turn_claimed_as_the_door_closes_is_put_back(ledger: Ledger) -> None:
    async def close() -> None:
        assert stage.pool.claiming
        stage.pool.stop_claiming()

    await ledger.say()
    stage = Stage(ledger)
    stage.store.after["claim_ready"] = close
    await soon(stage.pool.work())
    turn = await stage.turn()
    assert (turn.state, turn.interruptions) == (TurnState.QUEUED, 0)
    assert stage.model.shown == []
    assert (stage.pool.running(), stage.pool.claiming) == ((), False)


async def test_quiet_waits_for_a_claim_under_way(ledger: Ledger) -> None:
    held = asyncio.Event()
    await ledger.say()
    stage = Stage(ledger, hangs)
    stage.store.before["claim_ready"] = held.wait
    async with stage:
        await soon(stage.store.reach("claim_ready").wait())
        quiet = asyncio.ensure_future(stage.pool.quiet())
        held.set()
        await begun(stage, 1)
        assert not quiet.done()
        await soon(stage.pool.cut("restart_timeout"))
        await soon(quiet)


async def test_a_fault_of_ours_ends_one_turn_alone_and_recovery_finds_it(ledger: Ledger) -> None:
    await ledger.say(chat="c1")
    stage = Stage(ledger, wants("deed"), says("fine"), tools=[Deed(held=False)])
    stage.store.faults["record"] = [RuntimeError("our bug")]
    async with stage:
        await soon(stage.store.reach("record").wait())
        await stage.quiet()
        assert (await stage.turn("c1")).state is TurnState.RUNNING
        assert stage.pool.running() == ()
        assert [str(fault) for _, fault in stage.reports] == ["our bug"]
        await ledger.say(chat="c2")
        await stage.leave_after_answer("fine", chat="c2")


async def test_a_claim_that_breaks_ends_nothing_that_runs(ledger: Ledger) -> None:
    deed = Deed()
    await ledger.say(chat="c1")
    async with Stage(ledger, wants("deed"), says("done"), says("next"), tools=[deed]) as stage:
        await soon(deed.running.wait())
        stage.store.faults["claim_ready"] = [RuntimeError("our bug")]
        await ledger.say(chat="c2")
        await stage.clock.nap(0.5, 1)
        assert len(stage.pool.running()) == 1
        deed.release.set()
        await stage.quiet()
        assert await stage.told("c1") == ["done"]
        ledger.clock.advance(1_000)
        await stage.leave_after_answer("next", chat="c2")


@pytest.mark.guards("R8.2")
async def test_a_suspect_is_cleared_once_it_has_lived_twice_as_long_as_before(ledger: Ledger) -> None:
    session = await ledger.die(2)
    await ledger.settle("resume")
    async with Stage(ledger, hangs) as stage:
        await begun(stage, 1)
        assert (await ledger.store.session(session)).strikes == 3
        assert await ledger.store.lane_taken()
        survives = await stage.clock.nap(60)
        seen = ledger.store.version("recovery")
        ledger.clock.advance(int(survives * 1000))
        await soon(ledger.store.changed("recovery", seen))
        assert (await ledger.store.session(session)).strikes == 0
        assert not await ledger.store.lane_taken()


async def test_a_turn_under_no_suspicion_is_not_cleared(ledger: Ledger) -> None:
    await ledger.say()
    async with Stage(ledger, hangs) as stage:
        await begun(stage, 1)
        ledger.clock.advance(120_000)
        await soon(stage.pool.cut("restart_timeout"))
        assert "clear_suspect" not in stage.store.log


async def test_turns_start_in_the_order_their_chats_became_ready(ledger: Ledger) -> None:
    for n in range(5):
        await ledger.say(f"message {n}", chat=f"c{9 - n}")
        ledger.clock.advance(1)
    stage = Stage(ledger, *[says()] * 5, workers=1)
    await stage.run()
    assert [shown[-1].text for shown in stage.model.shown] == [f"message {n}" for n in range(5)]


async def test_what_is_ready_together_is_claimed_together(ledger: Ledger) -> None:
    for n in range(5):
        await ledger.say(chat=f"c{n}")
    async with Stage(ledger, *[hangs] * 5, workers=8) as stage:
        await begun(stage, 5)
        assert stage.store.log.count("claim_ready") == 1


async def test_a_message_costs_one_claim_however_many_turns_run_and_an_end_without_news_none(
    ledger: Ledger,
) -> None:
    for n in range(5):
        await ledger.say(chat=f"c{n}")
    deed = Deed()
    async with Stage(ledger, wants("deed"), *[hangs] * 4, says("done"), hangs, tools=[deed]) as stage:
        await soon(deed.running.wait())
        await begun(stage, 5)
        claims = stage.store.log.count("claim_ready")
        deed.release.set()
        while len(stage.pool.running()) > 4:
            await soon(ledger.store.sessions())
        await ledger.say(chat="another")
        await begun(stage, 7)
        assert stage.store.log.count("claim_ready") == claims + 1
        assert "stops" not in stage.store.log[stage.store.log.index("claim_ready") :]


async def test_the_end_of_a_resume_lets_the_next_one_in(ledger: Ledger) -> None:
    for n in range(2):
        await ledger.begin(chat=f"old{n}")
    await ledger.recover()
    deed = Deed()
    lines: list[Line] = [wants("deed"), says("first"), hangs]
    async with Stage(ledger, *lines, tools=[deed], workers=2) as stage:
        await soon(deed.running.wait())
        assert len(stage.pool.running()) == 1
        deed.release.set()
        await begun(stage, 3)
        assert await runs(stage, "old1")


async def test_the_end_of_a_suspect_lets_the_next_one_in(ledger: Ledger) -> None:
    for chat in ("bad", "worse"):
        await ledger.die(2, chat)
    for chat in ("bad", "worse"):
        await ledger.store.stop(key(chat), StopKind.STOP, None)
        await ledger.say(chat=chat)
        ledger.clock.advance(1)
    deed = Deed()
    lines: list[Line] = [wants("deed"), says("first"), hangs]
    async with Stage(ledger, *lines, tools=[deed], workers=2) as stage:
        await soon(deed.running.wait())
        assert len(stage.pool.running()) == 1
        deed.release.set()
        await begun(stage, 3)
        assert await runs(stage, "worse")
