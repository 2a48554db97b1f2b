"""The ports by which the store writes and reads: threads in a gateway, inline in a simulation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from holdfast.store.verbs.tx import Read

from .commit import Work

T = TypeVar("T")


class Writer(Protocol):
    """Commits transactions in the order they were submitted."""

    def submit(self, work: Work) -> asyncio.Future[Any]:
        """Queue a transaction; the future is done once its commit has returned."""
        ...

    async def close(self) -> None:
        """Commit what was submitted, then close."""
        ...


class Readers(Protocol):
    """Runs reading verbs, each on one snapshot."""

    async def read(self, work: Callable[[Read], T], now: int) -> T:
        """Run one reading verb."""
        ...

    async def close(self) -> None:
        """Refuse further reads and close."""
        ...
