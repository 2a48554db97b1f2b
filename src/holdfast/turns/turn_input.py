"""The input of a turn before a model call: the note about an interruption, and messages that wait."""

from __future__ import annotations

from holdfast.clock import Clock
from holdfast.model import BusyMode, Claimed, InboxKind, InboxRow, Noted, Position
from holdfast.policy.recovery.notes import NoteFacts, note_for
from holdfast.store import ClaimSettings, Store

from .committer import Committer
from .draft import Draft

_AT_MOST = 200


class TurnInput:
    """Adds input at each step boundary, when every call has its result.

    The first time it adds the input of the resume; in `steer` mode it adds the new messages each time.
    """

    def __init__(
        self, store: Store, clock: Clock, committer: Committer, claimed: Claimed, settings: ClaimSettings
    ) -> None:
        self._store = store
        self._clock = clock
        self._committer = committer
        self._claimed = claimed
        self._settings = settings
        self._steers = (claimed.settings.busy or settings.busy) is BusyMode.STEER
        self._noted = claimed.turn.noted
        self._expects = bool(claimed.take)
        """Whether rows of this turn are known to wait."""

    def look_again(self) -> None:
        """A question was closed while the turn ran: the message that set it aside belongs to this turn."""
        self._expects = True

    async def take_in(self, draft: Draft) -> None:
        """Add the due note and the rows of this turn to the next commit."""
        rows = await self._rows(draft)
        turn = self._claimed.turn
        facts = NoteFacts(
            opening=False,
            message_follows=bool(rows),
            interruptions=turn.interruptions,
            noted=self._noted,
            reason=turn.interruption,
            results_left=draft.ends_in_results,
        )
        note = note_for(facts, self._clock.now(), self._settings.recovery)
        if note is not None:
            draft.say(Noted(note.kind, note.count, note.text))
            self._noted = note.count
        if rows:
            draft.consume(rows)

    async def _rows(self, draft: Draft) -> tuple[Position, ...]:
        if not (self._steers or self._expects):
            return ()
        self._expects = False
        key = self._claimed.session.key
        waiting = await self._committer.surely(lambda: self._store.waiting(key, _AT_MOST))
        asked = tuple(question.id for question in draft.journal.questions)
        belonging = [row for row in waiting if self._belongs(row) or row.question in asked]
        # Skip a person who is no longer allowed; the claim of their row refuses it later.
        return tuple(row.position for row in belonging if self._settings.allows(row.sender))

    def _belongs(self, row: InboxRow) -> bool:
        steered = self._steers and row.kind is InboxKind.MESSAGE
        return steered or row.position in self._claimed.take
