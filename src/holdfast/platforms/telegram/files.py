"""Files that people send: fetched, from where the last try ended, and kept by the hash of their bytes."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from holdfast.clock import Clock
from holdfast.errors import DiskFull
from holdfast.model import Attachment
from holdfast.policy.settings import DAY

from .client import CallFault, CallRefused, Client, FloodWait, Unreached
from .content import TelegramFile, text_in
from .results import down

Keep = Callable[[bytes, str], Awaitable[str]]
"""Keeps bytes of that type for good; gives their hash."""

LARGEST = 20 * 1024 * 1024
"""Bytes of a file that a bot may fetch."""
_TRIES = 4
"""Tries in a row that bring nothing before a file is given up."""
_PAUSE = 0.5
_TOO_LARGE = "it is larger than a bot may fetch"


class PartialDownloads:
    """What came of files so far, in a folder where the next process finds it.

    Nothing is forced to the disk: the folder is one of this start of the machine, and what is found in it was
    written by processes of the same, however they ended.
    """

    def __init__(self, folder: Path, clock: Clock) -> None:
        self._folder = folder
        self._clock = clock

    def of(self, file: TelegramFile) -> Path:
        """Where this one is; its name at Telegram stands for the same bytes for good."""
        return self._folder / hashlib.sha256(file.unique.encode("utf-8", "surrogatepass")).hexdigest()

    def clear_old(self) -> None:
        """Remove what nobody went on with for a day, of this start of the machine and others."""
        for path in sorted(self._folder.parent.rglob("*"), reverse=True):
            with suppress(OSError):
                if path.is_dir():
                    # Fails for one that is not empty.
                    path.rmdir()
                elif self._clock.now() - path.stat().st_mtime * 1_000 >= DAY:
                    path.unlink()

    def size(self, path: Path) -> int:
        return path.stat().st_size if path.exists() else 0

    def content(self, path: Path) -> bytes:
        return path.read_bytes() if path.exists() else b""

    def forget(self, path: Path) -> None:
        path.unlink(missing_ok=True)

    def put(self, path: Path, at: int, chunk: bytes) -> None:
        """These bytes stand there; what was written after that place before is gone."""
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with path.open("r+b" if path.exists() else "wb") as file:
                file.truncate(at)
                file.seek(at)
                file.write(chunk)
        except OSError as error:
            raise DiskFull(f"the attachment could not be kept: {error.strerror}") from error


class Downloads:
    """Fetches files. What came of one is kept until all of it is, over any number of processes."""

    def __init__(self, client: Client, clock: Clock, keep: Keep, begun: PartialDownloads) -> None:
        self._client = client
        self._clock = clock
        self._keep = keep
        self._begun = begun

    async def begin(self) -> None:
        await asyncio.to_thread(self._begun.clear_old)

    async def fetch(self, file: TelegramFile) -> Attachment | str:
        """The file, or a line that says why it is not there.

        Raises `PlatformDown` as long as Telegram cannot even be asked: then its message is read again.
        """
        if file.size is not None and file.size > LARGEST:
            return _line(file, _TOO_LARGE)
        path = self._begun.of(file)
        try:
            await self._download(file, path)
        except CallRefused as refusal:
            self._begun.forget(path)
            return _line(file, refusal.words)
        content = await asyncio.to_thread(self._begun.content, path)
        digest = await self._keep(content, file.media_type)
        self._begun.forget(path)
        return Attachment(digest, file.name, file.media_type, len(content))

    async def _download(self, file: TelegramFile, path: Path) -> None:
        """Go on until it is whole; as long as each try brings something, there may be many."""
        idle = 0
        while True:
            before = self._begun.size(path)
            try:
                await self._go_on(file, path, before)
                return
            except CallRefused as refusal:
                if refusal.code != 416 or not before:
                    raise
                if file.size in (None, before):
                    # There is nothing after what came already.
                    return
                self._begun.forget(path)
            except CallFault as fault:
                idle = 0 if self._begun.size(path) > before else idle + 1
                if idle >= _TRIES:
                    raise CallRefused(0, f"it could not be fetched ({fault})") from None
            await self._clock.sleep(_PAUSE * 2**idle)

    async def _go_on(self, file: TelegramFile, path: Path, before: int) -> None:
        """One try; a server that begins anew, whatever it was asked for, is taken at its word."""
        async for at, chunk in self._client.download(await self._path(file), before):
            if at + len(chunk) > LARGEST:
                raise CallRefused(413, _TOO_LARGE)
            self._begun.put(path, at, chunk)

    async def _path(self, file: TelegramFile) -> str:
        """Where it is to be had, for an hour.

        What would befall every request is the platform's trouble; all else is this file's, and keeps no other
        message waiting.
        """
        try:
            answer = await self._client.call("getFile", {"file_id": file.id})
        except (FloodWait, Unreached) as fault:
            raise down(fault) from None
        except CallRefused as refusal:
            if refusal.code == 401:
                raise down(refusal) from None
            raise
        path = text_in(answer, "file_path") if isinstance(answer, dict) else ""
        if not path:
            raise CallRefused(0, "Telegram does not say where it is")
        return path


def _line(file: TelegramFile, why: str) -> str:
    return f"[The file {file.name} came with this message and is not here: {why}.]"
