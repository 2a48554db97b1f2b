"""Wait until a message is answered: its row is settled, and the screen has shown all its deliveries."""

from __future__ import annotations

from pathlib import Path

from holdfast.api.queries import address_of
from holdfast.clock import SystemClock, first_of
from holdfast.model import InboxRow, InboxState, Key, Position, Turn, TurnState
from holdfast.store import LEDGER, ReadOnlyLedger

from .client import Line

_LOOK_AGAIN = 0.5
"""Seconds until the next look at the ledger if no event comes."""
_GOOD = (TurnState.DONE, TurnState.WAITING)


class Answers:
    """Looks into the ledger after each event of the chat. The screen may be behind it, never ahead."""

    def __init__(self, home: Path, line: Line) -> None:
        self._clock = SystemClock()
        self._ledger = ReadOnlyLedger(home / LEDGER, self._clock)
        self._line = line

    async def wait_for(self, position: int) -> bool:
        """Return when nothing more comes for this message now. False if it was not done."""
        while True:
            rung = self._line.heard.rung
            settled = await self._settled(Position(position))
            if settled is not None and not await self._unseen():
                return settled
            await first_of(self._line.heard.since(rung), self._clock.sleep(_LOOK_AGAIN))

    async def close(self) -> None:
        await self._ledger.close()

    async def _settled(self, position: Position) -> bool | None:
        """None while the message is in work, else whether it was done."""
        row = await self._ledger.row(position)
        if row.state is InboxState.WAITING:
            return None
        if row.state in (InboxState.TAKEN, InboxState.ANSWERED):
            turn = await self._turn_of(row)
            over = turn is None or turn.ended_at is not None or turn.state is TurnState.WAITING
            return (turn is None or turn.state in _GOOD) if over else None
        return row.state is InboxState.EXECUTED

    async def _turn_of(self, row: InboxRow) -> Turn | None:
        """The turn that took the message. For an answer: the turn that asked, which is the session's last."""
        session = await self._ledger.live_session(Key(row.key))
        turns = await self._ledger.turns(session.id) if session else ()
        if row.turn is None:
            return turns[0] if turns else None
        return next((turn for turn in turns if turn.id == row.turn), None)

    async def _unseen(self) -> bool:
        return bool(await self._ledger.deliveries(address_of(self._line.chat), self._line.seen, 1))
