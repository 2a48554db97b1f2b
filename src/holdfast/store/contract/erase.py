"""Verbs that erase content. The rows stay without it, so that every invariant can still be checked."""

from __future__ import annotations

from typing import Protocol

from holdfast.model import Key, PersonId, Position, SessionId
from holdfast.records import dataclass

FORGOTTEN = "forgotten"
"""The reason why a session ended whose content was erased; such a session never goes on."""
BEGUN = "begun"
"""Marks a waiting command whose first step is done: it is completed even if its sender loses access."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What to erase: one session, or a whole conversation; never what came after the command."""

    key: Key
    before: Position
    """The position of the command that asks for it."""
    session: SessionId | None = None


class Erase(Protocol):
    """Each verb can be repeated at any time: it passes over what is erased already.

    The order is `quiet`, `erase`, then the caller removes the files that are no longer known, then `scrub`.
    """

    async def quiet(self, scope: Scope) -> bool:
        """End the unfinished work of the scope and its live session; False while a turn or a send goes on.

        The same commit marks the command as `BEGUN`.

        A running turn is asked to stop, as by `/new`, and its owner ends it. A part in flight may finish. If
        the scope is a conversation, its waiting messages are withdrawn and its offered ones dropped. If it is
        one session, they are kept and begin the next session.
        """
        ...

    async def erase(self, scope: Scope) -> int:
        """Erase what was said, done and sent, in one commit; returns how many messages people had sent.

        Parts that were still owed are not sent any more. From then on the transcript is empty, also for a
        model. Files that only the erased messages and parts named lose their row, unless a person has sent
        the same file again since.
        Raises `WrongState` while `quiet` has not finished.
        """
        ...

    async def scrub(self) -> bool:
        """Rewrite the ledger's file without what was erased, and empty its log; False if that must wait.

        The store commits nothing else meanwhile. This takes as long as copying the ledger.
        """
        ...

    async def others_spoke(self, key: Key, person: PersonId) -> bool:
        """Whether another person has written in this conversation."""
        ...
