"""Verbs of the rules that owners gave: which calls run in a chat without a question.

`answer` stores a rule, in the commit that answers the question which offered it. `record` starts a call under
a rule only while that rule is in force.
"""

from __future__ import annotations

from typing import Protocol

from holdfast.model import AllowedCall, ChatAddress, Owed, PersonId, Position

RULE_USED = "allowed_by_rule"
"""The event of a turn whose `call` started under a `rule` that an owner gave at `given_at`."""


class LookingAtAllowedCalls(Protocol):
    """What every reader may look at."""

    async def allowed_calls(
        self, chat: ChatAddress | None = None, limit: int = 1_000
    ) -> tuple[AllowedCall, ...]:
        """The rules that are in force in a chat, or in all of them, oldest first."""
        ...


class AllowedCalls(LookingAtAllowedCalls, Protocol):
    """Rules are rows: after any crash a rule that was given still holds, and a revoked rule does not."""

    async def revoke_allowed_call(
        self,
        rule: int,
        by: PersonId,
        chat: ChatAddress | None = None,
        row: Position | None = None,
        owe: tuple[Owed, ...] = (),
    ) -> None:
        """Revoke a rule: no call starts under it any more. The command's `row` is executed with it.

        Raises `WrongState` for a rule that does not exist, that was revoked before, or that is not of `chat`.
        """
        ...
