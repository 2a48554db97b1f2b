"""Owing a chat something: rows in its order, once per dedupe key, within the commit that makes it true."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.errors import NotFound
from holdfast.model import Owed, SessionId, TurnId

from .codec import dump_list
from .commit import Tx


def owe_all(
    tx: Tx, owed: Iterable[Owed], session: SessionId | None = None, turn: TurnId | None = None
) -> None:
    """Owe several things in order."""
    for one in owed:
        owe_one(tx, one, session, turn)


def owe_one(tx: Tx, owed: Owed, session: SessionId | None = None, turn: TurnId | None = None) -> bool:
    """Write the parts of one message, numbered without a gap; False if it was owed or told before."""
    if tx.one("told", dedupe=owed.dedupe):
        return False
    count = len(owed.parts)
    last = tx.one("take_numbers", chat=owed.chat, parts=count)
    if last is None:
        raise NotFound("chat", owed.chat)
    for part, text in enumerate(owed.parts):
        tx.run(
            "add_delivery",
            id=tx.ids.new(),
            chat=owed.chat,
            number=last[0] - count + part + 1,
            session=session,
            turn=turn,
            kind=owed.kind,
            dedupe=owed.dedupe,
            part=part + 1,
            parts=count,
            body=text,
            reply_to=owed.reply_to,
            # Buttons belong to the last part: that is where a person's thumb is.
            options=dump_list(owed.options) if part + 1 == count else "[]",
            now=tx.now,
        )
    refresh_chat(tx, owed.chat)
    return True


def refresh_chat(tx: Tx, chat: str) -> None:
    """Derive from the outbox when this chat may be sent to next."""
    row = tx.one("refresh_chat", chat=chat)
    if row and row[0] is not None:
        tx.changed("outbox")
