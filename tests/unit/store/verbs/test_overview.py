"""Sessions looked for where no index helps: a window at a time, nothing left out, nothing twice."""

from pathlib import Path

import pytest

from holdfast.model import SessionId
from holdfast.store import Wanted
from holdfast.store.verbs.reports import overview
from tests.support.backends import SqliteBackend
from tests.support.ledger import Ledger
from tests.support.loops import on_a_loop


@on_a_loop
async def test_a_page_looks_through_a_window_and_says_where_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overview, "WINDOW", 3)
    ledger = Ledger(SqliteBackend(tmp_path))
    await ledger.open()
    made = []
    for n in range(10):
        made.append((await ledger.complete(chat=f"rare{n}" if n in (0, 1, 7) else f"c{n}")).session.id)
        ledger.clock.advance(1)
    pages: list[list[SessionId]] = []
    before: SessionId | None = None
    while True:
        page = await ledger.store.find_sessions(Wanted(text="rare"), before, limit=1)
        pages.append([line.id for line in page.lines])
        if page.next is None:
            break
        before = page.next
    assert [one for page in pages for one in page] == [made[7], made[1], made[0]]
    assert [] in pages, "a page may be empty while there is more to look at"
    await ledger.store.close()


@on_a_loop
async def test_of_a_busy_hour_its_end_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overview, "MOST_TURNS", 2)
    ledger = Ledger(SqliteBackend(tmp_path))
    await ledger.open()
    since = ledger.clock.now()
    for minute in range(4):
        await ledger.complete(chat=f"c{minute}")
        ledger.clock.advance(60_000)
    begun = (await ledger.store.overview(since)).begun
    newest = (ledger.clock.now() // 60_000 - 1) * 60_000
    assert sorted(one.minute for one in begun) == [newest - 60_000, newest]
    await ledger.store.close()
