"""The message that says a session is working: owed under a fence, closed after its run.

Cards of questions are closed here too.
"""

from __future__ import annotations

from holdfast.model import (
    DeliveryId,
    Fence,
    InstanceId,
    Owed,
    QuestionId,
    QuestionKind,
    QuestionState,
    TurnState,
)
from holdfast.store.contract import LiveNotice, QuestionCard
from holdfast.store.verbs import rows
from holdfast.store.verbs.delivery.outbox_insert import owe_all, refresh_chat
from holdfast.store.verbs.tx import Read, Row, Tx

from .steps import pass_fence

_OVER = "the work it speaks of is over"
_LATELY = 10_000
"""How many deliveries a new process searches for cards that do not say yet how their question ended."""


def tell_working(tx: Tx, fence: Fence, owed: Owed) -> bool:
    stop, _, _ = pass_fence(tx, fence)
    if stop is not None or tx.one("notice_of", session=fence.session) is not None:
        return False
    if not owe_all(tx, (owed,), fence.session, fence.turn):
        return False
    tx.run(
        "add_notice",
        session=fence.session,
        turn=fence.turn,
        generation=fence.generation,
        dedupe=owed.dedupe,
    )
    tx.changed("notices")
    return True


def live_notices(read: Read, instance: InstanceId) -> tuple[LiveNotice, ...]:
    return rows.readable(_notice, read.all("live_notices", owner=instance))


def reword_notice(tx: Tx, id: DeliveryId, text: str) -> None:
    row = tx.one("give_up_notice", id=id, now=tx.now, reason=_OVER)
    if row is None:
        tx.run("reword_notice", id=id, text=text)
        return
    tx.event("expired", f"delivery:{id}", reason=_OVER)
    refresh_chat(tx, row[0])


def forget_notice(tx: Tx, id: DeliveryId) -> None:
    tx.run("forget_notice", id=id)


def cards(read: Read, after: DeliveryId | None) -> tuple[tuple[QuestionCard, ...], DeliveryId]:
    newest = (read.one("last_delivery") or (None,))[0] or 0
    found = read.all("asked_after", after=max(0, newest - _LATELY) if after is None else after)
    return rows.readable(_card, found), DeliveryId(newest)


def close_card(tx: Tx, id: DeliveryId, owe: tuple[Owed, ...] = ()) -> None:
    tx.run("forget_buttons", id=id)
    tx.run("show_closed", id=id)
    owe_all(tx, owe)


def _card(row: Row) -> QuestionCard:
    question, kind, state, answer, asked_by = row[-5:]
    return QuestionCard(
        rows.delivery(row),
        QuestionId(question),
        QuestionKind(kind),
        QuestionState(state),
        answer,
        rows.asked_by_or_none(asked_by),
    )


def _notice(row: Row) -> LiveNotice:
    state, running = row[-2:]
    return LiveNotice(rows.delivery(row), TurnState(state), bool(running))
