"""Verbs of an orderly stop: which turns run, and which parts are still to be sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from holdfast.model import ChatAddress, Key, OnInterruption, SessionId, TurnId
from holdfast.records import dataclass


@dataclass(frozen=True, slots=True)
class RunningTurn:
    """A running turn, as it is shown to people who consider a restart."""

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
        """Every running turn, oldest first: the turns that a restart would cut now."""
        ...

    async def tell_running(
        self, words: Mapping[OnInterruption, str], default: OnInterruption, dedupe: str
    ) -> tuple[ChatAddress, ...]:
        """Owe one notice to each chat in which this process runs a turn now; returns these chats.

        The chat's setting for interrupted work chooses the words. Under the same dedupe word a chat is told
        once, however many of its turns run.
        """
        ...

    async def unsent(self, platforms: tuple[str, ...], until: int) -> int:
        """How many parts this process is sending, and chats of these platforms with a part due until then."""
        ...

    async def reply_settled(self, turn: TurnId) -> bool:
        """Whether this turn has ended and every part that it owes is settled."""
        ...
