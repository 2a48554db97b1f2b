"""A turn in memory: its recorded entries, and everything that waits for the next commit."""

from __future__ import annotations

from dataclasses import replace

from holdfast.model import (
    Body,
    CallId,
    CallRecord,
    CallState,
    Claimed,
    Entry,
    Journal,
    PersonId,
    PlannedCall,
    Position,
    QuestionRecord,
    QuestionState,
    Replied,
    Returned,
    Said,
    TurnId,
    Usage,
    call_key,
)
from holdfast.policy.turn.steps import tail_of
from holdfast.policy.turn.transcript_reading import ends_in_results
from holdfast.policy.turn.views import Message, View, view
from holdfast.store import NewQuestion, Recorded, Step


class Draft:
    """Collects what happens; `unsaved` is everything not yet committed, until `saved` says that it is.

    A failed commit leaves the draft as it was, so the same step can be tried again and no effect is lost.
    Only the run that holds the turn appends to its transcript. The draft may die with the process: the next
    claim builds it from the ledger.
    """

    def __init__(self, claimed: Claimed) -> None:
        self._entries = list(claimed.entries)
        is_first = bool(self._entries) and self._entries[0].seq == 1
        self._past: tuple[Entry, ...] | None = () if is_first else None
        self._view: View | None = None
        """The view of the entries, computed when it is needed first."""
        self._messages: tuple[Message, ...] | None = None
        """The messages of the whole conversation, computed when they are needed first."""
        self._kept = len(self._entries)
        """The number of committed entries."""
        self._unsaved = Step()
        self._turn = claimed.turn.id
        self.replying = False
        """Whether the ledger knows that a reply with effects has begun."""
        self._journal = claimed.journal

    @property
    def journal(self) -> Journal:
        """The calls and questions of the turn, with those of the unsaved step."""
        return self._journal

    @property
    def view(self) -> View:
        """The entries of this turn alone, from which the next step follows."""
        if self._view is None:
            self._view = view(self._entries)
        return self._view

    @property
    def knows_past(self) -> bool:
        return self._past is not None

    @property
    def messages(self) -> tuple[Message, ...]:
        """The whole conversation as the model sees it; `knows_past` must be true."""
        assert self._past is not None
        if self._messages is None:
            self._messages = (view(self.whole) if self._past else self.view).messages
        return self._messages

    @property
    def turn(self) -> TurnId:
        return self._turn

    @property
    def whole(self) -> tuple[Entry, ...]:
        """The session's transcript with this turn; `knows_past` must be true."""
        assert self._past is not None
        return (*self._past, *self._entries)

    @property
    def steps(self) -> int:
        """How often the model has replied in this turn, in all its runs."""
        return sum(isinstance(entry.body, Replied) for entry in self._entries)

    @property
    def people(self) -> tuple[PersonId, ...]:
        """All people who wrote in this turn; a wake-up counts for the person it works for."""
        return tuple(entry.body.sender for entry in self._entries if isinstance(entry.body, Said))

    @property
    def ends_in_results(self) -> bool:
        """Whether the model has not yet seen the last tool results of this turn."""
        return ends_in_results(self._entries)

    @property
    def next_seq(self) -> int:
        return self._entries[-1].seq + 1 if self._entries else 1

    @property
    def is_saved(self) -> bool:
        return self._unsaved == Step()

    @property
    def unsaved(self) -> Step:
        """Everything not yet committed, with how the transcript ends after it."""
        return replace(self._unsaved, tail=tail_of(self.view, self._journal))

    @property
    def produced(self) -> Step:
        """The unsaved model output, results and questions, which a cut must keep.

        Its planned calls stay planned. The next run of the turn takes the notes and messages.
        """
        append = tuple(body for body in self._unsaved.append if isinstance(body, (Replied, Returned)))
        if not append and not self._unsaved.ask:
            return Step()
        return replace(self.unsaved, append=append, start=(), under=(), consume=())

    @property
    def unsaved_words(self) -> str:
        """The text of a reply that is not committed yet."""
        replies = [body.text for body in self._unsaved.append if isinstance(body, Replied)]
        return replies[-1] if replies else ""

    @property
    def begun(self) -> Step:
        """The unsaved facts about processes and the goal, which are true however the turn ends."""
        step = self._unsaved
        return Step(
            spawn=step.spawn,
            looked_at=step.looked_at,
            consume_processes=step.consume_processes,
            goal=step.goal,
        )

    @property
    def results(self) -> tuple[Returned, ...]:
        """The unsaved results of journaled calls, which the end of a turn must keep."""
        unknown_yet = {call.id for call in self._unsaved.plan}
        found = (body for body in self._unsaved.append if isinstance(body, Returned))
        return tuple(body for body in found if body.call not in unknown_yet)

    def remember(self, transcript: tuple[Entry, ...]) -> None:
        """Take in the session's transcript, without this turn: the draft has newer entries of it."""
        self._past = tuple(entry for entry in transcript if entry.turn != self._turn)
        self._messages = None

    def look_again(self, journal: Journal) -> None:
        """Take in the new state of the turn's questions; everything must be saved before."""
        self._journal = journal

    def say(self, *bodies: Body) -> None:
        """Append to the transcript; a result settles its call."""
        self._view = self._messages = None
        for body in bodies:
            self._entries.append(Entry(self.next_seq, self._turn, 0, body))
            if isinstance(body, Returned):
                self._change(body.call, body.state)
            elif isinstance(body, Replied):
                self.replying = False
        self._unsaved = replace(self._unsaved, append=(*self._unsaved.append, *bodies))

    def take(self, *steps: Step) -> None:
        """Take in the outcomes of tool calls: results, questions, and processes started or seen."""
        for step in steps:
            self.say(*step.append)
            for ask in step.ask:
                self.ask(ask)
            self._unsaved = replace(
                self._unsaved,
                owe=(*self._unsaved.owe, *step.owe),
                spawn=(*self._unsaved.spawn, *step.spawn),
                looked_at=(*self._unsaved.looked_at, *step.looked_at),
                goal=step.goal or self._unsaved.goal,
                consume_processes=(*self._unsaved.consume_processes, *step.consume_processes),
            )

    def consume(self, rows: tuple[Position, ...]) -> None:
        """Take waiting rows into the turn; their texts come back with the commit."""
        self._unsaved = replace(self._unsaved, consume=(*self._unsaved.consume, *rows))

    def plan(self, calls: tuple[PlannedCall, ...]) -> None:
        """Enter calls into the journal."""
        new = tuple(
            CallRecord(c.id, c.name, c.arguments, c.effect, call_key(self._turn, c.id), CallState.PLANNED)
            for c in calls
        )
        self._journal = replace(self._journal, calls=(*self._journal.calls, *new))
        self._unsaved = replace(self._unsaved, plan=(*self._unsaved.plan, *calls))

    def start(self, calls: tuple[CallId, ...], under: tuple[tuple[CallId, int], ...] = ()) -> None:
        """Mark calls as started, some of them under a rule; they may run only after the commit."""
        for call in calls:
            self._change(call, CallState.STARTED)
        self._unsaved = replace(self._unsaved, start=(*self._unsaved.start, *calls), under=under)

    def hold_back(self, calls: tuple[CallRecord, ...]) -> None:
        """Undo the start of these calls: the ledger refused it and committed nothing."""
        before = {call.id: call for call in calls}
        known = tuple(before.get(call.id, call) for call in self._journal.calls)
        self._journal = replace(self._journal, calls=known)
        self._unsaved = replace(self._unsaved, start=(), under=())

    def spend(self, usage: Usage) -> None:
        """Count the tokens of a model call."""
        self._unsaved = replace(self._unsaved, usage=(*self._unsaved.usage, usage))

    def ask(self, ask: NewQuestion) -> None:
        """Open a question: the turn waits for its answer."""
        asked = QuestionRecord(
            ask.id,
            ask.kind,
            ask.call,
            QuestionState.OPEN,
            ask.text,
            ask.options,
            ask.asked_of,
            ask.expires_at,
            call_hash=ask.call_hash,
            of_owner=ask.of_owner,
        )
        self._journal = replace(self._journal, questions=(*self._journal.questions, asked))
        self._unsaved = replace(self._unsaved, ask=(*self._unsaved.ask, ask))

    def saved(self, recorded: Recorded) -> None:
        """The unsaved step is committed: take the ledger's entries, which include consumed messages."""
        self._view = self._messages = None
        self._entries[self._kept :] = recorded.entries
        self._kept = len(self._entries)
        self._unsaved = Step()

    def _change(self, id_: CallId, state: CallState) -> None:
        generation = self._journal.generation
        self._journal = replace(
            self._journal,
            calls=tuple(
                replace(call, state=state, generation=generation) if call.id == id_ else call
                for call in self._journal.calls
            ),
        )
