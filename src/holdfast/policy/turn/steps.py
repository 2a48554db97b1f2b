"""What a turn does next: a pure function of the record.

A run of a turn, a resume after a crash and a replay in a test are the same loop over `next_step`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

from holdfast.model import (
    CallId,
    CallRecord,
    CallState,
    Entry,
    Journal,
    QuestionId,
    QuestionKind,
    QuestionRecord,
    QuestionState,
    Replied,
    Tail,
    TurnState,
)
from holdfast.model import StopReason as Marker
from holdfast.model.states import SILENT
from holdfast.policy.consent.approvals import OPEN_GATE, Gate
from holdfast.records import dataclass

from .calls import Awaited, InFlight, NeedsConsent, Settlement, ToRun, judge_call
from .problems import Problem, ProblemKind
from .transcript_reading import SETTLED
from .views import View, view

CUT_OFF_LIMIT = 3
"""When this many replies in a row break off, the turn fails."""


class FinishReason(StrEnum):
    """Why a turn ends without an answer."""

    NOTHING_TO_ANSWER = "nothing_to_answer"
    EMPTY_REPLY = "empty_reply"
    FILTERED = "filtered"
    CUT_OFF = "cut_off"
    DAMAGED_TRANSCRIPT = "damaged_transcript"
    MODEL_FAILED = "model_failed"
    """The model reported an error at every try."""
    MODEL_BROKE = "model_broke"
    """The model call failed with an unexpected error."""
    NO_PROGRESS = "no_progress"
    TOO_LONG = "too_long"
    """The view is longer than the model can read, even summed up and shortened."""


_WORDS = {
    FinishReason.NOTHING_TO_ANSWER: "There was nothing to answer, so I did nothing.",
    FinishReason.EMPTY_REPLY: (
        "The model gave an empty answer. What was done so far is kept; write again to go on from there."
    ),
    FinishReason.FILTERED: (
        "The model's provider withheld the answer. What was done so far is kept; "
        "put it in other words to try again."
    ),
    FinishReason.CUT_OFF: (
        "The model's answer broke off again and again. What it wrote is kept; write again to go on."
    ),
    FinishReason.DAMAGED_TRANSCRIPT: (
        "The record of this conversation does not fit together, so I stopped rather than guess. "
        "I ran nothing more; what is recorded is kept."
    ),
    FinishReason.MODEL_FAILED: (
        "The model gave no answer. What was done so far is kept; write again to go on from there."
    ),
    FinishReason.MODEL_BROKE: (
        "An error happened while I asked the model; the gateway's log names it. "
        "What was done so far is kept; write again to go on from there."
    ),
    FinishReason.TOO_LONG: (
        "This conversation is larger than the model can read at once, even after I summed it up and "
        "shortened long results. All of it is kept. /new starts a fresh conversation; /agent may name an "
        "agent that can read more."
    ),
    FinishReason.NO_PROGRESS: (
        "This work made no progress any more, so I stopped it. "
        "What was done so far is kept; write again to go on from there."
    ),
}


@dataclass(frozen=True, slots=True)
class CallModel:
    """Show the model the view and record its reply."""


@dataclass(frozen=True, slots=True)
class Settle:
    """Record results for these calls without running them. This comes before any call runs."""

    settlements: tuple[Settlement, ...]


@dataclass(frozen=True, slots=True)
class RunTools:
    """Run these calls, each after the commit of its start, beside the calls that this run has in flight.

    Without calls to run, it means: wait for those in flight.
    """

    calls: tuple[ToRun, ...]
    in_flight: tuple[CallId, ...] = ()


@dataclass(frozen=True, slots=True)
class AskConsent:
    """Ask a person whether this call may run; one call at a time, so that a yes is never ambiguous."""

    call: CallRecord


@dataclass(frozen=True, slots=True)
class WaitForPerson:
    """The turn waits only for these questions; a question that got no answer ends the turn."""

    questions: tuple[QuestionId, ...]


@dataclass(frozen=True, slots=True)
class Finish:
    """End the turn as done or failed."""

    state: TurnState
    reply: str = ""
    """The model's words that the person is owed; a failed turn may have only some."""
    reason: FinishReason | None = None
    words: str = ""
    """For the person, when the turn failed."""
    problem: Problem | None = None


NextStep = CallModel | RunTools | Settle | AskConsent | WaitForPerson | Finish


def next_step(view: View, journal: Journal, gate: Gate = OPEN_GATE) -> NextStep:
    """Say what the journal's turn does next; total, and the same for the same record and rules."""
    undecided = tuple(
        question.id
        for question in journal.questions
        if question.kind is QuestionKind.CONTINUE and question.state is QuestionState.OPEN
    )
    if undecided:
        return WaitForPerson(undecided)
    if view.turn != journal.turn:
        return _failed(FinishReason.NOTHING_TO_ANSWER)
    problem = _damage(view, journal)
    if problem:
        return _failed(FinishReason.DAMAGED_TRANSCRIPT, problem=problem)
    if view.unpaired:
        return _on_calls(view, journal, gate)
    if view.tail in (Tail.ANSWER, Tail.PARTIAL):
        return _on_reply(view, view.replies[-1])
    return _call_model(view)


def gave_up(reason: FinishReason, because: str = "") -> Finish:
    """The end of a turn that cannot go on for a reason outside its transcript, in words for the person."""
    return Finish(TurnState.FAILED, reason=reason, words=_with(_WORDS[reason], because))


