"""What a tool may want done instead of returning text: the gateway does it and commits it with the journal.

No tool sees the store. A tool that returns an intention has done nothing itself, so it may be asked again.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from holdfast.model import ProcessId
from holdfast.records import dataclass


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask the person; what they answer is the call's result."""

    text: str
    options: tuple[str, ...] = ()
    """What they may choose from; none is a free answer."""


@dataclass(frozen=True, slots=True)
class Reach:
    """What programs of an agent see besides their workspace."""

    read: tuple[Path, ...] = ()
    write: tuple[Path, ...] = ()
    """What they may change as well."""


@dataclass(frozen=True, slots=True)
class StartProcess:
    """Start a command that outlives the turn, and the gateway."""

    command: str
    notify: bool = True
    """Wake the session once when it ends."""
    patterns: tuple[str, ...] = ()
    """Wake it when a line of the output matches one of these."""
    folder: Path | None = None
    """Where it begins; None: in the workspace of all."""
    reach: Reach = Reach()


class Looking(StrEnum):
    """How to look at background processes."""

    LIST = "list"
    POLL = "poll"
    WAIT = "wait"
    LOG = "log"


@dataclass(frozen=True, slots=True)
class LookAtProcess:
    """See what became of background processes of this session; what is shown counts as told."""

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
    """End a background process; its end is then known, and wakes nobody."""

    process: ProcessId


@dataclass(frozen=True, slots=True)
class SearchHistory:
    """Look for words in what was said in this conversation, earlier sessions included."""

    words: str
    limit: int = 20


READ_OUTPUT = "read_output"
"""The tool by which a model reads the rest of a result that was too long."""


@dataclass(frozen=True, slots=True)
class ReadOutput:
    """Show a part of a result that was too long to be shown whole."""

    output: str
    """The name it is kept by."""
    first_line: int = 1
    lines: int = 200


@dataclass(frozen=True, slots=True)
class SendFile:
    """Give the person a file, as it is now; what becomes of the original changes nothing."""

    name: str
    content: bytes
    media_type: str
    caption: str = ""
    """What is said of it."""


@dataclass(frozen=True, slots=True)
class WantRestart:
    """Have the gateway restarted once this turn's reply is delivered."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class ReportGoal:
    """Say that the standing goal is reached, or cannot be."""

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
