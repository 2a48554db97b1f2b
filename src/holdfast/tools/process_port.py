"""The port for background processes: tools and watchers use it, and a simulation has its own."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from holdfast.model import ProcessId, TurnId
from holdfast.policy.processes import Identity, ProcessStatus
from holdfast.records import dataclass

from .intentions import Reach


@dataclass(frozen=True, slots=True)
class Launch:
    """A command to start once, and everything needed to recognise it after the end of its turn."""

    id: ProcessId
    command: str
    folder: Path
    """The folder it starts in."""
    turn: TurnId
    at: int
    notify: bool = False
    patterns: tuple[str, ...] = ()
    private: Path | None = None
    """Its private folder, for HOME and temporary files; None: a new one."""
    reach: Reach = Reach()


@dataclass(frozen=True, slots=True)
class Output:
    """A piece of a process's output. Positions count all output, also what is no longer kept."""

    data: bytes
    start: int
    """Where the piece begins: later than requested if that part is no longer kept."""
    end: int
    size: int
    """The size of all output so far."""


@dataclass(frozen=True, slots=True)
class FoundProcess:
    """What the disk holds about a process that the gateway meant to start."""

    launch: Launch
    identity: Identity | None
    """None if the process has not been started; it may still be."""


class ProcessPort(Protocol):
    """Commands that outlive their turn and the gateway. A failure raises `ToolFailed` with the reason."""

    async def start(self, launch: Launch) -> Identity:
        """Start it once: the same id always gives the same process, in every run of the gateway.

        A cancelled caller still waits for the answer and gets it.
        """
        ...

    async def stands(self, id: ProcessId, identity: Identity) -> ProcessStatus:
        """The current state. Another process that has its pid now is not it."""
        ...

    async def output(self, id: ProcessId, start: int, most: int) -> Output:
        """Its output from a position on, at most this many bytes; a negative position counts from the end."""
        ...

    async def write(self, id: ProcessId, identity: Identity, text: str) -> None:
        """Give it input. It takes all of it, or `ToolFailed` says how much it took."""
        ...

    async def kill(self, id: ProcessId, identity: Identity) -> ProcessStatus:
        """End it and everything it started: first with a request, then by force. Returns the state before."""
        ...

    async def all(self) -> tuple[ProcessId, ...]:
        """Every process with files in the home."""
        ...

    async def find(self, id: ProcessId) -> FoundProcess | None:
        """What the disk holds about one; None if it cannot be read."""
        ...

    async def forget(self, id: ProcessId) -> None:
        """Remove all files of one, its output too; if it was not started yet, it never will be."""
        ...
