"""Verbs of what is shown of work that goes on."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from holdfast.model import Delivery, DeliveryId, Fence, Owed, QuestionState, TurnState


class LiveNotice(NamedTuple):
    """The message by which a session says that work goes on, and how that work stands."""

    delivery: Delivery
    state: TurnState
    """Of the turn it speaks of."""
    running: bool
    """Whether this process runs that turn under the generation that told."""


class Buttons(NamedTuple):
    """A question's message that has buttons, or will have once it is sent, and how the question stands."""

    delivery: Delivery
    state: QuestionState
    answer: str | None


class Notices(Protocol):
    """One message per session says that work goes on; it is owed like any other, and it has an end.

    So have the buttons of a question: they end with it.
    """

    async def tell_working(self, fence: Fence, owed: Owed) -> bool:
        """Owe the session's one such message; fenced.

        False, and nothing is owed, while the session has an older one that is not over, when this run has
        told already, or when it was asked to stop.
        """
        ...

    async def live_notices(self) -> tuple[LiveNotice, ...]:
        """Every such message that may still be read as true, also of runs that are over."""
        ...

    async def reword_notice(self, id: DeliveryId, text: str) -> None:
        """Give the message of a run that is over these last words, for when it is sent.

        One that nobody can have seen expires instead. What is in flight or settled stays as it is.
        """
        ...

    async def forget_notice(self, id: DeliveryId) -> None:
        """The message has its last words, or nobody will see it: its session may have another."""
        ...

    async def buttons(self, after: DeliveryId | None) -> tuple[tuple[Buttons, ...], DeliveryId]:
        """What has buttons of all that was owed after that (None: lately), and the last one looked at."""
        ...

    async def forget_buttons(self, id: DeliveryId) -> None:
        """The message that was sent has no buttons any more."""
        ...
