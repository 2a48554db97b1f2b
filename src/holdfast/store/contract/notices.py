"""Verbs of what is shown of work that goes on."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from holdfast.model import (
    AskedBy,
    Delivery,
    DeliveryId,
    Fence,
    Owed,
    QuestionId,
    QuestionKind,
    QuestionState,
    TurnState,
)


class LiveNotice(NamedTuple):
    """The message by which a session says that work goes on, and how that work stands."""

    delivery: Delivery
    state: TurnState
    """Of the turn it speaks of."""
    running: bool
    """Whether this process runs that turn under the generation that told."""


class QuestionCard(NamedTuple):
    """A question's message, and how the question stands that it carries."""

    delivery: Delivery
    question: QuestionId
    kind: QuestionKind
    state: QuestionState
    answer: str | None
    asked_by: AskedBy | None = None


class Notices(Protocol):
    """One message per session says that work goes on; it is owed like any other, and it has an end.

    So has the card of a question: its buttons end with it, and it says when no answer came.
    """

    async def tell_working(self, fence: Fence, owed: Owed) -> bool:
        """Owe the session's one such message; fenced.

        False, and nothing is owed, while the session has an older one that is not over, when this run has
        told already, or when it was asked to stop.
        """
        ...

    async def live_notices(self) -> tuple[LiveNotice, ...]:
        """Every such message that may still be read as true, also of runs that are over.

        "notices" is the topic that changes when there is another one.
        """
        ...

    async def reword_notice(self, id: DeliveryId, text: str) -> None:
        """Give the message of a run that is over these last words, for when it is sent.

        One that nobody can have seen expires instead. What is in flight or settled stays as it is.
        """
        ...

    async def forget_notice(self, id: DeliveryId) -> None:
        """The message has its last words, or nobody will see it: its session may have another."""
        ...

    async def cards(self, after: DeliveryId | None) -> tuple[tuple[QuestionCard, ...], DeliveryId]:
        """Cards that have something to lose or to say, of all that was owed after that (None: lately).

        These are messages with buttons, sent or not, and those of questions of the model that are open or
        were closed without an answer, unless that was shown. Also gives the last delivery looked at.
        """
        ...

    async def close_card(self, id: DeliveryId, owe: tuple[Owed, ...] = ()) -> None:
        """The message has no buttons any more and says how its question ended, or `owe` does.

        A message that is still to be sent keeps its buttons.
        """
        ...
