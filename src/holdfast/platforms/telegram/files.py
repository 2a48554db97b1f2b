"""Downloads files from people. A download goes on where the last try ended; the hash names the file."""

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
"""Stores these bytes with their media type; returns their hash."""

LARGEST = 20 * 1024 * 1024
"""The most bytes of a file that a bot may fetch."""
_TRIES = 4
"""After so many tries in a row without any new byte, the download fails."""
_PAUSE = 0.5
_TOO_LARGE = "it is larger than a bot may fetch"


class PartialDownloads:
    """Unfinished downloads, in a folder where the next process finds them.

    Nothing is synced to disk: each start of the machine has its own folder, so a file in it was written
    during this start, and a process that died cannot have lost its bytes.
    """

    def __init__(self, folder: Path, clock: Clock) -> None:
        self._folder = folder
        self._clock = clock

    def of(self, file: TelegramFile) -> Path:
        """The path of this file's download; its unique id at Telegram always means the same bytes."""
        return self._folder / hashlib.sha256(file.unique.encode("utf-8", "surrogatepass")).hexdigest()

    def clear_old(self) -> None:
        """Remove downloads that are a day old, of this start of the machine and of earlier ones."""
        for path in sorted(self._folder.parent.rglob("*"), reverse=True):
            with suppress(OSError):
                if path.is_dir():
                    # Fails for a folder that is not empty.
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
        """Write these bytes at this place and cut the file after them."""
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with path.open("r+b" if path.exists() else "wb") as file:
                file.truncate(at)
                file.seek(at)
                file.write(chunk)
        except OSError as error:
            raise DiskFull(f"the attachment could not be kept: {error.strerror}") from error


class Downloads:
    """Downloads files. An unfinished download stays until it is complete, over any number of processes."""

    def __init__(self, client: Client, clock: Clock, keep: Keep, partial: PartialDownloads) -> None:
        self._client = client
        self._clock = clock
        self._keep = keep
        self._partial = partial

    async def begin(self) -> None:
        await asyncio.to_thread(self._partial.clear_old)

    async def fetch(self, file: TelegramFile) -> Attachment | str:
        """The stored file, or a line that says why it is missing.

        Raises `PlatformDown` if Telegram cannot be reached: the gateway then reads the message again.
        """
        if file.size is not None and file.size > LARGEST:
            return _missing_line(file, _TOO_LARGE)
        path = self._partial.of(file)
        try:
            await self._download(file, path)
        except CallRefused as refusal:
            self._partial.forget(path)
            return _missing_line(file, refusal.words)
        content = await asyncio.to_thread(self._partial.content, path)
        digest = await self._keep(content, file.media_type)
        self._partial.forget(path)
        return Attachment(digest, file.name, file.media_type, len(content))

    async def _download(self, file: TelegramFile, path: Path) -> None:
        """Try until the file is complete, as long as the tries bring new bytes."""
        idle = 0
        while True:
            before = self._partial.size(path)
            try:
                await self._download_rest(file, path, before)
                return
            except CallRefused as refusal:
                if refusal.code != 416 or not before:
                    raise
                if file.size in (None, before):
                    # All bytes are there already.
                    return
                self._partial.forget(path)
            except CallFault as fault:
                idle = 0 if self._partial.size(path) > before else idle + 1
                if idle >= _TRIES:
                    raise CallRefused(0, f"it could not be fetched ({fault})") from None
            await self._clock.sleep(_PAUSE * 2**idle)

    async def _download_rest(self, file: TelegramFile, path: Path, before: int) -> None:
        """One try. If a server ignores the range and starts at the first byte, the file starts again too."""
        async for at, chunk in self._client.download(await self._path(file), before):
            if at + len(chunk) > LARGEST:
                raise CallRefused(413, _TOO_LARGE)
            self._partial.put(path, at, chunk)

    async def _path(self, file: TelegramFile) -> str:
        """The path to download the file from; it is valid for an hour.

        Raises `PlatformDown` for a fault that would hit every call. Any other fault is about this file only,
        and does not make other messages wait.
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
            raise CallRefused(0, "Telegram gives no path for it")
        return path


def _missing_line(file: TelegramFile, why: str) -> str:
    return f"[The file {file.name} came with this message but could not be stored: {why}.]"
