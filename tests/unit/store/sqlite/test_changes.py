import asyncio

from holdfast.store.sqlite.changes import Changes
from tests.support.loops import on_a_loop


@on_a_loop
async def test_a_change_between_looking_and_waiting_is_not_missed() -> None:
    changes = Changes()
    seen = changes.version("inbox")
    changes.announce(["inbox"])
    assert await changes.changed("inbox", seen) == seen + 1


@on_a_loop
async def test_a_change_wakes_all_who_wait_for_it_and_nobody_else() -> None:
    changes = Changes()
    waiting = [asyncio.ensure_future(changes.changed(topic, 0)) for topic in ("inbox", "inbox", "turns")]
    await asyncio.to_thread(lambda: None)
    changes.announce({"inbox"})
    assert await asyncio.gather(*waiting[:2]) == [1, 1]
    assert not waiting[2].done()
    waiting[2].cancel()


@on_a_loop
async def test_who_stops_waiting_leaves_nothing_behind() -> None:
    changes = Changes()
    waiting = asyncio.ensure_future(changes.changed("inbox", 0))
    await asyncio.to_thread(lambda: None)
    waiting.cancel()
    await asyncio.wait([waiting])
    changes.announce(["inbox"])
    assert changes.version("inbox") == 1
