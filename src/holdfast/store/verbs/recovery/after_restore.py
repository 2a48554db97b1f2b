"""After a restore: the ledger holds the work that was open in the backup; the operator releases each item."""

from __future__ import annotations

from holdfast.model import RESTORED, ChatAddress, SessionId, Stopped
from holdfast.store.contract import HeldItem
from holdfast.store.verbs.intake.intake import end_instance
from holdfast.store.verbs.tx import Read, Tx


def hold_everything(tx: Tx) -> dict[str, int]:
    """Hold all open work, in one commit: none of it runs or is sent by itself; returns how many of each kind.

    Open turns are interrupted by the restore and held. Parts that may not have arrived become unknown.
    Waiting messages are offered. Requests to the gateway are closed, and running processes count as lost.
    """
    now: dict[str, str | int] = {"now": tx.now, "reason": RESTORED}
    tx.run("hold_waiting_turns")
    tx.run("hold_strikes")
    turns = [row[0] for row in tx.all("hold_turns", **now)]
    tx.run("hold_questions", now=tx.now)
    tx.run("hold_pending", owner=tx.instance)
    parts = [row[0] for row in tx.all("hold_deliveries", reason=RESTORED)]
    messages = [row[0] for row in tx.all("hold_messages", reason=RESTORED)]
    tx.run("hold_conversations")
    tx.run("hold_chats")
    tx.run("hold_requests", **now)
    tx.run("hold_processes", now=tx.now)
    tx.run("hold_instance", reason=Stopped.RESTORED, instance=tx.instance)
    for kind, held in (("turn", turns), ("delivery", parts), ("inbox", messages)):
        for one in held:
            tx.event(RESTORED, f"{kind}:{one}")
    end_instance(tx, Stopped.RESTORED)
    return {"turns": len(turns), "parts": len(parts), "messages": len(messages)}


def restored(read: Read) -> tuple[HeldItem, ...]:
    found = read.all("restored", reason=RESTORED)
    return tuple(
        HeldItem(kind, id_, ChatAddress(chat), since, SessionId(session) if session else None, text or "")
        for kind, id_, chat, since, session, text in sorted(found, key=lambda row: (row[0], row[3], row[1]))
    )
