"""Watching how a chat stands: told when it changed, and hardly any work for what changes elsewhere."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import cast

from holdfast.api.chat_snapshot import watch
from holdfast.store import Store
from tests.support.backends import SqliteBackend
from tests.support.ledger import Ledger, address
from tests.support.loops import on_a_loop
from tests.support.platforms import Slept
from tests.support.platforms import watch as watch_clock

AT_LEAST = 0.1
"""Seconds between two looks."""


class Watched:
    """A store of which the reads are counted."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.reads: Counter[str] = Counter()

    def __getattr__(self, name: str) -> object:
        self.reads[name] += 1
        return getattr(self._store, name)


async def looked(ledger: Ledger, slept: Slept) -> None:
    """Let one more look come and be over."""
    slept.asked.clear()
    ledger.clock.advance(100)
    await slept.until(AT_LEAST)


@on_a_loop
async def test_work_in_other_chats_costs_a_watcher_next_to_nothing_and_their_own_is_told(
    tmp_path: Path,
) -> None:
    ledger = Ledger(SqliteBackend(tmp_path))
    await ledger.open()
    await ledger.complete(chat="c1")
    store, slept = Watched(ledger.store), watch_clock(ledger.clock)
    standings = watch(cast(Store, store), ledger.clock, address("c1"))
    assert (await anext(standings))["turn"] is None
    whole = store.reads["transcript"]
    waits = asyncio.ensure_future(anext(standings))
    await slept.until(AT_LEAST)
    for number in range(3):
        await ledger.complete(chat=f"x{number}")
        await looked(ledger, slept)
    assert store.reads["transcript"] == whole
    assert not waits.done()
    await ledger.begin(chat="c1")
    ledger.clock.advance(100)
    assert (await waits)["turn"]["state"] == "running"
    await standings.aclose()
    await ledger.store.close()


@on_a_loop
async def test_without_a_word_of_change_the_whole_is_looked_at_again_after_a_while(tmp_path: Path) -> None:
    ledger = Ledger(SqliteBackend(tmp_path))
    await ledger.open()
    await ledger.complete(chat="c1")
    store, slept = Watched(ledger.store), watch_clock(ledger.clock)
    standings = watch(cast(Store, store), ledger.clock, address("c1"))
    await anext(standings)
    whole = store.reads["transcript"]
    waits = asyncio.ensure_future(anext(standings))
    await slept.until(AT_LEAST)
    ledger.clock.advance(100)
    await slept.until(5.0)
    slept.asked.clear()
    ledger.clock.advance(5_000)
    await slept.until(AT_LEAST)
    assert store.reads["transcript"] == whole + 1
    waits.cancel()
    await asyncio.gather(waits, return_exceptions=True)
    await standings.aclose()
    await ledger.store.close()
