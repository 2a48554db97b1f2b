"""Sending parts: claim a part before the send, record it after, in order within each chat."""

from __future__ import annotations

from functools import partial

from holdfast.errors import WrongState
from holdfast.model import (
    ChatAddress,
    Delivery,
    DeliveryId,
    DeliveryState,
    Lost,
    Owed,
    Rejected,
    SendResult,
    Sent,
    TryAgain,
)
from holdfast.policy.delivery.retry import FailingPart
from holdfast.policy.settings import DAY
from holdfast.store.contract.delivery import FIRST
from holdfast.store.verbs import rows
from holdfast.store.verbs.repair import mend_line
from holdfast.store.verbs.set_aside import rows_apart, set_row_aside
from holdfast.store.verbs.tx import PartUndone, Read, Row, Tx

from .outbox_insert import owe_all, refresh_chat

LONGEST_WAIT = DAY
"""A due time further ahead was written by a clock that was fast: waiting for it would mute a chat."""


def owe(tx: Tx, owed: Owed) -> bool:
    return owe_all(tx, (owed,))


def claim_deliveries(
    tx: Tx, platforms: tuple[str, ...], limit: int = 32, tried: str | None = None
) -> tuple[Delivery, ...]:
    taken: list[Delivery] = []
    for platform in platforms:
        for chat in _take_chats(tx, platform, limit - len(taken)):
            taken += _take_part(tx, chat, tried)
    return tuple(taken)


def claim_deliveries_apart(
    tx: Tx, platforms: tuple[str, ...], limit: int = 32, tried: str | None = None
) -> tuple[Delivery, ...]:
    """The same, each chat apart: a chat whose part cannot be taken is set aside, and the others go on."""
    taken: list[Delivery] = []
    for platform in platforms:
        for chat in _take_chats(tx, platform, limit - len(taken)):
            try:
                taken += tx.apart(partial(_take_part, tx, chat, tried))
            except PartUndone as undone:
                set_row_aside(tx, "chats", chat, undone.fault)
    return tuple(taken)


def _take_chats(tx: Tx, platform: str, limit: int) -> list[str]:
    latest = tx.now + LONGEST_WAIT
    return [
        chat
        for (chat,) in tx.all("take_chats_due", platform=platform, limit=limit, now=tx.now, latest=latest)
    ]


def _take_part(tx: Tx, chat: str, tried: str | None) -> tuple[Delivery, ...]:
    latest = tx.now + LONGEST_WAIT
    row = tx.one("take_delivery", chat=chat, owner=tx.instance, tried=tried, now=tx.now, latest=latest)
    if row is not None:
        return (rows.delivery(row),)
    # A damaged throttle made the chat due, or the first part of its line is damaged. The repair removes a
    # damaged throttle; the parts have their own times.
    mend_line(tx, chat)
    refresh_chat(tx, chat)
    return ()


def next_send_at(read: Read, platforms: tuple[str, ...]) -> int | None:
    latest = read.now + LONGEST_WAIT
    found = (read.one("next_send", platform=platform, latest=latest) for platform in platforms)
    times = [row[0] if row[0] <= latest else read.now for row in found if row is not None]
    return min(times, default=None)


def record_delivery(tx: Tx, id: DeliveryId, result: SendResult, owe: tuple[Owed, ...] = ()) -> None:
    _settle(tx, id, result, DeliveryState.SENDING, repeated=False, owe=owe)


def settle_delivery(
    tx: Tx,
    id: DeliveryId,
    result: SendResult,
    repeated: bool = False,
    owe: tuple[Owed, ...] = (),
    marked: bool = False,
) -> None:
    if isinstance(result, Lost):
        raise WrongState(f"delivery {id}", "still unknown", "settled")
    _settle(tx, id, result, DeliveryState.UNKNOWN, repeated, owe, marked)


def _settle(
    tx: Tx,
    id: DeliveryId,
    result: SendResult,
    source: DeliveryState,
    repeated: bool,
    owe: tuple[Owed, ...],
    marked: bool = False,
) -> None:
    sending = source is DeliveryState.SENDING
    row = _write(tx, id, result, source, repeated, marked)
    if row is None:
        raise _is_not(tx, id, f"{source} and ours" if sending else source)
    chat, owes_more = row
    if isinstance(result, TryAgain) and not result.counts:
        tx.run("throttle_chat", chat=chat, at=_within_a_day(tx, result.at))
    if isinstance(result, Rejected) and result.whole_chat:
        for (failed,) in tx.all("fail_chat", chat=chat, reason=result.reason, now=tx.now):
            tx.event("failed", f"delivery:{failed}", reason=result.reason)
    owe_all(tx, owe)
    # No part of the chat was due while this one was in flight, and none is if the chat is owed no more.
    if owes_more:
        refresh_chat(tx, chat)


