"""Verbs of goals: what a session works towards by itself."""

from __future__ import annotations

from typing import Protocol

from holdfast.model import ChatAddress, Goal, Key, Owed, PersonId, Position


class Goals(Protocol):
    """A session has one goal at most. While it is active, each turn that ends as done queues the next one.

    The commit that ends the turn does it, as a wake-up named after that turn. A turn that ends in another way
    queues none.

    A goal ends when the agent reports (`Step.goal`), when its turns are used up, when a person's message that
    wants a turn arrives, with a stop, and with its session. In the second and third case the commit that ends
    the goal also tells the chat.
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

        A conversation without a session, or with a suspended one, begins a new session.
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
