"""A turn in memory: what is recorded, and what has happened since and waits for the next commit."""

from __future__ import annotations

from dataclasses import replace

from holdfast.model import (
    Body,
    CallId,
    CallRecord,
    CallState,
    Claimed,
    Entry,
    PlannedCall,
    Position,
    Returned,
    call_key,
)
from holdfast.policy.steps import tail_of
from holdfast.policy.views import Message, View, view
from holdfast.store import Step


class Draft:
    """Grows by what happens; `take` hands out everything not yet committed as one step.

    Only the turn's owner appends to its transcript, so the numbers given here are the ones committed.
    Nothing in it outlives the process or needs to: a claim builds it anew from the ledger.
    """

    def __init__(self, claimed: Claimed, transcript: tuple[Entry, ...]) -> None:
        self._past = [entry for entry in transcript if entry.turn != claimed.turn.id]
        self._entries = list(claimed.entries)
        self.journal = claimed.journal
        self.resume_opened = False
        """The note about the last interruption, and what is answered in here, stand in it."""
        self._turn = claimed.turn.id
        self._unsaved = Step()

    @property
    def view(self) -> View:
        """The turn by itself: what its next step follows from, at the cost of the turn alone."""
        return view(self._entries)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The whole conversation, as the model is shown it."""
        return view([*self._past, *self._entries]).messages

    @property
    def next_seq(self) -> int:
        return self._entries[-1].seq + 1

    @property
    def is_saved(self) -> bool:
        return self._unsaved == Step()

    def say(self, *bodies: Body, consume: tuple[Position, ...] = ()) -> None:
        """Append to the transcript; a result settles its call. What is consumed is known once it is saved."""
        for body in bodies:
            self._entries.append(Entry(self.next_seq, self._turn, 0, body))
            if isinstance(body, Returned):
                self._change(body.call, body.state)
        unsaved = self._unsaved
        self._unsaved = replace(
            unsaved, append=(*unsaved.append, *bodies), consume=(*unsaved.consume, *consume)
        )

    def saved(self, entries: tuple[Entry, ...]) -> None:
        """Learn what the commit added by itself: the messages it took."""
        self._entries += [entry for entry in entries if entry.seq >= self.next_seq]

    def plan(self, calls: tuple[PlannedCall, ...]) -> None:
        """Enter calls into the journal."""
        new = tuple(
            CallRecord(c.id, c.name, c.arguments, c.effect, call_key(self._turn, c.id), CallState.PLANNED)
            for c in calls
        )
        self.journal = replace(self.journal, calls=(*self.journal.calls, *new))
        self._unsaved = replace(self._unsaved, plan=(*self._unsaved.plan, *calls))

    def start(self, calls: tuple[CallId, ...]) -> None:
        """Mark calls as started; they may run once this is committed."""
        for call in calls:
            self._change(call, CallState.STARTED)
        self._unsaved = replace(self._unsaved, start=(*self._unsaved.start, *calls))

    def take(self) -> Step:
        """Everything not yet committed, with how the transcript now ends."""
        step = replace(self._unsaved, tail=tail_of(self.view, self.journal))
        self._unsaved = Step()
        return step

    def _change(self, id_: CallId, state: CallState) -> None:
        generation = self.journal.generation
        self.journal = replace(
            self.journal,
            calls=tuple(
                replace(call, state=state, generation=generation) if call.id == id_ else call
                for call in self.journal.calls
            ),
        )
