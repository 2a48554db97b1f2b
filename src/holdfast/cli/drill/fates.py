"""What became of messages that were kept and not answered: they wait visibly, or they are gone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from pathlib import Path

from holdfast.clock import Clock
from holdfast.model import InboxRow, InboxState, Key, Place, Turn, TurnState
from holdfast.records import dataclass
from holdfast.store import LEDGER, ReadOnlyLedger

from .counting import Seen

_MANY = 10_000
_OPEN = frozenset({TurnState.QUEUED, TurnState.RUNNING, TurnState.WAITING, TurnState.INTERRUPTED})


@dataclass(slots=True)
class Fates:
    """Messages without an answer, by name."""

    waiting: list[str] = field(default_factory=list)
    """They wait, alone or in work that is held, and the chat was told so."""
    parked: list[str] = field(default_factory=list)
    """Their work is parked: kept for an owner, and the chat was told so."""
    wrong: list[str] = field(default_factory=list)
    """In words: those that wait in silence, and those that are gone."""

    @property
    def excused(self) -> frozenset[str]:
        return frozenset((*self.waiting, *self.parked))


async def look_for(home: Path, clock: Clock, people: Iterable[Seen]) -> Fates:
    """Look each of them up in the ledger, and whether its chat was told."""
    found = Fates()
    ledger = ReadOnlyLedger(home / LEDGER, clock)
    try:
        for seen in people:
            if left := set(seen.unanswered()):
                await _sort(ledger, seen.chat, left, found)
    finally:
        await ledger.close()
    return found


async def _sort(ledger: ReadOnlyLedger, chat: str, left: set[str], found: Fates) -> None:
    address = Place("web", "main", chat).address
    key = Key(address)
    told = {one.dedupe for one in await ledger.deliveries(address, limit=_MANY)}
    rows = {row.event_id: row for row in await ledger.waiting(key, _MANY)}
    turns: dict[str, Turn] = {}
    for line in await ledger.sessions(limit=_MANY, key=key):
        turns |= {turn.id: turn for turn in await ledger.turns(line.id, _MANY)}
        rows |= {row.event_id: row for row in await ledger.arrivals_of(line.id)}
    held = [turn for turn in turns.values() if turn.state in _OPEN]
    for name in sorted(left):
        row = rows.get(name)
        if row is None:
            found.wrong.append(f"{chat}: {name} was kept, and the ledger does not know it")
        else:
            _sort_one(chat, row, turns.get(row.turn or ""), held, told, found)


def _sort_one(
    chat: str, row: InboxRow, turn: Turn | None, held: list[Turn], told: set[str], found: Fates
) -> None:
    before = [turn] if turn is not None else held
    is_told = f"ack:{row.position}" in told or any(_told_of(one, told) for one in before)
    if row.state is InboxState.WAITING or (turn is not None and turn.state in _OPEN):
        if is_told:
            found.waiting.append(row.event_id)
        else:
            found.wrong.append(f"{chat}: {row.event_id} waits, and the chat was not told")
    elif turn is not None and turn.state is TurnState.PARKED and _told_of(turn, told):
        found.parked.append(row.event_id)
    else:
        what = f"{turn.state} ({turn.why})" if turn is not None else f"{row.state} ({row.reason})"
        found.wrong.append(f"{chat}: {row.event_id} is {what}")


def _told_of(turn: Turn, told: set[str]) -> bool:
    """Whether the chat was told or asked about an interruption of this turn."""
    return any(f":{turn.id}:" in dedupe for dedupe in told)
