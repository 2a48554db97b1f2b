"""What an orderly stop needs: the chats to tell, and what is still to be sent."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.model import ChatAddress, InstanceId, Key, OnInterruption, Owed, OwedKind, SessionId, TurnId
from holdfast.store.contract import RunningTurn
from holdfast.store.verbs.delivery.outbox_insert import owe_all
from holdfast.store.verbs.rows import on_interruption_or_none, time_or_none
from holdfast.store.verbs.tx import Read, Row, Tx


def running_turns(read: Read) -> tuple[RunningTurn, ...]:
    return tuple(_running(row) for row in read.all("running_turns", owner=None))


def tell_running(
    tx: Tx, words: Mapping[OnInterruption, str], default: OnInterruption, dedupe: str
) -> tuple[ChatAddress, ...]:
    chats = {
        one.chat: one.on_interruption or default
        for one in map(_running, tx.all("running_turns", owner=tx.instance))
    }
    told = [
        chat
        for chat, wanted in chats.items()
        if owe_all(tx, (Owed(chat, f"{dedupe}:{chat}", (words[wanted],), OwedKind.NOTICE),))
    ]
    return tuple(told)


def unsent(read: Read, instance: InstanceId, platforms: tuple[str, ...], until: int) -> int:
    found = [read.one("count_chats_due", platform=platform, until=until) for platform in platforms]
    found.append(read.one("count_sending", owner=instance))
    return sum(int(row[0]) for row in found if row)


def reply_settled(read: Read, turn: TurnId) -> bool:
    row = read.one("reply_settled", turn=turn)
    # The caller need not wait for a turn that the ledger does not know.
    return row is None or bool(row[0])


def _running(row: Row) -> RunningTurn:
    turn, session, key, chat, wanted, begun_at, claimed_at, progress_at = row
    return RunningTurn(
        TurnId(turn),
        SessionId(session),
        Key(key),
        ChatAddress(chat),
        on_interruption_or_none(wanted),
        begun_at,
        claimed_at,
        time_or_none(progress_at),
    )
