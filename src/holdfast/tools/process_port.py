"""Background processes as tools and watchers see them: a port, so that a simulation has its own."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from holdfast.model import ProcessId, TurnId
from holdfast.policy.processes import Identity, ProcessStatus
from holdfast.records import dataclass

from .intentions import Reach


@dataclass(frozen=True, slots=True)
class Launch:
    """A command to start once, and all that is needed to know it again when its turn is gone."""

    id: ProcessId
    command: str
    folder: Path
    """Where it begins."""
    turn: TurnId
    at: int
    notify: bool = False
    patterns: tuple[str, ...] = ()
    private: Path | None = None
    """Its private folder, for HOME and temporary files; None: one of its own."""
    reach: Reach = Reach()


@dataclass(frozen=True, slots=True)
class Output:
    """A piece of what a process has put out. Positions count all of it, also what is no longer kept."""

    data: bytes
    start: int
    """Where the piece begins: later than asked for when what was there is no longer kept."""
    end: int
    size: int
    """All it has put out so far."""


@dataclass(frozen=True, slots=True)
class FoundProcess:
    """What the disk knows of a process that was to be started."""

    launch: Launch
    identity: Identity | None
    """None while nobody has started it; then it may still be."""


class ProcessPort(Protocol):
    """Commands that outlive their turn and the gateway. What fails raises `ToolFailed` with the reason."""

    async def start(self, launch: Launch) -> Identity:
        """Start it, once: the same id again gives who was started, by whichever process and whenever.

        Not given up halfway: who is cancelled meanwhile gets the answer all the same.
        """
        ...

    async def stands(self, id: ProcessId, identity: Identity) -> ProcessStatus:
        """How it stands now. Somebody else who has its pid by now is not it."""
        ...

    async def output(self, id: ProcessId, start: int, most: int) -> Output:
        """What it put out from a position on, so many bytes at most; a negative one counts from the end."""
        ...

    async def write(self, id: ProcessId, identity: Identity, text: str) -> None:
        """Give it input. All of it is taken, or `ToolFailed` says how much was."""
        ...

    async def kill(self, id: ProcessId, identity: Identity) -> ProcessStatus:
        """End it and all it started: asked first, then without asking. Says how it stood before that."""
        ...

    async def all(self) -> tuple[ProcessId, ...]:
        """Every process of which something is kept."""
        ...

    async def find(self, id: ProcessId) -> FoundProcess | None:
        """What is kept of one; None when nothing can be read."""
        ...

    async def forget(self, id: ProcessId) -> None:
        """Remove all that is kept of one, its output too; what was not started by now never is."""
        ...
