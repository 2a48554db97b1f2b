"""What verbs work with: named queries on a transaction or on one snapshot. A database implements both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from holdfast.clock import Ids
from holdfast.model import InstanceId

T = TypeVar("T")

Row = tuple[Any, ...]
Value = str | int | float | None


class PartUndone(Exception):
    """A part of a transaction failed by its own fault and was undone; the rest of it holds."""

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
        """The only row of a query, or None; a second one would be a bug in the query."""
        ...

    def decoded(self, name: str, /, **values: Value) -> list[Row] | None:
        """Every row of a query, or None if a text in one of them cannot be decoded."""
        ...


class Written(Protocol):
    """What a statement did."""

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
        """Carry out a write and return how many rows it changed."""
        ...

    def write(self, name: str, values: dict[str, Value], /) -> Written:
        """Carry out a statement; by itself for a write that cannot but change its row."""
        ...

    def many(self, name: str, rows: list[dict[str, Value]], /) -> None:
        """Carry out one write for each of `rows`."""
        ...

    def apart(self, work: Callable[[], T]) -> T:
        """Carry out a part; a fault of its own undoes that part alone and is raised as `PartUndone`."""
        ...

    def event(self, what: str, subject: str, /, **detail: Value) -> None:
        """Write down what happened to a row and the row itself does not keep, as part of this transaction."""
        ...

    def events(self, events: Sequence[tuple[str, str, Mapping[str, object]]]) -> None:
        """The same for many at once: what, subject and detail of each."""
        ...

    def changed(self, topic: str) -> None:
        """Wake all that wait for this topic, once the commit has returned."""
        ...
