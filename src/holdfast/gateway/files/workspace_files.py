"""Copies of received files in the workspaces of their sessions: made once, removed when forgotten."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from holdfast.errors import NotFound, Report
from holdfast.model import Attachment, SessionId
from holdfast.policy.intake.attachments import FOLDER
from holdfast.policy.settings import Workspaces
from holdfast.records import dataclass
from holdfast.store import FORGOTTEN, Store
from holdfast.tools import ToolFailed
from holdfast.tools.builtin.safe_paths import (
    STATE,
    SafePaths,
    folder_at,
    open_file,
    put_file,
    put_state,
    state_of,
)
from holdfast.tools.containment import private_of_session

from .blobs import BlobFiles

_MINE = 0o600
_BEFORE = ".before"
"""The ending that an agent's own file gets when a received file takes its place."""


@dataclass(frozen=True, slots=True)
class WorkspaceFiles:
    """Implements `Attachments` on the home's blobs and workspaces."""

    workspace: Path
    sharing: Workspaces
    blobs: BlobFiles
    store: Store
    report: Report

    async def place(self, session: SessionId, agent: str, name: str, file: Attachment) -> str | None:
        try:
            return await asyncio.to_thread(self._place, session, agent, name, file)
        except (OSError, ToolFailed) as fault:
            self.report(f"putting {file.name} into the workspace of session {session}", fault)
            return None

    async def beginning(self, file: Attachment, most: int) -> bytes | None:
        return await asyncio.to_thread(_beginning, self.blobs.path_of(file.digest), most)

    async def sweep(self) -> None:
        """Remove the attachments and the private folders of every forgotten session.

        Done again, it changes nothing.
        """
        private = await asyncio.to_thread(lambda: list(self._private_folders()))
        for session, folder in private:
            if await self._is_forgotten(session):
                await asyncio.to_thread(_remove, folder)
        for session, folder in await asyncio.to_thread(lambda: list(self._folders())):
            if await self._is_forgotten(session):
                await asyncio.to_thread(_remove, folder)
                await asyncio.to_thread(_remove, self.workspace.parent / STATE / session / FOLDER)

    def _place(self, session: SessionId, agent: str, name: str, file: Attachment) -> str:
        """Put the file there once: later the agent may have changed or removed it."""
        places = SafePaths(self.sharing, agent)
        # Sessions that share a workspace may receive files with the same name.
        inside = (FOLDER,) if self.sharing is Workspaces.SESSION else (FOLDER, session)
        path = "/".join((*inside, name))
        mark = places.state_of_session(self.workspace, session) / FOLDER / _hash(name)
        if state_of(mark) != file.digest:
            data = self.blobs.path_of(file.digest).read_bytes()
            with folder_at(places.files_of_session(self.workspace, session), inside, make=True) as folder:
                if not _holds(folder, name, data):
                    with suppress(FileNotFoundError):
                        os.rename(name, name + _BEFORE, src_dir_fd=folder, dst_dir_fd=folder)
                    put_file(folder, name, data, _MINE, file.digest)
            put_state(mark, file.digest)
        return path

    async def _is_forgotten(self, session: SessionId) -> bool:
        try:
            return (await self.store.session(session)).ended_why == FORGOTTEN
        except NotFound:
            return False

    def _private_folders(self) -> Iterator[tuple[SessionId, Path]]:
        """The private folder of each session whose commands have run."""
        for folder in private_of_session(self.workspace, "").glob("*"):
            yield SessionId(folder.name), folder

    def _folders(self) -> Iterator[tuple[SessionId, Path]]:
        """Every folder that holds attachments of one session."""
        for folder in self.workspace.glob(f"sessions/*/{FOLDER}"):
            yield SessionId(folder.parent.name), folder
        for folder in self.workspace.glob(f"agents/*/{FOLDER}/*"):
            yield SessionId(folder.name), folder


def _hash(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:24]


def _beginning(path: Path, most: int) -> bytes | None:
    try:
        with path.open("rb") as file:
            return file.read(most)
    except OSError:
        return None


def _holds(folder: int, name: str, data: bytes) -> bool:
    """Whether a file with this name and content is there already."""
    try:
        with os.fdopen(open_file(folder, name, name), "rb") as file:
            return file.read(len(data) + 1) == data
    except ToolFailed:
        return False


def _remove(folder: Path) -> None:
    if folder.is_symlink():
        folder.unlink(missing_ok=True)
    else:
        shutil.rmtree(folder, ignore_errors=True)
