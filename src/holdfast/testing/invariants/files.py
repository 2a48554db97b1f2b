"""Rules about files: those the ledger names exist, and those an agent sends reach its person."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.model import CallState
from holdfast.testing.observation.history import History
from holdfast.testing.scripts import GIVES

FILE = "file:"
"""The prefix of the keys of files."""


def files_last(history: History) -> Iterator[str]:
    """R19, R20: every file that the ledger names exists after every crash, and in every backup."""
    yield from history.lost_files
    yield from history.bad_copies


def files_are_given(history: History) -> Iterator[str]:
    """A call that says it sent a file owes the file, and everyone who sees that message gets the file."""
    owed = {line.dedupe for line in history.ledger.outbox}
    for call in history.ledger.calls:
        if call.name == GIVES and call.state == CallState.DONE and f"{FILE}{call.turn}:{call.id}" not in owed:
            yield f"call {call.turn}:{call.id} says that it sent a file, but the ledger owes none"
    for shown in history.shown:
        came = [digest for digest in shown.files if digest]
        if shown.key.startswith(FILE) and shown.key.endswith("/1") and len(came) != 1:
            yield f"{shown.key} came with {len(came)} files to {shown.platform}/{shown.chat}"
