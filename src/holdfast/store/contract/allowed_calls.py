"""Verbs of the rules that owners gave: which calls run in a chat without a question.

A rule is stored by `answer`, in the commit that answers the question which offered it. `record` starts a call
under a rule only while that is in force.
"""

from __future__ import annotations

from typing import Protocol

from holdfast.model import AllowedCall, ChatAddress, Owed, PersonId, Position

RULE_USED = "allowed_by_rule"
"""The event of a turn whose `call` started under a `rule`, which was given at `given_at`."""


class LookingAtAllowedCalls(Protocol):
    """What everybody may look at."""

    async def allowed_calls(
        self, chat: ChatAddress | None = None, limit: int = 1_000
    ) -> tuple[AllowedCall, ...]:
        """The rules that are in force in a chat, or in all of them, oldest first."""
        ...


class AllowedCalls(LookingAtAllowedCalls, Protocol):
    """Rules are rows: one that was given holds after any crash, and one that was revoked holds no more."""

    async def revoke_allowed_call(
        self,
        rule: int,
        by: PersonId,
        chat: ChatAddress | None = None,
        row: Position | None = None,
        owe: tuple[Owed, ...] = (),
    ) -> None:
        """Take a rule back: no call starts under it any more. The command's `row` is executed with it.

        Raises `WrongState` for a rule that there is not, that was revoked before, or that is not of `chat`.
        """
        ...
