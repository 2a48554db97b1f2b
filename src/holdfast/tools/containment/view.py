"""What a contained program may see and use: an allow-list. Everything else is absent or refused."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from holdfast.records import dataclass

HOME, TEMPORARY = "home", "tmp"
"""The two folders of a program's private folder."""
_PRIVATE = "private"


def private_of_session(workspace: Path, session: str) -> Path:
    """The private folder for a session's commands and background processes."""
    return workspace.parent.joinpath(_PRIVATE, "sessions", session)


def private_of_server(workspace: Path, name: str) -> Path:
    """The private folder of an MCP program."""
    return workspace.parent.joinpath(_PRIVATE, "mcp", name)


@dataclass(frozen=True, slots=True)
class ProgramLimits:
    """What a program and everything it starts may use together."""

    memory: int = 2_048
    """Megabytes."""
    processes: int = 256


@dataclass(frozen=True, slots=True)
class ProgramView:
    """The view of one program; `Machine` adds the folders of the machine."""

    workspace: Path
    """Writable, at its own path."""
    private: Path
    """A folder of this program alone, kept between runs: its HOME and its temporary files."""
    read: tuple[Path, ...] = ()
    """What else it may read."""
    write: tuple[Path, ...] = ()
    """What else it may change."""
    protected: tuple[Path, ...] = ()
    """Files and folders in the workspace or in `write` that stay read-only."""
    pinned: tuple[Path, ...] = ()
    """The folders above those, which may not be renamed: another could be put in their place."""
    hidden: Path | None = None
    """The gateway's home: programs see only the workspace and the private folder of it."""
    network: bool = True
    limits: ProgramLimits = ProgramLimits()

    @property
    def home(self) -> Path:
        return self.private / HOME

    @property
    def temporary(self) -> Path:
        return self.private / TEMPORARY

    @property
    def writable(self) -> tuple[Path, ...]:
        """Every folder and file that the program may change, at its own path."""
        return (self.workspace, self.home, self.temporary, *self.write)

    def environment(self, known: Mapping[str, str], temporary: Path) -> dict[str, str]:
        """These variables as the program gets them, with a HOME and a temporary folder of its own."""
        return {**known, "HOME": str(self.home), "TMPDIR": str(temporary)}
