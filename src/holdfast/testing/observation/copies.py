"""Backups taken while a gateway works: each is restored at once and inspected."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from shutil import rmtree

from holdfast.errors import HoldfastError
from holdfast.gateway.files.blobs import FOLDER
from holdfast.maintenance.backup import make_backup, restore
from holdfast.store import LEDGER
from holdfast.testing.clock import SeededIds
from holdfast.testing.sim.ports import WorldClock

from .history import History
from .ledger_view import LedgerView


class Copies:
    """An operator who makes backups of a home and tests them."""

    def __init__(
        self, clock: WorldClock, history: History, folder: Path, meanwhile: Callable[[], None]
    ) -> None:
        self._clock = clock
        self._history = history
        self._folder = folder
        self._meanwhile = meanwhile
        """Lets everything else run for a while."""
        self._busy = False

    def take(self, home: Path) -> None:
        """Back this home up, restore the copy elsewhere, and note its faults."""
        if self._busy:
            return
        self._busy = True
        confirmed = [(one.account, one.event_id) for one in self._history.confirmed if one.known]
        revised = {(one.account, one.event_id) for one in self._history.events if one.kind == "revision"}
        self._folder.mkdir()
        try:
            source, new = self._folder / "backup.tar", self._folder / "home"
            make_backup(home, source, self._clock, False, self._while_it_works)
            restore(source, new, self._clock, SeededIds(self._clock, "restore"), False, _unseen)
            self._history.copies += 1
            wanted = [event for event in confirmed if event not in revised]
            wrong = _wrong(new, wanted, _named(home))
            self._history.bad_copies += [f"in a backup, {words}" for words in wrong]
        except HoldfastError as error:
            self._history.bad_copies.append(f"a backup could not be made or restored: {error}")
        finally:
            rmtree(self._folder)
            self._busy = False

    def _while_it_works(self, what: str, done: int, of: int) -> None:
        self._meanwhile()


def _unseen(what: str, done: int, of: int) -> None:
    """Ignore the progress."""


def _named(home: Path) -> set[str]:
    look = LedgerView(home / LEDGER)
    try:
        return look.named_files()
    finally:
        look.close()


def _wrong(home: Path, confirmed: list[tuple[str, str]], still_named: set[str]) -> Iterator[str]:
    """The faults of a copy. Only what was forgotten during the backup may be missing."""
    look = LedgerView(home / LEDGER)
    try:
        yield from look.damage()
        for account, event_id in confirmed:
            if not look.is_known(account, event_id):
                yield f"{account} {event_id} is missing, but it was confirmed before"
        yield from missing_files(home, look.named_files() & still_named)
        yield from (f"{words}, and would go on by itself" for words in look.not_held())
    finally:
        look.close()


def missing_files(home: Path, named: Iterable[str]) -> Iterator[str]:
    """Files that a ledger names and its home lacks, or has with other bytes."""
    for digest in sorted(named):
        found = digest_of(home / FOLDER / digest[:2] / digest)
        if found != digest:
            yield f"the file {digest[:12]} is named, but it is {'missing' if not found else 'another'}"


def digest_of(path: Path) -> str:
    """The hash of the bytes of a file; empty without a file."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except FileNotFoundError:
        return ""
