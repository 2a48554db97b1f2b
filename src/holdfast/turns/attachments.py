"""Received files: put into the workspace and described to the model before it is asked."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from holdfast.model import Attachment, SessionId
from holdfast.policy.intake.attachments import BEGINNING, Place, paths_of, shown_file
from holdfast.policy.turn.views import Message
from holdfast.records import dataclass
from holdfast.telemetry import Secrets

from .draft import Draft

ALONE = "main"
"""The name of the workspace of an only agent, which has no name itself."""


class Attachments(Protocol):
    """Puts files where an agent finds them. A turn goes on also without a file that cannot be read."""

    async def place(self, session: SessionId, agent: str, name: str, file: Attachment) -> str | None:
        """Put the file into the session's workspace under this name, once, and return its path there.

        An existing copy stays as it is: the agent may have changed it. A failure is reported and gives None.
        """
        ...

    async def beginning(self, file: Attachment, most: int) -> bytes | None:
        """The first `most` bytes of the file; None if it is not kept."""
        ...

    async def sweep(self) -> None:
        """Remove the copies of files of forgotten sessions."""
        ...


class NoAttachments:
    """Keeps no files: the model learns only their names."""

    async def place(self, session: SessionId, agent: str, name: str, file: Attachment) -> str | None:
        return None

    async def beginning(self, file: Attachment, most: int) -> bytes | None:
        return None

    async def sweep(self) -> None:
        return None


@dataclass(frozen=True, slots=True)
class AttachedFiles:
    """The files of one run's conversation. It lives only in memory: the next run builds it again."""

    source: Attachments
    session: SessionId
    agent: str
    words: dict[Place, str]
    """The words that describe each ready file to the model."""
    secrets: Secrets

    async def get_ready(self, draft: Draft) -> None:
        """Put the files of the conversation into the workspace, and read their first bytes."""
        found = {
            (message.seq, number): file
            for message in draft.messages
            for number, file in enumerate(message.attachments)
            if (message.seq, number) not in self.words
        }
        names = paths_of(draft.whole) if found else {}
        for place, file in found.items():
            path = await self.source.place(self.session, self.agent, names[place], file)
            beginning = await self.source.beginning(file, BEGINNING)
            self.words[place] = self.secrets().without(shown_file(file, path, beginning))

    def described(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """The messages with the descriptions of their files."""
        return tuple(
            replace(message, files=tuple(self.words.get((message.seq, n), "") for n in range(count)))
            if (count := len(message.attachments))
            else message
            for message in messages
        )
