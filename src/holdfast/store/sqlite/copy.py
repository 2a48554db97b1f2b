"""Whole copies of a ledger: take a snapshot of one in use, or bring one back from a backup."""

from __future__ import annotations

import os
import socket
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from holdfast import __version__
from holdfast.clock import Clock, Ids
from holdfast.errors import SchemaTooNew, StoreFault, Unusable
from holdfast.model import InstanceId
from holdfast.store.verbs.intake.intake import begin_instance
from holdfast.store.verbs.recovery.after_restore import hold_everything
from holdfast.store.verbs.reports.verify import verify
from holdfast.store.verbs.tx import Tx

from .commit import commit_group
from .database import connect_reader, connect_writer, migrate, migrations, schema_version
from .faults import translate
from .readers import read_on
from .sql import SQL

PAGES = 256
"""Pages copied in one step (half a megabyte): small enough to show progress."""

Progress = Callable[[int, int], None]
"""Called after each step with the pages done and the pages in all."""


def copy_ledger(source: Path, target: Path, progress: Progress) -> int:
    """Copy a ledger at one moment, also while a gateway writes to it; returns its schema.

    All steps read the same snapshot, so no commit makes a step start over, and the writer never waits. Only
    the writer's log cannot start over meanwhile. The copy is one file, synced.
    """
    try:
        with closing(connect_reader(source)) as db, closing(sqlite3.connect(target)) as copy:
            # The first read of this transaction takes the snapshot and keeps it until the end.
            db.execute("BEGIN")
            schema = schema_version(db)
            copy.execute("PRAGMA synchronous = OFF")
            db.backup(copy, pages=PAGES, progress=lambda _, left, total: progress(total - left, total))
            db.execute("ROLLBACK")
            # No log: the whole copy is in this one file, which is synced below.
            copy.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.Error as error:
        raise translate(error) from error
    with target.open("rb") as file:
        os.fsync(file.fileno())
    return schema


def problems_of(path: Path, now: int) -> tuple[str, ...]:
    """Everything wrong with a ledger that no process writes to, in words."""
    try:
        with closing(connect_reader(path)) as db:
            return read_on(db, verify, now)
    except StoreFault as error:
        return (f"it cannot be read: {error}",)


def bring_back(path: Path, clock: Clock, ids: Ids) -> dict[str, int]:
    """Prepare the ledger of a backup for the next gateway: schema up to date, open work held, all synced.

    Returns how much of each kind is held. Raises `SchemaTooNew` or `Unusable` if the file cannot be used.
    """
    _refuse_foreign(path)
    with closing(connect_writer(path)) as db:
        migrate(db)
        newest = str(db.execute(SQL["newest_id"].text).fetchone()[0])
        ids.start_after(newest)
        instance = InstanceId(ids.new())
        held: dict[str, int] = {}

        def hold(tx: Tx) -> None:
            begin_instance(tx, socket.gethostname(), os.getpid(), "restore", __version__)
            held.update(hold_everything(tx))

        (outcome,) = commit_group(db, [hold], clock, ids, instance)
        if outcome.error is not None:
            raise outcome.error
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    if found := problems_of(path, clock.now()):
        raise Unusable(f"the ledger in this backup is broken: {found[0]}; nothing was changed")
    return held


def _refuse_foreign(path: Path) -> None:
    """Refuse a newer schema, and a file that is no ledger, before anything is written to it."""
    try:
        with closing(connect_reader(path)) as db:
            found = schema_version(db)
            whole = db.execute("PRAGMA integrity_check").fetchone()[0]
    except sqlite3.Error as error:
        raise Unusable(f"the ledger in this backup cannot be read: {error}; nothing was changed") from None
    known = migrations()[-1][0]
    if found > known:
        raise SchemaTooNew(found, known)
    if found < 1 or whole != "ok":
        raise Unusable(f"the ledger in this backup is damaged ({whole}); nothing was changed")
