"""The message by which a session says that work goes on: told under a fence, ended with its last words."""

from __future__ import annotations

from holdfast.model import DeliveryId, Fence, InstanceId, Owed, TurnState
from holdfast.store.contract import LiveNotice

from . import rows
from .commit import Row, Tx
from .owing import owe_all, refresh_chat
from .readers import Read
from .steps import pass_fence

_OVER = "the work it speaks of is over"


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


def _notice(row: Row) -> LiveNotice:
    return LiveNotice(rows.delivery(row), TurnState(row[21]), bool(row[22]))
