"""Previews for who follows a chat: the newest text of each, at most ten a second, and never of the past."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

from holdfast.app.following import Following
from holdfast.app.previews import Previews
from holdfast.app.shown import Json
from holdfast.model import Claimed
from tests.support.backends import SqliteBackend
from tests.support.ledger import Ledger, address, answers
from tests.support.loops import on_a_loop
from tests.support.platforms import Slept, watch


async def running(home: Path) -> tuple[Ledger, Claimed]:
    ledger = Ledger(SqliteBackend(home))
    await ledger.open()
    return ledger, await ledger.begin()


def overtaking(claimed: Claimed) -> Claimed:
    fence = claimed.fence
    return replace(claimed, fence=replace(fence, generation=fence.generation + 1))


async def begin(events: AsyncGenerator[Json, None], slept: Slept) -> asyncio.Future[Json]:
    """The next event, which is waited for by now and has not come."""
    slept.asked.clear()
    waits = asyncio.ensure_future(anext(events))
    await slept.until(0.1)
    assert not waits.done()
    return waits


@on_a_loop
async def test_the_newest_text_is_sent_at_most_ten_times_a_second_and_then_its_end(tmp_path: Path) -> None:
    ledger, claimed = await running(tmp_path)
    previews, slept = Previews(), watch(ledger.clock)
    following = Following(ledger.store, ledger.clock, previews)
    events = following.follow(address(), steps=False, previews=True)
    assert "following" in await anext(events)
    previews.show(claimed, "one")
    assert await anext(events) == {"preview": "one"}
    previews.show(claimed, "one two")
    waits = await begin(events, slept)
    previews.show(claimed, "one two three")
    ledger.clock.advance(99)
    await ledger.store.instances()
    assert not waits.done()
    ledger.clock.advance(1)
    assert await waits == {"preview": "one two three"}
    waits = await begin(events, slept)
    ledger.clock.advance(100)
    previews.show(claimed, "")
    assert await waits == {"preview": ""}
    await events.aclose()
    await ledger.store.close()


@on_a_loop
async def test_a_busy_ledger_makes_no_preview_come_sooner(tmp_path: Path) -> None:
    ledger, claimed = await running(tmp_path)
    elsewhere = await ledger.begin(chat="c2")
    previews, slept = Previews(), watch(ledger.clock)
    events = Following(ledger.store, ledger.clock, previews).follow(address(), previews=True)
    await anext(events)
    previews.show(claimed, "one")
    assert await anext(events) == {"preview": "one"}
    waits = await begin(events, slept)
    previews.show(claimed, "one two")
    slept.asked.clear()
    await ledger.append(elsewhere.fence, answers())
    await slept.until(0.1)
    assert not waits.done()
    ledger.clock.advance(100)
    assert await waits == {"preview": "one two"}
    await events.aclose()
    await ledger.store.close()


@on_a_loop
async def test_who_did_not_ask_is_sent_none_and_the_committed_comes_all_the_same(tmp_path: Path) -> None:
    ledger, claimed = await running(tmp_path)
    previews, slept = Previews(), watch(ledger.clock)
    events = Following(ledger.store, ledger.clock, previews).follow(address(), steps=False)
    await anext(events)
    waits = await begin(events, slept)
    previews.show(claimed, "one")
    ledger.clock.advance(1_000)
    await ledger.store.owe(ledger.question("q").owed)
    assert "delivery" in await waits
    await events.aclose()
    await ledger.store.close()


@on_a_loop
async def test_a_generation_that_was_overtaken_shows_and_takes_back_nothing(tmp_path: Path) -> None:
    ledger, old = await running(tmp_path)
    previews, new = Previews(), overtaking(old)
    previews.show(old, "old")
    previews.show(new, "new")
    previews.show(old, "old and late")
    assert previews.of(address()) == "new"
    previews.show(old, "")
    assert previews.of(address()) == "new"
    previews.show(new, "")
    assert previews.of(address()) == ""
    await ledger.store.close()
