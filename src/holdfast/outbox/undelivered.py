"""The end of a part that cannot be delivered: a visible line replaces it, and its question is closed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from holdfast.model import WORKING, AskedBy, Delivery, DeliveryState, Owed, OwedKind, QuestionState, TurnId
from holdfast.policy.delivery.files import unsent_line
from holdfast.policy.delivery.retry import late_line, left_line, missing_line
from holdfast.store import Store

LINE = "line:"
"""Begins the key of a line that replaces a part. A replacing line that fails is not replaced again."""
_MANY = 1_000
Write = Callable[[], Coroutine[Any, Any, None]]
Insist = Callable[[Write, Delivery], Awaitable[None]]
"""Carries out a write about a part, with as many tries as it needs."""


def line_for(
    delivery: Delivery, may_have_arrived: bool = False, refused: bool = False, whole: bool = False
) -> tuple[Owed, ...]:
    """A visible line in place of a part or of the whole message, once.

    A replacing line and a progress notice get no line: people do not miss them.
    """
    if delivery.dedupe.startswith((LINE, WORKING)):
        return ()
    once = f"{LINE}{delivery.dedupe}" if whole else f"{LINE}{delivery.key}"
    text = _words(delivery, may_have_arrived, refused, whole)
    return (Owed(delivery.chat, once, (text,), OwedKind.NOTICE, delivery.reply_to),)


def line_for_late(delivery: Delivery) -> tuple[Owed, ...]:
    """A visible line in place of a part that was moved aside, once; none for a line or a progress notice."""
    if delivery.dedupe.startswith((LINE, WORKING)):
        return ()
    text = late_line(delivery.part, delivery.parts, delivery.repeated)
    return (Owed(delivery.chat, f"{LINE}{delivery.key}:late", (text,), OwedKind.NOTICE, delivery.reply_to),)


def _words(delivery: Delivery, may_have_arrived: bool, refused: bool, whole: bool) -> str:
    if delivery.files:
        return unsent_line(delivery.text, delivery.files, may_have_arrived)
    part, parts = (1, 1) if whole else (delivery.part, delivery.parts)
    return missing_line(part, parts) if refused else left_line(part, parts, may_have_arrived)


async def close_questions(store: Store, delivery: Delivery, insist: Insist, whole_chat: bool = False) -> None:
    """Close the question of a card that was not delivered, so that its turn does not wait for an answer."""
    gone = [delivery]
    if whole_chat:
        later = await store.deliveries(delivery.chat, after=delivery.order, limit=_MANY)
        gone += [each for each in later if each.state is DeliveryState.FAILED]
    for each in gone:
        if each.kind is OwedKind.QUESTION and each.turn is not None:
            await _close_question(store, each, each.turn, insist)


async def _close_question(store: Store, delivery: Delivery, turn: TurnId, insist: Insist) -> None:
    journal = await store.journal(turn, 0)
    # A question of safe mode stays open: the work it holds goes on when safe mode ends.
    still_open = [
        q for q in journal.questions if q.state is QuestionState.OPEN and q.asked_by is not AskedBy.SAFE_MODE
    ]
    named = [q for q in still_open if q.id in delivery.dedupe] or still_open
    if len(named) == 1:
        question = named[0].id
        await insist(lambda: store.question_undeliverable(question), delivery)
