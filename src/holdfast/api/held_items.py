"""Release or drop the items that wait for the operator, one at a time, each in its own commit."""

from __future__ import annotations

from pathlib import Path

from holdfast.clock import Clock, Ids
from holdfast.errors import NotFound, Refused
from holdfast.model import (
    DeliveryId,
    InboxKind,
    InboxRow,
    InboxState,
    Key,
    Owed,
    OwedKind,
    Position,
    Rejected,
    SessionId,
    StopKind,
    Stopped,
    TryAgain,
)
from holdfast.records import dataclass
from holdfast.store import LEDGER, HeldItem, OnHold, Store, open_ledger

from .to_json import Json

CONVERSATION = "conversation"
_MANY = 1_000
DROPPED = "dropped by the operator after a restore"
DROPPED_ON_HOLD = "dropped by the operator while its conversation was on hold"
RELEASED = "released by the operator after a restore"
TOLD = (
    "The operator dropped this message, so I will not answer it. Send it again if you still want an answer."
)


async def release_at_rest(home: Path, clock: Clock, ids: Ids, items: str | None, drop: bool) -> Json:
    """The same while no gateway runs: released work starts at the next start.

    Locks the home meanwhile; raises `HomeLocked` if another process has the lock.
    """
    if not (home / LEDGER).exists():
        raise NotFound("ledger in", home)
    store = await open_ledger(home, clock, ids)
    try:
        done = await HeldItems(store, clock).release(items, drop)
    finally:
        await store.end_instance(Stopped.RESTORED)
        await store.close()
    return done


def item_of(one: OnHold) -> HeldItem:
    """A conversation on hold, as an item that can be released."""
    waits = "1 message waits" if one.waiting == 1 else f"{one.waiting} messages wait"
    return HeldItem(CONVERSATION, one.key, one.chat, one.since, one.session, f"parked too often; {waits}")


@dataclass(frozen=True, slots=True)
class HeldItems:
    """What an operator does after a restore or too many parks. A repeated request finds nothing to do."""

    store: Store
    clock: Clock

    async def release(self, items: str | None = None, drop: bool = False) -> Json:
        """Release or drop these items, with the names of `held` and blanks between; without names, all."""
        held = {one.name: one for one in await self.store.restored()}
        held |= {one.name: one for one in map(item_of, await self.store.on_hold(_MANY))}
        wanted = items.split() if items else list(held)
        for name in wanted:
            if name not in held:
                raise NotFound("held item named", name)
        done: list[str] = []
        refused: dict[str, str] = {}
        # Messages last: the agent answers them after the work that came before them.
        for name in sorted(wanted, key=lambda name: held[name].kind == "message"):
            try:
                await (self._drop if drop else self._release)(held[name])
                done.append(name)
            except Refused as refusal:
                # The item changed since it was listed: the ledger decides.
                refused[name] = str(refusal)
        return {"dropped" if drop else "released": done, "refused": refused}

    async def _release(self, one: HeldItem) -> None:
        match one.kind:
            case "turn":
                await self.store.revive(SessionId(str(one.session)), None, "")
            case "part":
                # It may have been sent after the backup was made, so it goes out as a possible repeat.
                again = TryAgain(self.clock.now(), RELEASED)
                await self.store.settle_delivery(DeliveryId(int(one.id)), again, repeated=True)
            case _ if one.kind == CONVERSATION:
                await self.store.release_conversation(Key(one.id), None)
            case _:
                await self.store.take_up(Position(int(one.id)))

    async def _drop(self, one: HeldItem) -> None:
        match one.kind:
            case "turn":
                session = await self.store.session(SessionId(str(one.session)))
                await self.store.stop(session.key, StopKind.STOP, None)
            case "part":
                await self.store.settle_delivery(DeliveryId(int(one.id)), Rejected(DROPPED))
            case _ if one.kind == CONVERSATION:
                for row in await self.store.waiting(Key(one.id), _MANY):
                    await self.store.settle_row(row.position, InboxState.DROPPED, DROPPED_ON_HOLD, _told(row))
                await self.store.release_conversation(Key(one.id), None)
            case _:
                # The person may have got an answer after the backup was made, so the chat gets no message.
                await self.store.settle_row(Position(int(one.id)), InboxState.DROPPED, DROPPED)


def _told(row: InboxRow) -> tuple[Owed, ...]:
    """The notice for the chat of a dropped message. For a wake-up no person waits, so it gets none."""
    if row.kind is not InboxKind.MESSAGE:
        return ()
    return (Owed(row.place.address, f"dropped:{row.position}", (TOLD,), OwedKind.NOTICE, row.message_id),)
