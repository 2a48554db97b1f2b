"""The schema: the sum of its migrations, and the model's tables word for word."""

import re
import sqlite3
from collections.abc import Iterable
from contextlib import suppress
from itertools import product

import pytest

from holdfast.model import MACHINES, EffectClass, InboxKind, OwedKind, QuestionKind
from holdfast.store.sqlite.database import migrate, migrations
from holdfast.store.sqlite.triggers import GUARDED, guards

Schema = set[tuple[str, str, str, str | None]]


def schema(db: sqlite3.Connection) -> Schema:
    return set(db.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema"))


@pytest.fixture
def fresh() -> sqlite3.Connection:
    """A database as a first start makes it."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    migrate(db)
    return db


def test_a_fresh_ledger_is_the_sum_of_its_migrations(fresh: sqlite3.Connection) -> None:
    summed = sqlite3.connect(":memory:", isolation_level=None)
    for _, script in migrations():
        summed.executescript(script)
    assert schema(fresh) == schema(summed)


def test_migrations_are_numbered_from_one_without_a_gap() -> None:
    assert [number for number, _ in migrations()] == list(range(1, len(migrations()) + 1))


def test_migrating_twice_changes_nothing(fresh: sqlite3.Connection) -> None:
    before = schema(fresh)
    assert migrate(fresh) == migrations()[-1][0]
    assert schema(fresh) == before


def test_the_database_guards_exactly_the_arrows_of_the_state_tables(fresh: sqlite3.Connection) -> None:
    found = {sql for kind, name, _, sql in schema(fresh) if name.endswith("_follow_their_states")}
    bare = sqlite3.connect(":memory:", isolation_level=None)
    for table in GUARDED:
        bare.execute(f"CREATE TABLE {table} (state TEXT)")
    bare.executescript(guards())
    assert found == {sql for kind, _, _, sql in schema(bare) if kind == "trigger"}
    assert {machine.name for machine in GUARDED.values()} == {machine.name for machine in MACHINES}


@pytest.mark.parametrize("table", GUARDED)
def test_every_arrow_of_a_state_table_is_let_through_and_every_other_refused(
    fresh: sqlite3.Connection, table: str
) -> None:
    """Carried out: on a table of that name with nothing but a state and the ledger's own trigger."""
    (trigger,) = [sql for _, name, _, sql in schema(fresh) if name == f"{table}_follow_their_states"]
    bare = sqlite3.connect(":memory:", isolation_level=None)
    bare.execute(f"CREATE TABLE {table} (state TEXT)")
    bare.execute(str(trigger))
    states, let_through = list(GUARDED[table].arrows), set()
    for source, target in product([*states, "gibberish"], repeat=2):
        bare.execute(f"DELETE FROM {table}")
        bare.execute(f"INSERT INTO {table} VALUES (?)", (source,))
        with suppress(sqlite3.IntegrityError):
            bare.execute(f"UPDATE {table} SET state = ?", (target,))
            let_through.add((source, target))
    same = {(state, state) for state in (*states, "gibberish")}
    assert let_through == {*GUARDED[table].pairs, *same, ("gibberish", GUARDED[table].unreadable)}


def words(db: sqlite3.Connection, table: str, column: str) -> set[str]:
    """The words a column's CHECK lets through."""
    (sql,) = db.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (table,)).fetchone()
    word = rf"{column} = '\w+'"
    found = re.search(rf"^\s+{column}\s+TEXT[^,]*?CHECK \(({word}(?:\s+OR {word})*)\)", sql, re.MULTILINE)
    assert found, f"{table}.{column} has no CHECK"
    return set(re.findall(r"'(\w+)'", found[1]))


@pytest.mark.parametrize(
    ("table", "column", "known"),
    [
        *((table, "state", machine.arrows) for table, machine in GUARDED.items()),
        ("inbox", "kind", InboxKind),
        ("outbox", "kind", OwedKind),
        ("questions", "kind", QuestionKind),
        ("tool_calls", "effect", EffectClass),
        ("entries", "kind", ("said", "replied", "returned", "noted", "undone", "summed")),
    ],
)
def test_a_column_holds_the_words_of_the_model_and_no_others(
    fresh: sqlite3.Connection, table: str, column: str, known: Iterable[str]
) -> None:
    assert words(fresh, table, column) == set(known)


def test_every_table_is_strict(fresh: sqlite3.Connection) -> None:
    tables = fresh.execute(
        "SELECT name, strict FROM pragma_table_list WHERE schema = 'main' AND type = 'table'"
    )
    assert [name for name, strict in tables if not strict and not name.startswith("sqlite_")] == []
