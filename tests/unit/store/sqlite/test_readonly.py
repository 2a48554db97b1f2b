from pathlib import Path

import pytest

from holdfast.clock import SystemClock
from holdfast.errors import SchemaTooNew, Unusable
from holdfast.store import LEDGER, ReadOnlyLedger
from tests.support.backends import SqliteBackend
from tests.support.ledger import Ledger, key
from tests.support.loops import on_a_loop


@on_a_loop
async def test_a_ledger_is_read_while_a_gateway_runs_and_after_its_end(tmp_path: Path) -> None:
    ledger = Ledger(SqliteBackend(tmp_path))
    await ledger.open()
    await ledger.begin(chat="c1")
    reading = ReadOnlyLedger(tmp_path / LEDGER, SystemClock())
    assert [line.key for line in await reading.sessions()] == [key("c1")]
    assert len(await reading.running_turns()) == 1
    await ledger.complete(chat="c2")
    assert len(await reading.sessions()) == 2, "each look sees the last commit"
    await reading.close()
    await ledger.store.close()
    reading = ReadOnlyLedger(tmp_path / LEDGER, SystemClock())
    assert (await reading.continuity()).previous_ended == "crashed"
    assert await reading.verify() == ()
    await reading.close()


@on_a_loop
async def test_looking_changes_nothing_and_takes_no_lock(tmp_path: Path) -> None:
    ledger = Ledger(SqliteBackend(tmp_path))
    await ledger.open()
    await ledger.begin()
    await ledger.store.close()
    before = ledger.dump()
    reading = ReadOnlyLedger(tmp_path / LEDGER, SystemClock())
    await reading.verify()
    await ledger.open()
    await ledger.store.close()
    await reading.close()
    after = ledger.dump()
    assert {name: rows for name, rows in before.items() if name not in ("instances", "events")} == {
        name: rows for name, rows in after.items() if name not in ("instances", "events")
    }


def test_where_nothing_has_run_there_is_nothing_to_read(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match="nothing has run there"):
        ReadOnlyLedger(tmp_path / LEDGER, SystemClock())
    assert list(tmp_path.iterdir()) == []


@on_a_loop
async def test_a_ledger_of_another_version_is_not_guessed_at(tmp_path: Path) -> None:
    ledger = Ledger(SqliteBackend(tmp_path))
    await ledger.open()
    await ledger.store.close()
    connection = ledger.backend._connect()  # type: ignore[attr-defined] # past every rule, on purpose
    connection.execute("PRAGMA user_version = 999")
    with pytest.raises(SchemaTooNew):
        ReadOnlyLedger(tmp_path / LEDGER, SystemClock())
    connection.execute("PRAGMA user_version = 0")
    connection.close()
    with pytest.raises(Unusable, match="next start"):
        ReadOnlyLedger(tmp_path / LEDGER, SystemClock())
