"""Opening the file: durable or not at all, and a newer schema is left as it is."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from holdfast.clock import SystemClock, SystemIds
from holdfast.errors import DiskFull, SchemaTooNew, StoreUnavailable, Unusable, WeakDurability
from holdfast.store import SqliteStore, open_ledger
from holdfast.store.sqlite import LEDGER, database
from holdfast.store.sqlite.database import connect_writer, migrate, migrations, schema_version
from tests.support.connections import Scripted, connect_scripted, on_disk, sqlite_error
from tests.support.loops import on_a_loop


async def open_at(home: Path) -> SqliteStore:
    clock = SystemClock()
    return await open_ledger(home, clock, SystemIds(clock))


def test_every_commit_is_synced_to_a_write_ahead_log(tmp_path: Path) -> None:
    with closing(connect_writer(tmp_path / LEDGER)) as db:
        settings = {
            name: db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")
        }
        assert settings == {"journal_mode": "wal", "synchronous": 2}
        assert db.execute("PRAGMA foreign_keys").fetchone() == (1,)


def test_a_database_that_will_not_keep_a_log_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(WeakDurability, match="journal_mode=memory"):
        connect_writer(Path(":memory:"))


class Careless(sqlite3.Connection):
    """Stands for a build of SQLite that takes durability lightly, whatever it is asked for."""

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        return super().execute(sql.replace("synchronous = FULL", "synchronous = NORMAL"), parameters)


def test_commits_that_would_not_be_synced_are_refused(tmp_path: Path) -> None:
    with pytest.raises(WeakDurability, match="synchronous=1"):
        connect_writer(tmp_path / LEDGER, Careless)


def test_an_old_sqlite_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 34, 1))
    with pytest.raises(Unusable, match="too old"):
        connect_writer(tmp_path / LEDGER)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mode", ["wal", "delete"])
@on_a_loop
async def test_a_newer_schema_is_refused_untouched(tmp_path: Path, mode: str) -> None:
    with closing(sqlite3.connect(tmp_path / LEDGER, isolation_level=None)) as db:
        db.execute(f"PRAGMA journal_mode = {mode}")
        db.execute("CREATE TABLE of_the_future (id)")
        db.execute("PRAGMA user_version = 9999")
    before = (tmp_path / LEDGER).read_bytes()
    for _ in range(2):  # the lock is free again after the first
        with pytest.raises(SchemaTooNew) as refused:
            await open_at(tmp_path)
        assert (refused.value.found, refused.value.known) == (9999, migrations()[-1][0])
    assert (tmp_path / LEDGER).read_bytes() == before


@on_a_loop
async def test_what_a_crashed_newer_version_left_in_its_log_is_kept(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "live.db", isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("CREATE TABLE of_the_future (id)")
        db.execute("PRAGMA user_version = 9999")
        for suffix in ("", "-wal"):  # copied while open: closing would empty the log
            (tmp_path / f"{LEDGER}{suffix}").write_bytes((tmp_path / f"live.db{suffix}").read_bytes())
    with pytest.raises(SchemaTooNew):
        await open_at(tmp_path)
    assert on_disk(tmp_path / LEDGER, "PRAGMA user_version") == [(9999,)]
    assert on_disk(tmp_path / LEDGER, "SELECT name FROM sqlite_schema") == [("of_the_future",)]


@on_a_loop
async def test_a_failed_opening_lets_go_of_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(db: sqlite3.Connection) -> int:
        raise StoreUnavailable("just now")

    with monkeypatch.context() as patched:
        patched.setattr("holdfast.store.sqlite.store.migrate", fail)
        with pytest.raises(StoreUnavailable):
            await open_at(tmp_path)
    await (await open_at(tmp_path)).close()


@on_a_loop
async def test_an_orderly_end_leaves_one_file_that_holds_everything(tmp_path: Path) -> None:
    store = await open_at(tmp_path)
    await store.heartbeat()
    await store.instances()
    await store.close()
    assert not (tmp_path / f"{LEDGER}-wal").exists()
    copy = tmp_path / "copy.db"
    copy.write_bytes((tmp_path / LEDGER).read_bytes())
    assert on_disk(copy, "SELECT id FROM instances") == [(store.instance,)]


def test_a_migration_that_fails_anywhere_is_not_there_and_runs_again(tmp_path: Path) -> None:
    def fail(db: Scripted) -> None:
        raise sqlite_error("SQLITE_FULL")

    with closing(connect_scripted(tmp_path / LEDGER)) as db:
        last = migrate(db)
        steps = [
            sql for sql in db.seen if sql.startswith(("BEGIN", "COMMIT", "CREATE", "PRAGMA user_version ="))
        ]
    whole = [0]
    with closing(sqlite3.connect(":memory:")) as plain:
        for _, script in database.migrations():
            plain.executescript(script)
            whole += plain.execute("SELECT count(*) FROM sqlite_schema WHERE sql IS NOT NULL").fetchone()
    for number, step in enumerate(steps):
        path = tmp_path / f"{number}.db"
        with closing(connect_scripted(path)) as db:
            db.script[step] = fail
            with pytest.raises(DiskFull):
                migrate(db)
            assert not db.in_transaction
            made = on_disk(path, "SELECT count(*) FROM sqlite_schema WHERE sql IS NOT NULL")
            assert made == [(whole[schema_version(db)],)], "those before it are there, and nothing of its own"
            assert migrate(db) == last == schema_version(db)


def test_no_rule_of_the_schema_waits_for_the_commit() -> None:
    """A commit that fails on a rule would fail all who share it."""
    scripts = "".join(script for _, script in database.migrations()).upper()
    assert "DEFERR" not in scripts
    assert "RAISE(ROLLBACK" not in scripts
    assert "OR ROLLBACK" not in scripts
