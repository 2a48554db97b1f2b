"""Previews for who follows a chat: the newest text of each, at most ten a second, and never of the past."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

from holdfast.api.chat_feed import ChatFeed
from holdfast.api.draft_cache import DraftCache
from holdfast.api.to_json import Json
from holdfast.model import Claimed, StopKind
from holdfast.platforms import Working
from holdfast.store import Store
from tests.support.backends import SqliteBackend
from tests.support.ledger import Ledger, address, answers, asks, key
from tests.support.loops import on_a_loop
from tests.support.platforms import Slept, watch

AT_WORK = {"working": {"notice": ""}}


async def running(home: Path) -> tuple[Ledger, Claimed]:
    ledger = Ledger(SqliteBackend(home))
    await ledger.open()
    return ledger, await ledger.begin()


def overtaking(claimed: Claimed) -> Claimed:
    fence = claimed.fence
    return replace(claimed, fence=replace(fence, generation=fence.generation + 1))


def show(previews: DraftCache, claimed: Claimed, draft: str, notice: str = "") -> None:
    """A run shows this of itself; without anything it is over."""
    previews.show(address(), Working(claimed.fence, bool(draft or notice), draft, notice))


def drafted(previews: DraftCache) -> str:
    working = previews.of(address())
    return working.draft if working is not None else ""


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
    previews, slept = DraftCache(), watch(ledger.clock)
    following = ChatFeed(ledger.store, ledger.clock, previews)
    events = following.follow(address())
    assert "following" in await anext(events)
    show(previews, claimed, "one")
    assert await anext(events) == AT_WORK
    assert await anext(events) == {"preview": "one"}
    show(previews, claimed, "one two")
    waits = await begin(events, slept)
    show(previews, claimed, "one two three")
    ledger.clock.advance(99)
    await ledger.store.instances()
    assert not waits.done()
    ledger.clock.advance(1)
    assert await waits == {"preview": "one two three"}
    waits = await begin(events, slept)
    ledger.clock.advance(100)
    show(previews, claimed, "")
    assert await waits == {"working": None}
    assert await anext(events) == {"preview": ""}
    await events.aclose()
    await ledger.store.close()


@on_a_loop
async def test_a_busy_ledger_makes_no_preview_come_sooner(tmp_path: Path) -> None:
    ledger, claimed = await running(tmp_path)
    elsewhere = await ledger.begin(chat="c2")
    previews, slept = DraftCache(), watch(ledger.clock)
    events = ChatFeed(ledger.store, ledger.clock, previews).follow(address())
    await anext(events)
    show(previews, claimed, "one")
    assert await anext(events) == AT_WORK
    assert await anext(events) == {"preview": "one"}
    waits = await begin(events, slept)
    show(previews, claimed, "one two")
    slept.asked.clear()
    await ledger.append(elsewhere.fence, answers())
    await slept.until(0.1)
    assert not waits.done()
    ledger.clock.advance(100)
    assert await waits == {"preview": "one two"}
    await events.aclose()
    await ledger.store.close()


@on_a_loop
async def test_a_generation_that_was_overtaken_shows_and_takes_back_nothing(tmp_path: Path) -> None:
    ledger, old = await running(tmp_path)
    previews, new = DraftCache(), overtaking(old)
    show(previews, old, "old")
    show(previews, new, "new")
    show(previews, old, "old and late")
    assert drafted(previews) == "new"
    show(previews, old, "")
    assert drafted(previews) == "new"
    show(previews, new, "")
    assert drafted(previews) == ""
    await ledger.store.close()


@on_a_loop
async def test_a_conversation_that_is_taken_up_again_shows_its_drafts(tmp_path: Path) -> None:
    """Its session is older than the one that was live in between."""
    ledger, old = await running(tmp_path)
    await ledger.finish(old.fence)
    await ledger.store.stop(key(), StopKind.NEW, None)
    between = await ledger.begin()
    previews = DraftCache()
    show(previews, between, "in between")
    show(previews, between, "")
    await ledger.finish(between.fence)
    await ledger.store.reopen(old.session.id, None)
    again = await ledger.begin()
    assert again.session.id == old.session.id
    show(previews, again, "taken up again")
    assert drafted(previews) == "taken up again"
    show(previews, between, "late")
    assert drafted(previews) == "taken up again"
    await ledger.store.close()


@on_a_loop
async def test_a_late_word_of_an_earlier_turn_never_replaces_the_newest_draft(tmp_path: Path) -> None:
    """Neither one of the session that was ended, nor one that comes when the newest turn is over."""
    ledger, old = await running(tmp_path)
    await ledger.finish(old.fence)
    await ledger.store.stop(key(), StopKind.NEW, None)
    new = await ledger.begin()
    assert new.fence.session != old.fence.session and new.fence.generation <= old.fence.generation
    previews = DraftCache()
    show(previews, old, "old")
    show(previews, new, "new")
    show(previews, old, "old and late")
    assert drafted(previews) == "new"
    show(previews, new, "")
    show(previews, old, "later still")
    assert previews.of(address()) is None, "nobody would ever take it away"
    newest = overtaking(new)
    show(previews, newest, "newest")
    show(previews, newest, "")
    show(previews, new, "late")
    assert previews.of(address()) is None
    await ledger.store.close()


@on_a_loop
async def test_who_follows_hears_that_a_turn_is_at_work_what_is_said_of_it_and_its_end(
    tmp_path: Path,
) -> None:
    ledger, claimed = await running(tmp_path)
    previews, slept = DraftCache(), watch(ledger.clock)
    events = ChatFeed(ledger.store, ledger.clock, previews).follow(address())
    await anext(events)

    async def heard(act: Callable[[], None]) -> Json:
        waits = await begin(events, slept)
        act()
        ledger.clock.advance(100)
        return await waits

    new = overtaking(claimed).fence
    words = "Still working: 1 minute so far."
    assert await heard(lambda: previews.show(address(), Working(claimed.fence, typing=True))) == AT_WORK
    assert await heard(lambda: show(previews, claimed, "", words)) == {"working": {"notice": words}}
    assert await heard(lambda: previews.show(address(), Working(new, typing=True))) == AT_WORK
    show(previews, claimed, "", words)
    assert await heard(lambda: previews.show(address(), Working(new))) == {"working": None}
    await events.aclose()
    await ledger.store.close()


@on_a_loop
async def test_who_begins_to_follow_has_no_transcript_read_for_them_however_long(tmp_path: Path) -> None:
    ledger, claimed = await running(tmp_path)
    await ledger.append(claimed.fence, asks("c1"))
    reads: list[object] = []

    class Watched:
        def __getattr__(self, name: str) -> object:
            reads.append(name)
            return getattr(ledger.store, name)

    events = ChatFeed(cast(Store, Watched()), ledger.clock, DraftCache()).follow(address())
    first = await anext(events)
    assert (first["session"], first["seq"]) == (claimed.session.id, 2)
    assert "transcript" not in reads
    await events.aclose()
    await ledger.store.close()


async def first_of_feed(feed: AsyncGenerator[Json, None], count: int) -> list[Json]:
    return [await anext(feed) for _ in range(count)]


@on_a_loop
async def test_who_comes_again_misses_nothing_of_conversations_that_ended_meanwhile(tmp_path: Path) -> None:
    ledger, claimed = await running(tmp_path)
    following = ChatFeed(ledger.store, ledger.clock, DraftCache())
    first, seq = claimed.session.id, claimed.entries[-1].seq
    await ledger.finish(claimed.fence)
    await ledger.store.stop(key(), StopKind.NEW, None)
    second = await ledger.complete("between two looks")
    await ledger.store.stop(key(), StopKind.NEW, None)
    feed = following.follow(address(), 0, first, seq)
    found = await first_of_feed(feed, 5)
    assert found[0] == {"following": address(), "session": first, "seq": seq}
    assert [one["entry"]["seq"] for one in found if "entry" in one] == [seq + 1, 1, 2]
    assert [one["session"] for one in found if "began" in one] == [second.session.id]


@on_a_loop
async def test_a_conversation_that_was_left_for_an_earlier_one_is_not_shown_again_after_it(
    tmp_path: Path,
) -> None:
    ledger, earlier = await running(tmp_path)
    await ledger.finish(earlier.fence)
    await ledger.store.stop(key(), StopKind.NEW, None)
    await ledger.complete("left for the earlier one")
    await ledger.store.reopen(earlier.session.id, None)
    again = await ledger.complete("taken up again")
    await ledger.store.stop(key(), StopKind.NEW, None)
    later = await ledger.begin("after that")
    following = ChatFeed(ledger.store, ledger.clock, DraftCache())
    (turn,) = await ledger.store.turns(earlier.session.id, 1)
    assert turn.id == again.turn.id
    feed = following.follow(address(), 0, earlier.session.id, turn.last_seq)
    found = await first_of_feed(feed, 3)
    assert [one["session"] for one in found[1:]] == [later.session.id] * 2
    assert found[2]["entry"]["text"] == "after that"


@on_a_loop
async def test_who_first_comes_between_two_conversations_is_given_nothing_of_the_past(tmp_path: Path) -> None:
    ledger, claimed = await running(tmp_path)
    await ledger.finish(claimed.fence)
    await ledger.store.stop(key(), StopKind.NEW, None)
    feed = ChatFeed(ledger.store, ledger.clock, DraftCache()).follow(address())
    assert (await anext(feed))["session"] == claimed.session.id
    following = asyncio.ensure_future(anext(feed))
    later = await ledger.begin("after that")
    found = [await following, *await first_of_feed(feed, 1)]
    assert found[0] == {"session": later.session.id, "began": "new"}
    assert found[1]["entry"]["seq"] == 1


async def taken_up_again(home: Path) -> tuple[Ledger, Claimed, Claimed, Claimed]:
    """A conversation that was left for another one, goes on after that, and has ended since."""
    ledger, earlier = await running(home)
    await ledger.finish(earlier.fence)
    await ledger.store.stop(key(), StopKind.NEW, None)
    between = await ledger.complete("left for the earlier one")
    await ledger.store.reopen(earlier.session.id, None)
    again = await ledger.complete("taken up again")
    return ledger, earlier, between, again


def steps(found: list[Json]) -> list[tuple[str, int]]:
    return [(one["session"], one["entry"]["seq"]) for one in found if "entry" in one]


@on_a_loop
async def test_a_conversation_that_is_taken_up_again_goes_on_where_its_reader_left_it(tmp_path: Path) -> None:
    ledger, earlier, between, _ = await taken_up_again(tmp_path)
    feed = ChatFeed(ledger.store, ledger.clock, DraftCache()).follow(address(), 0, between.session.id, 2)
    found = await first_of_feed(feed, 3)
    assert steps(found) == [(earlier.session.id, 3), (earlier.session.id, 4)]
    await feed.aclose()
    await ledger.store.close()


@on_a_loop
async def test_who_comes_again_after_a_conversation_was_taken_up_misses_nothing_of_the_one_between(
    tmp_path: Path,
) -> None:
    ledger, earlier, between, _ = await taken_up_again(tmp_path)
    feed = ChatFeed(ledger.store, ledger.clock, DraftCache()).follow(address(), 0, earlier.session.id, 1)
    found = await first_of_feed(feed, 7)
    first, other = earlier.session.id, between.session.id
    assert steps(found) == [(first, 2), (other, 1), (other, 2), (first, 3), (first, 4)]
    assert [one["session"] for one in found if "began" in one] == [other]
    await feed.aclose()
    await ledger.store.close()


@on_a_loop
async def test_who_follows_while_a_conversation_is_taken_up_again_sees_each_step_once(tmp_path: Path) -> None:
    ledger, earlier = await running(tmp_path)
    feed = ChatFeed(ledger.store, ledger.clock, DraftCache()).follow(address())
    found = await first_of_feed(feed, 1)
    await ledger.finish(earlier.fence)
    await ledger.store.stop(key(), StopKind.NEW, None)
    between = await ledger.complete("left for the earlier one")
    found += await first_of_feed(feed, 4)
    await ledger.store.reopen(earlier.session.id, None)
    await ledger.complete("taken up again")
    found += await first_of_feed(feed, 2)
    first, other = earlier.session.id, between.session.id
    assert steps(found) == [(first, 2), (other, 1), (other, 2), (first, 3), (first, 4)]
    await feed.aclose()
    await ledger.store.close()


@on_a_loop
async def test_who_first_comes_after_a_conversation_that_was_taken_up_again_is_given_nothing_of_the_past(
    tmp_path: Path,
) -> None:
    ledger, earlier, _, again = await taken_up_again(tmp_path)
    await ledger.store.stop(key(), StopKind.NEW, None)
    (turn,) = await ledger.store.turns(earlier.session.id, 1)
    assert turn.id == again.turn.id
    feed = ChatFeed(ledger.store, ledger.clock, DraftCache()).follow(address())
    first = await anext(feed)
    assert (first["session"], first["seq"]) == (earlier.session.id, turn.last_seq)
    await feed.aclose()
    await ledger.store.close()
