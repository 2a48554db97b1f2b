"""The fate of each message that the gateway kept: one without an answer must wait visibly.

An answer alone proves nothing. Dropped work stays in the transcript, and the drill's agent does it with the
next message: the person sees an answer although the gateway dropped the work. So the drill looks up every
message in the ledger.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from pathlib import Path

from holdfast.clock import Clock
from holdfast.model import InboxRow, InboxState, Key, Place, Turn, TurnId, TurnState
from holdfast.records import dataclass
from holdfast.store import LEDGER, ReadOnlyLedger

from .count import PersonLog

_MANY = 10_000
_OPEN = frozenset({TurnState.QUEUED, TurnState.RUNNING, TurnState.WAITING, TurnState.INTERRUPTED})
_DROPPED = frozenset({TurnState.CANCELLED, TurnState.EXPIRED, TurnState.FAILED})


@dataclass(slots=True)
class Fates:
    """Messages without an answer, by name, and what went wrong with any."""

    waiting: list[str] = field(default_factory=list)
    """They wait, alone or in held work, and the chat was told so."""
    parked: list[str] = field(default_factory=list)
    """Their work is parked: kept for an owner, and the chat was told so."""
    wrong: list[str] = field(default_factory=list)
    """In words: messages that wait while the chat was not told, that are gone, or whose work was dropped."""

    @property
    def excused(self) -> frozenset[str]:
        return frozenset((*self.waiting, *self.parked))


async def look_for(home: Path, clock: Clock, people: Iterable[PersonLog]) -> Fates:
    """Look up each message in the ledger, and whether its chat was told."""
    found = Fates()
    ledger = ReadOnlyLedger(home / LEDGER, clock)
    try:
        for seen in people:
            if seen.kept:
                await _sort(ledger, seen, found)
    finally:
        await ledger.close()
    return found


async def _sort(ledger: ReadOnlyLedger, seen: PersonLog, found: Fates) -> None:
    address = Place("web", "main", seen.chat).address
    key = Key(address)
    told = {one.dedupe for one in await ledger.deliveries(address, limit=_MANY)}
    rows = {row.event_id: row for row in await ledger.waiting(key, _MANY)}
    turns: dict[str, Turn] = {}
    for line in await ledger.sessions(limit=_MANY, key=key):
        turns |= {turn.id: turn for turn in await ledger.turns(line.id, _MANY)}
        rows |= {row.event_id: row for row in await ledger.arrivals_of(line.id)}
    held = [turn for turn in turns.values() if turn.state in _OPEN]
    if any(one.key == key for one in await ledger.on_hold(_MANY)):
        # The notice of the park that put the conversation on hold says that its messages wait for an owner.
        held += sorted((turn for turn in turns.values() if turn.state is TurnState.PARKED), key=_id)[-1:]
    left = set(seen.unanswered())
    for name in sorted(seen.kept):
        row = rows.get(name)
        turn = turns.get(row.turn or "") if row is not None else None
        if row is None:
            found.wrong.append(f"{seen.chat}: {name} was kept, and the ledger does not know it")
        elif name in left:
            _sort_one(seen.chat, row, turn, held, told, found)
        elif turn is not None and turn.state in _DROPPED:
            ended = f"{turn.state} ({turn.why})"
            found.wrong.append(f"{seen.chat}: {name} is {ended}, and later work answered it")


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


def _id(turn: Turn) -> TurnId:
    return turn.id


def _told_of(turn: Turn, told: set[str]) -> bool:
    """Whether the chat was told or asked about an interruption of this turn."""
    return any(f":{turn.id}:" in dedupe for dedupe in told)
