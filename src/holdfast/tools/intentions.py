"""Intentions: what a tool returns when the gateway shall act and commit the result with the journal.

A tool that returns an intention has done nothing itself, so the gateway may run it again. No tool sees the
store.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from holdfast.model import ProcessId
from holdfast.records import dataclass


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask the person; the answer is the result of the call."""

    text: str
    options: tuple[str, ...] = ()
    """The answers to choose from; without options the person answers freely."""


@dataclass(frozen=True, slots=True)
class Reach:
    """What programs of an agent see besides their workspace."""

    read: tuple[Path, ...] = ()
    write: tuple[Path, ...] = ()
    """What they may also change."""


@dataclass(frozen=True, slots=True)
class StartProcess:
    """Start a command that outlives the turn and the gateway."""

    command: str
    notify: bool = True
    """Wake the session once when it ends."""
    patterns: tuple[str, ...] = ()
    """Wake it when a line of the output matches one of these."""
    folder: Path | None = None
    """The folder it starts in; None: the shared workspace."""
    reach: Reach = Reach()


class Looking(StrEnum):
    """How to look at background processes."""

    LIST = "list"
    POLL = "poll"
    WAIT = "wait"
    LOG = "log"


@dataclass(frozen=True, slots=True)
class LookAtProcess:
    """Look at background processes of this session; an end that the call shows does not wake it again."""

    how: Looking
    process: ProcessId | None = None
    """None only for a list."""
    seconds: float = 0.0
    """How long to wait for its end."""
    lines: int = 100


@dataclass(frozen=True, slots=True)
class WriteToProcess:
    """Give a background process some input."""

    process: ProcessId
    text: str


@dataclass(frozen=True, slots=True)
class KillProcess:
    """End a background process; its end wakes no session."""

    process: ProcessId


@dataclass(frozen=True, slots=True)
class SearchHistory:
    """Search for words in this conversation, earlier sessions included."""

    words: str
    limit: int = 20


READ_OUTPUT = "read_output"
"""The tool with which a model reads the rest of a result that was too long."""


@dataclass(frozen=True, slots=True)
class ReadOutput:
    """Show a part of a result that was too long to be shown completely."""

    output: str
    """The name of the result."""
    first_line: int = 1
    lines: int = 200


@dataclass(frozen=True, slots=True)
class SendFile:
    """Send the person a file as it is now; later changes of the original do not matter."""

    name: str
    content: bytes
    media_type: str
    caption: str = ""
    """The words that go with it."""


@dataclass(frozen=True, slots=True)
class WantRestart:
    """Restart the gateway once this turn's reply is delivered."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class ReportGoal:
    """Report that the goal is reached or cannot be reached."""

    reached: bool
    words: str = ""


Intention = (
    Ask
    | StartProcess
    | LookAtProcess
    | WriteToProcess
    | KillProcess
    | SearchHistory
    | ReadOutput
    | SendFile
    | WantRestart
    | ReportGoal
)
