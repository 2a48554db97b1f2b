"""The connection to a server, and how it may fail. Nothing here knows the SDK."""

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
    """The connection failed during a call: the outcome of the call is unknown."""


class ServerNotReached(Exception):
    """The call certainly did not begin: the server is unreachable, or has forgotten this connection."""


class Garbled(Exception):
    """The gateway cannot read the server's answer: the outcome of the call is unknown."""


@dataclass(frozen=True, slots=True)
class ProgramPlace:
    """Where the program of a server runs, and what contains it."""

    log: Path
    """The file for its error output."""
    workspace: Path
    private: Path
    launcher: Launcher
    secrets: Secrets = no_secrets
    """The values to leave out of its log."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A tool as its server describes it."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"type": "object"})


class Signs:
    """What a connection shows about itself between calls."""

    def __init__(self) -> None:
        self.over = asyncio.Event()
        """Set once the connection has ended."""
        self.why = ""
        self.changed = Bell()
        """Rings when the server says that its tools have changed."""
        self.left_out = 0
        """Tools of the last listing that are too large or too many to be offered."""

    def end(self, why: str) -> None:
        """The connection has ended; the first reason counts."""
        self.why = self.why or why
        self.over.set()


class McpConnection(Protocol):
    """One connection to one server."""

    @property
    def signs(self) -> Signs: ...

    async def tools(self) -> Sequence[Listed]:
        """Every tool that the server offers now."""
        ...

    async def call(self, tool: str, arguments: Mapping[str, Any], key: str, beat: Callable[[], None]) -> str:
        """Run a tool and return its result in words; `ToolFailed` if the server says that it failed.

        `beat` is called when the server reports progress.

        Raises `ConnectionLost`, `ServerNotReached` or `Garbled`. If the call is cancelled, the server is told
        that the gateway does not wait any more.
        """
        ...


Connect = Callable[[], AbstractAsyncContextManager[McpConnection]]
"""Makes a connection, which lasts as long as its context; the task that entered it leaves it."""
