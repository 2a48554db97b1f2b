"""Verbs of standing goals: what a session works at by itself."""

from __future__ import annotations

from typing import Protocol

from holdfast.model import ChatAddress, Goal, Key, Owed, PersonId, Position


class Goals(Protocol):
    """A session has one goal at most. While it is active, each turn that ends as done queues the next one in
    its own commit, as a wake-up named after the turn that ended; no other end of a turn does.

    It ends when the agent reports (`Step.goal`), when its turns are used (told in that commit), when a
    person's message that wants a turn arrives (told too), with a stop, and with its session.
    """

    async def set_goal(
        self,
        key: Key,
        chat: ChatAddress,
        text: str,
        budget: int,
        person: PersonId,
        by: Position,
        owe: tuple[Owed, ...] = (),
    ) -> Goal:
        """Set the conversation's goal in place of any other and queue its first turn; `by` is executed.

        A conversation without a session, or with a suspended one, begins one.
        """
        ...

    async def stop_goal(self, key: Key, by: Position, owe: tuple[Owed, ...] = ()) -> None:
        """End the conversation's active goal and withdraw its queued turn; `by` is executed.

        Raises `WrongState` when there is none.
        """
        ...

    async def goal(self, key: Key) -> Goal | None:
        """The goal of the conversation's live session, also one that has ended."""
        ...
