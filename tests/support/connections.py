"""Connections that fail on purpose, and one that looks at what really is on disk."""

import resource
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from holdfast.store.sqlite.database import connect_writer


def sqlite_error(name: str) -> sqlite3.OperationalError:
    """The driver's error as SQLite would have caused it."""
    error = sqlite3.OperationalError(f"simulated {name}")
    error.sqlite_errorcode = getattr(sqlite3, name)
    error.sqlite_errorname = name
    return error


class Scripted(sqlite3.Connection):
    """A connection that does as told before certain statements, and remembers all of them."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.script: dict[str, Callable[[Scripted], None]] = {}
        """What to do before a statement, once; if that raises, the statement is not run."""
        self.seen: list[str] = []

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        self.seen.append(sql)
        first = self.script.pop(sql, None)
        if first is not None:
            first(self)
        return super().execute(sql, parameters)

    def plainly(self, sql: str) -> None:
        super().execute(sql)


def connect_scripted(path: Path) -> Scripted:
    db = connect_writer(path, Scripted)
    assert isinstance(db, Scripted)
    db.seen.clear()
    return db


@contextmanager
def no_file_beyond(size: int) -> Iterator[None]:
    """Writes past this many bytes fail for real, in every file of this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def on_disk(path: Path, query: str) -> list[tuple[Any, ...]]:
    """What a fresh connection finds."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        return db.execute(query).fetchall()