def reply_text(view: View) -> str:
    """What the person is owed: the last reply, with the parts it continues; empty while work goes on."""
    if view.tail not in (Tail.ANSWER, Tail.PARTIAL):
        return ""
    return "".join(reply.text for reply in view.replies)


def tail_of(what: View | Sequence[Entry], journal: Journal) -> Tail:
    """Say how the transcript of the journal's turn ends, for the turn's row."""
    seen = what if isinstance(what, View) else view(what)
    if seen.turn != journal.turn:
        return Tail.NOTHING
    if not seen.unpaired:
        return seen.tail
    calls, questions = _by_id(journal), _newest_questions(journal)
    only_asks = all(_only_asks(calls.get(call), questions.get(call)) for call in seen.unpaired)
    return Tail.QUESTION if only_asks else seen.tail


def _only_asks(call: CallRecord | None, question: QuestionRecord | None) -> bool:
    """Whether the call waits only for a question that has no answer."""
    if call is None or question is None or call.state in SETTLED:
        return False
    if question.state is QuestionState.OPEN:
        return True
    silent = question.state in SILENT
    return silent and (question.kind is QuestionKind.CLARIFY or call.state is CallState.PLANNED)


def _call_model(view: View) -> NextStep:
    if view.tail is Tail.NOTHING or not view.messages:
        return _failed(FinishReason.NOTHING_TO_ANSWER)
    return CallModel()


def _on_reply(view: View, reply: Replied) -> NextStep:
    text = reply_text(view)
    if view.tail is Tail.ANSWER:
        return Finish(TurnState.DONE, reply=text)
    if reply.finish is Marker.FILTERED:
        return _failed(FinishReason.FILTERED, text)
    if reply.finish is Marker.COMPLETE:
        return _failed(FinishReason.EMPTY_REPLY, text)
    if view.cuts >= CUT_OFF_LIMIT:
        return _failed(FinishReason.CUT_OFF, text)
    return _call_model(view)


def _on_calls(view: View, journal: Journal, gate: Gate) -> NextStep:
    calls, questions = _by_id(journal), _newest_questions(journal)
    whole = view.replies[-1].finish in (Marker.CALLS, Marker.COMPLETE)
    verdicts = [
        judge_call(calls[call], questions.get(call), journal.generation, whole=whole, gate=gate)
        for call in view.unpaired
    ]
    settlements = tuple(verdict for verdict in verdicts if isinstance(verdict, Settlement))
    if settlements:
        return Settle(settlements)
    awaited = tuple(verdict.question for verdict in verdicts if isinstance(verdict, Awaited))
    unasked = [verdict.call for verdict in verdicts if isinstance(verdict, NeedsConsent)]
    if unasked and not awaited:
        return AskConsent(unasked[0])
    to_run = tuple(verdict for verdict in verdicts if isinstance(verdict, ToRun))
    in_flight = tuple(verdict.call for verdict in verdicts if isinstance(verdict, InFlight))
    if to_run or in_flight:
        return RunTools(to_run, in_flight)
    return WaitForPerson(awaited)


def _by_id(journal: Journal) -> Mapping[CallId, CallRecord]:
    return {call.id: call for call in journal.calls}


def _newest_questions(journal: Journal) -> Mapping[CallId, QuestionRecord]:
    """The question that counts for each call: an open one, else the last one."""
    found: dict[CallId, QuestionRecord] = {}
    for question in journal.questions:
        if question.call is None or question.kind is QuestionKind.CONTINUE:
            continue
        earlier = found.get(question.call)
        if earlier is None or earlier.state is not QuestionState.OPEN:
            found[question.call] = question
    return found


def _damage(view: View, journal: Journal) -> Problem | None:
    """The first problem that affects the open turn, in the transcript or between it and the journal."""
    problem = next((problem for problem in view.problems if problem.open_turn), None)
    return problem or next(_disagreements(view, journal), None)


def _disagreements(view: View, journal: Journal) -> Iterator[Problem]:
    journaled = {call.id for call in journal.calls}
    unpaired = frozenset(view.unpaired)
    if len(journaled) != len(journal.calls):
        yield _in_journal(ProblemKind.DUPLICATE_CALL, "the journal has a call twice")
    for missing in sorted(view.asked - journaled):
        yield _in_journal(ProblemKind.CALL_NOT_JOURNALED, f"call {missing} is not in the journal")
    for call in journal.calls:
        settled = call.state in SETTLED
        if call.id not in view.asked:
            words = f"the journal has call {call.id}, which no message asked for"
            yield _in_journal(ProblemKind.JOURNALED_CALL_NOT_SAID, words)
        elif settled and call.id in unpaired:
            words = f"call {call.id} is journaled as {call.state}, and its result is missing"
            yield _in_journal(ProblemKind.SETTLED_WITHOUT_RESULT, words)
        elif not settled and call.id not in unpaired:
            words = f"call {call.id} is journaled as {call.state} although it has a result"
            yield _in_journal(ProblemKind.RESULT_NOT_JOURNALED, words)


def _in_journal(kind: ProblemKind, words: str) -> Problem:
    return Problem(kind, seq=0, words=words, open_turn=True)


def _failed(reason: FinishReason, reply: str = "", problem: Problem | None = None) -> Finish:
    words = _with(_WORDS[reason], problem.words if problem else "")
    return Finish(TurnState.FAILED, reply, reason, words, problem)


def _with(words: str, because: str) -> str:
    return f"{words} ({because})" if because else words
