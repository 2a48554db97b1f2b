"""Files that people send: fetched, from where the last try ended, and kept by the hash of their bytes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from holdfast.clock import Clock
from holdfast.model import Attachment

from .client import CallFault, Client, Flood, Refusal, Unreached
from .content import File, text_in
from .results import down

Keep = Callable[[bytes, str], Awaitable[str]]
"""Keeps bytes of that type for good; gives their hash."""

LARGEST = 20 * 1024 * 1024
"""Bytes of a file that a bot may fetch."""
_TRIES = 4
"""Tries in a row that bring nothing before a file is given up."""
_PAUSE = 0.5


class Files:
    """Fetches files. What came of one is kept in memory until all of it is there."""

    def __init__(self, client: Client, clock: Clock, keep: Keep) -> None:
        self._client = client
        self._clock = clock
        self._keep = keep
        self._begun: dict[str, bytearray] = {}

    async def fetch(self, file: File) -> Attachment | str:
        """The file, or a line that says why it is not there.

        Raises `PlatformDown` as long as Telegram cannot even be asked: then its message is read again.
        """
        if file.size is not None and file.size > LARGEST:
            return _line(file, "it is larger than a bot may fetch")
        content = self._begun.setdefault(file.id, bytearray())
        try:
            await self._download(file, content)
        except Refusal as refusal:
            self._begun.pop(file.id, None)
            return _line(file, refusal.words)
        self._begun.pop(file.id, None)
        digest = await self._keep(bytes(content), file.media_type)
        return Attachment(digest, file.name, file.media_type, len(content))

    async def _download(self, file: File, content: bytearray) -> None:
        """Go on until it is whole; as long as each try brings something, there may be many."""
        idle = 0
        while True:
            before = len(content)
            try:
                async for chunk in self._client.download(await self._path(file), before):
                    content += chunk
                    if len(content) > LARGEST:
                        raise Refusal(413, "it is larger than a bot may fetch")
                return
            except Refusal as refusal:
                if refusal.code == 416 and content:
                    # There is nothing after what came already.
                    return
                raise
            except CallFault as fault:
                idle = 0 if len(content) > before else idle + 1
                if idle >= _TRIES:
                    raise Refusal(0, f"it could not be fetched ({fault})") from None
            await self._clock.sleep(_PAUSE * 2**idle)

    async def _path(self, file: File) -> str:
        """Where it is to be had, for an hour.

        What would befall every request is the platform's trouble; all else is this file's, and keeps no other
        message waiting.
        """
        try:
            answer = await self._client.call("getFile", {"file_id": file.id})
        except (Flood, Unreached) as fault:
            raise down(fault) from None
        except Refusal as refusal:
            if refusal.code == 401:
                raise down(refusal) from None
            raise
        path = text_in(answer, "file_path") if isinstance(answer, dict) else ""
        if not path:
            raise Refusal(0, "Telegram does not say where it is")
        return path


def _line(file: File, why: str) -> str:
    return f"[The file {file.name} came with this message and is not here: {why}.]"
