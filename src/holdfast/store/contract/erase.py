"""Verbs of forgetting: content goes, the skeleton stays, so that every invariant can still be checked."""

from __future__ import annotations

from typing import Protocol

from holdfast.model import Key, PersonId, Position, SessionId
from holdfast.records import dataclass

FORGOTTEN = "forgotten"
"""Why a session ended whose content was erased; it is never taken up again."""
BEGUN = "begun"
"""Stands on a command that waits, once its first step is done: it is finished, whoever is allowed by then."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What is to be forgotten: one session, or all of a conversation; nothing that came after the command."""

    key: Key
    before: Position
    """Where the command stands that asks for it."""
    session: SessionId | None = None


class Erase(Protocol):
    """Each can be done again at any time: what is erased already is passed over.

    In order: `quiet`, `erase`, then the caller removes the files that are no longer known, and `scrub`.
    """

    async def quiet(self, scope: Scope) -> bool:
        """End what is unfinished there, and the live session with it; False while something still moves.

        The command is marked as `BEGUN` with it.

        A running turn is asked to stop, as by `/new`, and its owner ends it; a part that is being sent is let
        land. Of a whole conversation, messages that waited are withdrawn and offered ones dropped; of one
        session they are kept, and begin the next one.
        """
        ...

    async def erase(self, scope: Scope) -> int:
        """Erase what was said, done and sent, in one commit; returns how many messages people had sent.

        What of it was still owed is not sent any more. Its view is empty from then on, also for a model.
        Files that only its messages and what it owed named are known no more, but for those somebody has
        brought again since.
        Raises `WrongState` when the scope is not at rest.
        """
        ...

    async def scrub(self) -> bool:
        """Rewrite the ledger's file without what was erased, and empty its log; False if that must wait.

        Nothing else is committed meanwhile, so this takes as long as copying the ledger.
        """
        ...

    async def others_spoke(self, key: Key, person: PersonId) -> bool:
        """Whether anybody else has written in this conversation."""
        ...
