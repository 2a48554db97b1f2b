"""Copying a ledger whole: a snapshot of a living one, and one that is brought back."""

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
"""Pages copied in one step (1 MB): often enough for progress to be seen."""

Progress = Callable[[int, int], None]
"""Told after each step: pages done, and pages in all."""


def copy_ledger(source: Path, target: Path, progress: Progress) -> int:
    """Copy a ledger as it stands at this instant, also while a gateway writes to it; returns its schema.

    All steps read one and the same snapshot, so none of them has to begin anew because of a commit, and the
    writer waits for nothing; only its log is not started over meanwhile. The copy is one file, synced.
    """
    try:
        with closing(connect_reader(source)) as db, closing(sqlite3.connect(target)) as copy:
            # The snapshot is taken by the first read of this transaction and kept until its end.
            db.execute("BEGIN")
            schema = schema_version(db)
            copy.execute("PRAGMA synchronous = OFF")
            db.backup(copy, pages=PAGES, progress=lambda _, left, total: progress(total - left, total))
            db.execute("ROLLBACK")
            # Without a log: the copy is all in this one file, which is synced below as a whole.
            copy.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.Error as error:
        raise translate(error) from error
    with target.open("rb") as file:
        os.fsync(file.fileno())
    return schema


def problems_of(path: Path, now: int) -> tuple[str, ...]:
    """Everything wrong with a ledger nobody writes to, in words."""
    try:
        with closing(connect_reader(path)) as db:
            return read_on(db, verify, now)
    except StoreFault as error:
        return (f"it cannot be read: {error}",)


def bring_back(path: Path, clock: Clock, ids: Ids) -> dict[str, int]:
    """Make a ledger out of a backup the next gateway's: schema up to date, what was open held, all synced.

    Returns how much of each is held. Raises `SchemaTooNew` or `Unusable`; then the file is of no use.
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
    """A newer schema is refused, and a file that is no ledger, before anything is written to it."""
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
