"""The ports of the verbs: named queries on a transaction or on one snapshot. A database implements both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from holdfast.clock import Ids
from holdfast.model import InstanceId

T = TypeVar("T")

Row = tuple[Any, ...]
Value = str | int | float | None


class PartUndone(Exception):
    """A part of a transaction failed and was undone; the rest of the transaction stays."""

    def __init__(self, fault: Exception) -> None:
        super().__init__(str(fault))
        self.fault = fault


class Read(Protocol):
    """Named queries on one snapshot of the ledger."""

    @property
    def now(self) -> int:
        """The time of the read."""
        ...

    def all(self, name: str, /, **values: Value) -> list[Row]:
        """Every row of a query."""
        ...

    def one(self, name: str, /, **values: Value) -> Row | None:
        """The only row of a query, or None; a second row would be a bug in the query."""
        ...

    def decoded(self, name: str, /, **values: Value) -> list[Row] | None:
        """Every row of a query, or None if a text in one of them cannot be decoded."""
        ...


class Written(Protocol):
    """The result of a statement."""

    @property
    def rowcount(self) -> int:
        """How many rows it changed."""
        ...

    def fetchall(self) -> list[Row]:
        """The rows that it returns."""
        ...


class Tx(Read, Protocol):
    """Named queries on an open transaction, the time, ids, and the wake-ups to send.

    Rows are fetched whole, inside the transaction; wake-ups are sent only after its commit.
    """

    ids: Ids
    instance: InstanceId
    scrub: bool
    """Whether the file is to be rewritten after the commit."""

    @property
    def mark(self) -> str:
        """This moment on the machine's own clock, to be measured from later."""
        ...

    @property
    def uptime(self) -> tuple[str, int]:
        """This moment, to measure from a mark to it."""
        ...

    def run(self, name: str, /, **values: Value) -> int:
        """Run a write and return how many rows it changed."""
        ...

    def write(self, name: str, values: dict[str, Value], /) -> Written:
        """Run a statement and return its result; for a write that always changes its row."""
        ...

    def many(self, name: str, rows: list[dict[str, Value]], /) -> None:
        """Run one write for each of `rows`."""
        ...

    def apart(self, work: Callable[[], T]) -> T:
        """Run a part of the transaction; a fault in it undoes this part alone and raises `PartUndone`."""
        ...

    def event(self, what: str, subject: str, /, **detail: Value) -> None:
        """Write an event as part of this transaction: something about a row that the row does not keep."""
        ...

    def events(self, events: Sequence[tuple[str, str, Mapping[str, object]]]) -> None:
        """The same for many at once: what, subject and detail of each."""
        ...

    def changed(self, topic: str) -> None:
        """Wake all that wait for this topic, once the commit has returned."""
        ...
