"""Verbs of an orderly stop: who is in the middle of something, and what is still on its way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from holdfast.model import ChatAddress, Key, OnInterruption, SessionId, TurnId
from holdfast.records import dataclass


@dataclass(frozen=True, slots=True)
class RunningTurn:
    """A turn some process runs now, as people who think of a restart look at it."""

    turn: TurnId
    session: SessionId
    key: Key
    chat: ChatAddress
    on_interruption: OnInterruption | None
    begun_at: int
    claimed_at: int
    progress_at: int | None


class DrainVerbs(Protocol):
    """What a drain asks of the ledger."""

    async def running_turns(self) -> tuple[RunningTurn, ...]:
        """Every running turn, oldest first: what a restart would cut now."""
        ...

    async def tell_running(
        self, words: Mapping[OnInterruption, str], default: OnInterruption, dedupe: str
    ) -> tuple[ChatAddress, ...]:
        """Owe each chat with a turn of this process running in this very commit one notice; says which.

        The words are chosen by what the chat wants done with interrupted work. Under the same dedupe word a
        chat is told once, however many of its turns run.
        """
        ...

    async def unsent(self, platforms: tuple[str, ...], until: int) -> int:
        """Parts this process is sending, and chats of these platforms with a part due until then."""
        ...

    async def reply_settled(self, turn: TurnId) -> bool:
        """Whether this turn has ended and nothing it owes is still to be sent."""
        ...
