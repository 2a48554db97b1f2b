"""Starting on a ledger that is not as it should be: newer, half migrated, or cut off in the middle."""

import asyncio
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from holdfast.errors import SchemaTooNew
from holdfast.model import OPEN_ENDED, AskedBy
from holdfast.store.sqlite import LEDGER
from holdfast.store.sqlite.database import connect_writer, migrate, migrations
from tests.migration.test_schema import schema
from tests.support.backends import SqliteBackend
from tests.support.ledger import Ledger

NEWEST = migrations()[-1][0]

# Runs the real migration code on a script that stops for ever once `marker` statements are done.
STOPS_INSIDE = """
import sys, threading
from pathlib import Path
from holdfast.store.sqlite import database

home, number, stop_after = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
known, split = database.migrations, database.statements
script = dict(known()).get(number, "CREATE TABLE half (a);\\nDROP TABLE usage;\\nCREATE TABLE rest (a);\\n")

def statements(text):
    for done, statement in enumerate(split(text)):
        if text == script and done == stop_after:
            print("inside", flush=True)
            threading.Event().wait()
        yield statement

database.migrations = lambda: sorted({**dict(known()), number: script}.items())
database.statements = statements
db = database.connect_writer(home / "ledger.db")
database.migrate(db)
"""


def kill_inside(home: Path, number: int, stop_after: int) -> None:
    """A process is killed in the middle of a migration."""
    child = subprocess.Popen(
        [sys.executable, "-c", STOPS_INSIDE, str(home), str(number), str(stop_after)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    with child.stdout as said:
        assert said.readline() == "inside\n"
        child.kill()
        assert child.wait() == -signal.SIGKILL


def expected() -> set[tuple[str, str, str, str | None]]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        migrate(db)
        return schema(db)


@pytest.mark.parametrize("stop_after", [0, 1, 20, 40])
def test_a_first_start_killed_inside_its_migration_starts_again(tmp_path: Path, stop_after: int) -> None:
    kill_inside(tmp_path, 1, stop_after)
    with closing(connect_writer(tmp_path / LEDGER)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (0,)
        assert schema(db) == set()
        migrate(db)
        assert schema(db) == expected()


@pytest.mark.parametrize("stop_after", [1, 2])
def test_an_upgrade_killed_inside_its_migration_leaves_the_ledger_before_it(
    tmp_path: Path, stop_after: int
) -> None:
    async def use(ledger: Ledger) -> None:
        await ledger.open()
        await ledger.complete()
        assert await ledger.store.verify() == ()
        await ledger.store.close()

    ledger = Ledger(SqliteBackend(tmp_path))
    asyncio.run(use(ledger))
    before = ledger.dump()
    kill_inside(tmp_path, NEWEST + 1, stop_after)
    assert ledger.dump() == before
    with closing(sqlite3.connect(tmp_path / LEDGER)) as db:
        assert schema(db) == expected()
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    asyncio.run(use(ledger))


@pytest.mark.guards("R6.4", "R8.3")
def test_open_questions_of_recovery_keep_their_meaning_over_an_upgrade() -> None:
    """The version before told them apart by their ids alone."""
    asked = ("chat_says_ask:t1:1", "safe_mode_message:t2:1", "limit:t3")
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        for number, script in migrations():
            if number < 12:
                db.executescript(script)
        db.execute("PRAGMA user_version = 11")
        for id_ in asked:
            db.execute(
                "INSERT INTO questions (id, session, incarnation, turn, kind, text, asked_at, expires_at)"
                " VALUES (?, 's', 0, ?, 'continue', 'Shall I?', 1, 2)",
                (id_, id_),
            )
        migrate(db)
        found = db.execute("SELECT id, asked_by, expires_at FROM questions ORDER BY id").fetchall()
    assert found == [
        (asked[0], AskedBy.CHAT, 2),
        (asked[2], None, 2),
        (asked[1], AskedBy.SAFE_MODE, OPEN_ENDED),
    ]


def test_a_newer_ledger_is_refused_and_not_touched(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / LEDGER, isolation_level=None)) as db:
        migrate(db)
        db.execute("CREATE TABLE of_the_future (a)")
        db.execute(f"PRAGMA user_version = {NEWEST + 1}")
    before = (tmp_path / LEDGER).read_bytes()

    with pytest.raises(SchemaTooNew) as caught:
        asyncio.run(Ledger(SqliteBackend(tmp_path)).open())
    assert (caught.value.found, caught.value.known) == (NEWEST + 1, NEWEST)
    assert (tmp_path / LEDGER).read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ledger.db", "lock"]

    with pytest.raises(SchemaTooNew):
        asyncio.run(Ledger(SqliteBackend(tmp_path)).open())
