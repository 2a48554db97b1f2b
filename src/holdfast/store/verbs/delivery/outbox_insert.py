"""Owing a chat messages: rows in its order, once per dedupe key, in the commit that makes them true."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from holdfast.errors import NotFound
from holdfast.model import ChatAddress, Owed, SessionId, TurnId
from holdfast.store.contract import chat_topic
from holdfast.store.verbs.codec import dump_files, dump_list, encode
from holdfast.store.verbs.tx import Tx, Value


class Debt(NamedTuple):
    """An owed message, with the session and turn that it belongs to."""

    owed: Owed
    session: SessionId | None = None
    turn: TurnId | None = None


def owe_all(
    tx: Tx, owed: Iterable[Owed], session: SessionId | None = None, turn: TurnId | None = None
) -> bool:
    """Owe several messages of one turn, in order; True if any of them is new."""
    new = [_owe(tx, Debt(one, session, turn)) for one in owed]
    return any(new)


def _owe(tx: Tx, debt: Debt) -> bool:
    """Write the parts of one message, numbered without a gap; a message that was owed before adds nothing."""
    owed = debt.owed
    row = tx.one("take_numbers", chat=owed.chat, parts=len(owed.parts), dedupe=owed.dedupe)
    if row is None:
        if not _told(tx, (owed.dedupe,)):
            raise NotFound("chat", owed.chat)
        return False
    for delivery in _rows((debt,), {owed.chat: row[0] - len(owed.parts)}, tx.now):
        tx.write("add_delivery", delivery)
    tx.changed("outbox")
    tx.changed(chat_topic(owed.chat))
    return True


def owe_debts(tx: Tx, debts: list[Debt]) -> None:
    """The same for many debts at once, to many chats, with a few statements for all of them."""
    fresh = _not_told(tx, debts)
    if not fresh:
        return
    parts: Counter[str] = Counter()
    for debt in fresh:
        parts[debt.owed.chat] += len(debt.owed.parts)
    taken = tx.all("take_numbers_of_many", parts=encode(list(parts.items())))
    if len(taken) < len(parts):
        raise NotFound("chat", ", ".join(set(parts) - {row[0] for row in taken}))
    # The counter of each chat is at the last number just taken: count from the number before the first.
    last = {chat: number - parts[chat] for chat, number in taken}
    tx.many("add_delivery", list(_rows(fresh, last, tx.now)))
    tx.changed("outbox")
    for chat in parts:
        tx.changed(chat_topic(ChatAddress(chat)))


def _not_told(tx: Tx, debts: list[Debt]) -> list[Debt]:
    """The debts whose dedupe key is new, each key once."""
    wanted = {debt.owed.dedupe: debt for debt in reversed(debts)}
    if not wanted:
        return []
    told = _told(tx, wanted)
    return [debt for debt in debts if wanted[debt.owed.dedupe] is debt and debt.owed.dedupe not in told]


def _told(tx: Tx, dedupes: Iterable[str]) -> set[str]:
    return {row[0] for row in tx.all("told", dedupes=encode(list(dedupes)))}


def _rows(debts: Iterable[Debt], last: dict[str, int], now: int) -> Iterator[dict[str, Value]]:
    for owed, session, turn in debts:
        count = len(owed.parts)
        assert len(owed.files) <= count, "each file goes with a part"
        for part, text in enumerate(owed.parts, start=1):
            last[owed.chat] += 1
            yield {
                "chat": owed.chat,
                "number": last[owed.chat],
                "session": session,
                "turn": turn,
                "kind": str(owed.kind),
                "dedupe": owed.dedupe,
                "part": part,
                "parts": count,
                "body": text,
                "reply_to": owed.reply_to,
                # Buttons belong to the last part: the person has read the others when they press one.
                "options": dump_list(owed.options) if part == count else "[]",
                "files": dump_files(owed.files[part - 1 : part]),
                "now": now,
            }


def refresh_chat(tx: Tx, chat: str) -> None:
    """Derive from the outbox when the next part of this chat is due."""
    row = tx.one("refresh_chat", chat=chat)
    if row and row[0] is not None:
        tx.changed("outbox")
