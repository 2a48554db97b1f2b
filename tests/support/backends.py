"""The databases the contract suite runs on, and how a test looks past the store into each."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

from holdfast.clock import Clock, Ids
from holdfast.store import Store, open_ledger
from holdfast.store.sqlite import LEDGER

Dump = dict[str, list[tuple[Any, ...]]]


class Backend(Protocol):
    """One database, made for one test."""

    async def open(self, clock: Clock, ids: Ids) -> Store:
        """Open the ledger as a fresh process run."""
        ...

    def dump(self) -> Dump:
        """Every row of every table, as committed."""
        ...

    def spoil(self, table: str, statement: str) -> None:
        """Write below the schema: a value of a type that the table would not take."""
        ...

    def damage(self, *statements: str) -> None:
        """Write past every rule of the schema, as a bad disk or a bad hand would."""
        ...


class SqliteBackend:
    def __init__(self, home: Path) -> None:
        self._home = home

    async def open(self, clock: Clock, ids: Ids) -> Store:
        return await open_ledger(self._home, clock, ids)

    def dump(self) -> Dump:
        with closing(self._connect()) as db:
            tables = db.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
            )
            return {name: db.execute(f"SELECT * FROM {name}").fetchall() for (name,) in tables.fetchall()}

    def damage(self, *statements: str) -> None:
        with closing(self._connect()) as db:
            db.execute("PRAGMA ignore_check_constraints = ON")
            triggers = db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
            db.execute("BEGIN IMMEDIATE")
            for name, _ in triggers:
                db.execute(f"DROP TRIGGER {name}")
            for statement in statements:
                assert db.execute(statement).rowcount, f"damages nothing: {statement}"
            for _, sql in triggers:
                db.execute(sql)
            db.execute("COMMIT")

    def spoil(self, table: str, statement: str) -> None:
        """Write below the schema: a value of a type that the table would not take."""
        with closing(self._connect()) as db:
            (sql,) = db.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (table,)).fetchone()
        lax = sql.replace("STRICT, WITHOUT", "WITHOUT").replace(") STRICT", ")")
        assert lax != sql, "it is as strict as before"
        self._rewrite(table, lax)
        self.damage(statement)
        self._rewrite(table, sql)

    def _rewrite(self, table: str, sql: str) -> None:
        with closing(self._connect()) as db:
            db.execute("PRAGMA writable_schema = ON")
            db.execute("UPDATE sqlite_schema SET sql = ? WHERE name = ?", (sql, table))

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self._home / LEDGER, isolation_level=None)


BACKENDS = {"sqlite": SqliteBackend}