def _within_a_day(tx: Tx, at: int) -> int:
    """Cut a wait to a day: the platform asks again for the rest; a longer one would count as damage."""
    return min(at, tx.now + LONGEST_WAIT)


def _write(
    tx: Tx, id: DeliveryId, result: SendResult, source: DeliveryState, repeated: bool, marked: bool
) -> Row | None:
    # An unknown send was counted when it became unknown; to settle it is no further attempt.
    counts = source is DeliveryState.SENDING
    where: dict[str, str | int | None] = {"id": id, "owner": tx.instance if counts else None}
    match result:
        case Sent(platform_id):
            return tx.one(
                "delivery_sent",
                platform_id=platform_id,
                now=tx.now,
                counts=counts,
                **where,
            )
        case TryAgain(at, reason, is_attempt):
            # A throttle may repeat for a day: its row keeps the reason and the time, and no event is written.
            if is_attempt:
                tx.event("try_again", f"delivery:{id}", reason=reason, at=at)
                tx.changed("failing")
            return tx.one(
                "delivery_pending",
                at=_within_a_day(tx, at),
                reason=reason,
                counts=counts and is_attempt,
                repeated=repeated,
                marked=marked,
                now=tx.now,
                **where,
            )
        case Lost(reason, ours):
            tx.event("unknown", f"delivery:{id}", reason=reason)
            tx.changed("doubts")
            tx.changed("failing")
            return tx.one("delivery_unknown", reason=reason, ours=ours, now=tx.now, **where)
        case Rejected(reason):
            tx.event("failed", f"delivery:{id}", reason=reason)
            return tx.one("delivery_failed", reason=reason, now=tx.now, counts=counts, **where)


def expire_delivery(tx: Tx, id: DeliveryId, reason: str) -> None:
    row = tx.one("delivery_expired", id=id, reason=reason, now=tx.now)
    if row is None:
        raise _is_not(tx, id, "pending or unknown")
    tx.event("expired", f"delivery:{id}", reason=reason)
    refresh_chat(tx, row[0])


def hurry_delivery(tx: Tx, id: DeliveryId, at_once: bool = True, overtaken: bool = False) -> None:
    overtaken_at = tx.now if overtaken else None
    row = tx.one("hurry_delivery", id=id, now=tx.now, at_once=at_once, overtaken_at=overtaken_at)
    if row is None:
        raise _is_not(tx, id, "failing and not settled")
    refresh_chat(tx, row[0])


def step_aside(tx: Tx, id: DeliveryId, owe: tuple[Owed, ...] = ()) -> None:
    row = tx.one("step_aside", id=id, now=tx.now)
    if row is None:
        raise _is_not(tx, id, "failing, waiting and in line")
    tx.event("stepped_aside", f"delivery:{id}")
    owe_all(tx, owe)
    refresh_chat(tx, row[0])


def failing(read: Read, platform: str, limit: int = 1_000) -> tuple[FailingPart, ...]:
    found = read.all("failing_parts", platform=platform, limit=limit)
    return rows.readable(lambda row: FailingPart(rows.delivery(row), row[-1]), found)


def _is_not(tx: Tx, id: DeliveryId, wanted: str) -> WrongState:
    found = tx.one("state_of_delivery", id=id)
    return WrongState(f"delivery {id}", found[0] if found else None, wanted)


def in_doubt(read: Read, limit: int = 100, platform: str | None = None) -> tuple[Delivery, ...]:
    return rows.readable(rows.delivery, read.all("in_doubt", limit=limit, platform=platform))


def unsettled(
    read: Read, after: DeliveryId = FIRST, limit: int = 100, unknown_only: bool = False
) -> tuple[Delivery, ...]:
    name = "unknown_parts" if unknown_only else "unsettled_parts"
    return rows.readable(rows.delivery, read.all(name, after=after, limit=limit))


def doubt_orphans(tx: Tx) -> int:
    return _doubt(tx, tx.all("doubt_orphans", owner=tx.instance, only=None))


def doubt_orphans_apart(tx: Tx) -> int:
    """The same, each part apart: a row that cannot be changed does not stop the others."""
    found = tx.all("orphan_parts", owner=tx.instance)
    doubt = partial(tx.all, "doubt_orphans", owner=tx.instance)
    return _doubt(tx, rows_apart(tx, "outbox", found, lambda id_: doubt(only=id_)))


def _doubt(tx: Tx, found: list[Row]) -> int:
    for (id_,) in found:
        tx.event("unknown", f"delivery:{id_}", reason="the process died while sending")
    if found:
        tx.changed("doubts")
        tx.changed("outbox")
    return len(found)


def deliveries(read: Read, chat: ChatAddress, after: int = 0, limit: int = 100) -> tuple[Delivery, ...]:
    return rows.readable(rows.delivery, read.all("deliveries", chat=chat, after=after, limit=limit))


def last_number(read: Read, chat: ChatAddress) -> int:
    row = read.one("last_number", chat=chat)
    return int(row[0]) if row else 0
