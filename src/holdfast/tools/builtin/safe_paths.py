"""Where the built-in tools keep files, and how they open them: never through a link.

    WORKSPACE/sessions/SESSION   the files of a session, or
    WORKSPACE/agents/AGENT       those of all sessions of an agent
    HOME/tool-state/SESSION      what the tools remember of a session; not for agents

HOME is the folder that contains WORKSPACE. Programs of agents see nothing of it but their workspace and a
private folder of their own.

The tools walk a path name by name from a folder that they hold open. So no program can put a link in the way
between a check and the opening.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from holdfast.policy.settings import Workspaces
from holdfast.records import dataclass
from holdfast.tools.base import ToolContext, ToolFailed

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PRIVATE = 0o700
STATE = "tool-state"


@dataclass(frozen=True, slots=True)
class SafePaths:
    """The folders of the sessions that an agent serves."""

    sharing: Workspaces = Workspaces.SESSION
    agent: str = "main"

    def files(self, context: ToolContext) -> Path:
        """The folder of this session's files; it exists when this returns."""
        return self.files_of_session(context.workspace, context.session)

    def files_of_session(self, workspace: Path, session: str) -> Path:
        """The same for any session."""
        own = ("sessions", session) if self.sharing is Workspaces.SESSION else ("agents", self.agent)
        return _made(workspace.joinpath(*own))

    def state(self, context: ToolContext) -> Path:
        """The folder for what the tools remember of this session; it exists when this returns."""
        return self.state_of_session(context.workspace, context.session)

    def state_of_session(self, workspace: Path, session: str) -> Path:
        """The same for any session."""
        return _made(workspace.parent.joinpath(STATE, session))


def _made(folder: Path) -> Path:
    folder.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
    return folder


def names_of(path: str, root: Path) -> tuple[str, ...]:
    """The names to walk from the root; raises `ToolFailed` for a path that leads out of it."""
    inside = path.removeprefix(f"{root}/") if path != str(root) else "."
    names = tuple(name for name in inside.split("/") if name not in ("", "."))
    if inside.startswith("/") or ".." in names or "\0" in path:
        raise ToolFailed(f"{path!r} is not in the workspace; give a path relative to it, without ..")
    return names


@contextmanager
def folder_at(root: Path, names: tuple[str, ...], make: bool = False) -> Iterator[int]:
    """Hold a folder of the workspace open; `make` creates missing folders."""
    # The gateway owns the workspace itself; a command may have replaced anything below it.
    fd = os.open(root.parent.parent, _FOLDER & ~os.O_NOFOLLOW)
    try:
        for at, name in enumerate((root.parent.name, root.name, *names)):
            with said("/".join(names[: max(0, at - 1)]) or "the workspace"):
                below = _below(fd, name, make)
            os.close(fd)
            fd = below
        yield fd
    finally:
        os.close(fd)


def _below(fd: int, name: str, make: bool) -> int:
    if make:
        with suppress(FileExistsError):
            os.mkdir(name, _PRIVATE, dir_fd=fd)
    return os.open(name, _FOLDER, dir_fd=fd)


def open_file(folder: int, name: str, shown: str) -> int:
    """Open a file of a folder for reading; raises `ToolFailed` for anything that is not a plain file."""
    with said(shown):
        # Without waiting: to open a pipe that a command left here could block for ever.
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise ToolFailed(f"{shown} is not a file")
    return fd


def put_file(folder: int, name: str, data: bytes, mode: int, key: str) -> None:
    """Replace the content of a file completely or not at all; it survives a power cut."""
    # The same name on every run of a call: it replaces what a crash left.
    new = f".{name[:100]}.{hashlib.sha256(key.encode()).hexdigest()[:12]}.new"
    fd = os.open(
        new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=folder
    )
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        os.replace(new, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(new, dir_fd=folder)
        raise
    os.fsync(folder)


def put_state(file: Path, text: str) -> None:
    """Keep a text of the gateway in the state of a session."""
    file.parent.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
    folder = os.open(file.parent, _FOLDER)
    try:
        put_file(folder, file.name, text.encode(), 0o600, file.name)
    finally:
        os.close(folder)


def state_of(file: Path) -> str | None:
    """The text that `put_state` kept, if any."""
    try:
        return file.read_text(encoding="utf-8")
    except (FileNotFoundError, UnicodeDecodeError):
        return None


_WORDS = {
    errno.ENOENT: "does not exist",
    errno.ELOOP: "is a link, and links are not followed",
    errno.ENOTDIR: "is not a folder, or is a link, and links are not followed",
    errno.EISDIR: "is a folder",
    errno.ENAMETOOLONG: "has too long a name",
    errno.EACCES: "may not be opened",
    errno.ENXIO: "is not a file",
}


@contextmanager
def said(what: str) -> Iterator[None]:
    """Say in words why a path could not be opened."""
    try:
        yield
    except OSError as error:
        if error.errno not in _WORDS:
            raise
        raise ToolFailed(f"{what} {_WORDS[error.errno]}") from None
