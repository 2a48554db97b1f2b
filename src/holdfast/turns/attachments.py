"""Files that people sent, ready before the model is asked: in the workspace, and in what it is shown."""

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
"""An agent that is alone has no name; its workspace has this one."""


class Attachments(Protocol):
    """Puts files where an agent finds them. A file that cannot be had keeps no turn from going on."""

    async def place(self, session: SessionId, agent: str, name: str, file: Attachment) -> str | None:
        """Put the file into the session's workspace under this name, once, and give its path there.

        What is there from an earlier time is left as it is: the agent may have changed it. None if the file
        cannot be put there; that is reported.
        """
        ...

    async def beginning(self, file: Attachment, most: int) -> bytes | None:
        """So many bytes of the file; None if it is not, or no longer, kept."""
        ...

    async def sweep(self) -> None:
        """Remove what was put anywhere for sessions that are forgotten."""
        ...


class NoAttachments:
    """Files are told of by their names alone."""

    async def place(self, session: SessionId, agent: str, name: str, file: Attachment) -> str | None:
        return None

    async def beginning(self, file: Attachment, most: int) -> bytes | None:
        return None

    async def sweep(self) -> None:
        return None


@dataclass(frozen=True, slots=True)
class AttachedFiles:
    """The files of one run's conversation. Nothing of it is kept: a claim begins it again."""

    source: Attachments
    session: SessionId
    agent: str
    words: dict[Place, str]
    """What the model is told of each file that is ready."""
    secrets: Secrets

    async def get_ready(self, draft: Draft) -> None:
        """Put the files that the model is shown into the workspace, and read how they begin."""
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

    def shown(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """The messages with what the model is told of their files."""
        return tuple(
            replace(message, files=tuple(self.words.get((message.seq, n), "") for n in range(count)))
            if (count := len(message.attachments))
            else message
            for message in messages
        )
