"""What a server's life is made of: a connection, and how it may fail. Nothing here knows the SDK."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import field
from pathlib import Path
from typing import Any, Protocol

from holdfast.clock import Bell
from holdfast.records import dataclass
from holdfast.telemetry import Secrets, no_secrets
from holdfast.tools.containment import Launcher


class ConnectionLost(Exception):
    """The connection failed with a call under way: nobody knows what became of it."""


class ServerNotReached(Exception):
    """The call certainly was not begun: the server could not be reached, or does not know us any more."""


class Garbled(Exception):
    """The server answered what cannot be read: nobody knows what became of the call."""


@dataclass(frozen=True, slots=True)
class ProgramPlace:
    """Where the program of a server runs, and how it is contained there."""

    log: Path
    """Its own words."""
    workspace: Path
    private: Path
    launcher: Launcher
    secrets: Secrets = no_secrets
    """What is left out of its log."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A tool as its server describes it."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"type": "object"})


class Signs:
    """What a connection shows of itself between calls."""

    def __init__(self) -> None:
        self.over = asyncio.Event()
        """Set once nothing comes through it any more."""
        self.why = ""
        self.changed = Bell()
        """Rings when the server says that its tools are others now."""
        self.left_out = 0
        """Tools of the last listing that are too large or too many to be offered."""

    def end(self, why: str) -> None:
        """It is over; the first reason counts."""
        self.why = self.why or why
        self.over.set()


class McpConnection(Protocol):
    """One connection to one server."""

    @property
    def signs(self) -> Signs: ...

    async def tools(self) -> Sequence[Listed]:
        """Every tool it offers now."""
        ...

    async def call(self, tool: str, arguments: Mapping[str, Any], key: str, beat: Callable[[], None]) -> str:
        """Run one and give its words; `ToolFailed` when the server says that it did not work.

        `beat` is called when the server tells of progress.

        Raises `ConnectionLost`, `ServerNotReached` or `Garbled`. Cancelled, it tells the
        server that the gateway does not wait any more.
        """
        ...


Connect = Callable[[], AbstractAsyncContextManager[McpConnection]]
"""Makes a connection, which lasts as long as somebody stays inside; left by the task that entered it."""
