"""Verbs of the messages that show the state of work: the progress notice of a session, and cards."""

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
    """The message that says a session is working, and the state of its turn."""

    delivery: Delivery
    state: TurnState
    """The state of the turn that it is about."""
    running: bool
    """Whether this process still runs that turn, under the generation that wrote the message."""


class QuestionCard(NamedTuple):
    """The message that carries a question, and the state of that question."""

    delivery: Delivery
    question: QuestionId
    kind: QuestionKind
    state: QuestionState
    answer: str | None
    asked_by: AskedBy | None = None


class Notices(Protocol):
    """Each session has at most one open message that says it is working. It is owed like any other message.

    When its run ends, the message is closed. The card of a question is closed too: it loses its buttons, and
    it says so when no answer came.
    """

    async def tell_working(self, fence: Fence, owed: Owed) -> bool:
        """Owe the session's one message that says it is working; fenced.

        Returns False and owes nothing while an older one is open, when this run has sent one already, or when
        the turn was asked to stop.
        """
        ...

    async def live_notices(self) -> tuple[LiveNotice, ...]:
        """Every such message that is not closed, also of runs that have ended.

        The topic "notices" changes when another one is written.
        """
        ...

    async def reword_notice(self, id: DeliveryId, text: str) -> None:
        """Change the text of a message whose run has ended, before it is sent.

        A message that was never sent expires instead. One that is in flight or settled stays as it is.
        """
        ...

    async def forget_notice(self, id: DeliveryId) -> None:
        """Note that the message is closed, or will never be seen: its session may have another."""
        ...

    async def cards(self, after: DeliveryId | None) -> tuple[tuple[QuestionCard, ...], DeliveryId]:
        """Cards that may have to be closed, among the deliveries after this one (None: the last ones).

        These are messages with buttons, sent or not. With them come the cards of the model and of safe mode
        whose question is open, or closed without an answer and not yet shown as closed. Also returns the last
        delivery that the verb looked at.
        """
        ...

    async def close_card(self, id: DeliveryId, owe: tuple[Owed, ...] = ()) -> None:
        """Note that the card has no buttons any more, and that it or `owe` says how its question ended.

        A card that is still to be sent keeps its buttons.
        """
        ...
