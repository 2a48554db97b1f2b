"""The named queries: each is used, each that is used exists, and none walks a table that grows."""

import ast
import re
import sqlite3
from pathlib import Path

from holdfast.store.sqlite.database import migrate
from holdfast.store.sqlite.sql import SQL, Query
from tests.unit.project.tree import PACKAGE, parse

QUERIES = PACKAGE / "store" / "sqlite" / "queries"
MODULES = sorted((PACKAGE / "store").rglob("*.py"))

# What looks at everything there is, on purpose, or at a table that retention keeps small.
WALKS = {
    "broken_invariants",
    "unreadable_fields",
    "forget_events",
    "forget_set_aside",
    "forget_instances",
    "live_notices",
    # Codes are few at any time, and forgotten.
    "open_codes",
    "asking",
    "forget_pairings",
    # Forgetting rewrites the whole file in the end.
    *re.findall(r"-- name: (\w+)", (QUERIES / "erasing.sql").read_text("utf-8")),
    "arrivals_of",
    "hold_messages",
}


def constants(path: Path) -> set[str]:
    return {
        node.value
        for node in ast.walk(parse(path))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def called(path: Path) -> set[str]:
    """Names given right where a query is run."""
    found = set()
    for node in ast.walk(parse(path)):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="tx" | "read"), attr="one" | "all" | "run"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                found.add(name)
    return found


def test_every_query_that_is_run_exists() -> None:
    asked = set[str]().union(*(called(path) for path in MODULES))
    assert len(asked) > 50
    assert asked - set(SQL) == set()


def test_every_query_is_used() -> None:
    assert set(SQL) - set[str]().union(*(constants(path) for path in MODULES)) == set()


def plan(db: sqlite3.Connection, query: Query) -> list[str]:
    values = ["[]"] * len(query.names)
    return [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {query.text}", values)]


def test_no_query_walks_a_table_that_grows() -> None:
    db = sqlite3.connect(":memory:", isolation_level=None)
    migrate(db)
    partial = {
        name
        for name, sql in db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'index'")
        if " WHERE " in (sql or "")
    }
    walks = {
        f"{name}: {step}"
        for name, query in SQL.items()
        if name not in WALKS and not query.text.startswith("PRAGMA")
        for step in plan(db, query)
        if re.match(r"SCAN (?!CONSTANT|\(|json_each|j VIRTUAL TABLE|page$|r$|back$|n$)", step)
        and not any(step.endswith(f"INDEX {index}") for index in partial)
        and not re.match(r"SCAN instances USING (COVERING )?INDEX sqlite_autoindex_instances_1", step)
    }
    assert walks == set()


def test_a_page_of_a_list_is_read_in_its_order_and_nothing_is_sorted_for_it() -> None:
    db = sqlite3.connect(":memory:", isolation_level=None)
    migrate(db)
    pages = ("sessions_page", "sessions_of_key", "sessions_parked", "chats_live", "set_aside_page")
    sorted_for = {name: [step for step in plan(db, SQL[name]) if "B-TREE" in step] for name in pages}
    assert sorted_for == dict.fromkeys(pages, [])
