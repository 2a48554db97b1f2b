"""The loop over `next_step`, driven by chance: what a model says, what people do, when the process dies."""

from collections import Counter
from dataclasses import dataclass, field, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.model import (
    CALL,
    Body,
    CallId,
    CallRecord,
    CallState,
    EffectClass,
    Entry,
    Journal,
    NoteKind,
    QuestionId,
    QuestionKind,
    QuestionRecord,
    QuestionState,
    Replied,
    Returned,
    StopReason,
    Tail,
    ToolCall,
    TurnId,
    advance,
)
from holdfast.policy.consent.argument_text import call_hash
from holdfast.policy.turn.calls import How, Settlement
from holdfast.policy.turn.steps import (
    CallModel,
    NextStep,
    RunTools,
    Settle,
    WaitForPerson,
    next_step,
    tail_of,
)
from holdfast.policy.turn.steps import Finish as End
from holdfast.policy.turn.views import Role, view
from tests.support.transcripts import breaches, noted, said

TURN = TurnId("t1")


class Killed(Exception):
    """The process died here."""


@dataclass
class Tool:
    """What the model will ask for."""

    effect: EffectClass
    needs_consent: bool
    clarifies: bool


@dataclass
class Ledger:
    """What survives a kill. Each method is one commit."""

    entries: list[Entry] = field(default_factory=list)
    calls: dict[CallId, CallRecord] = field(default_factory=dict)
    questions: dict[QuestionId, QuestionRecord] = field(default_factory=dict)
    generation: int = 1
    interruptions: int = 0

    def journal(self) -> Journal:
        return Journal(TURN, self.generation, tuple(self.calls.values()), tuple(self.questions.values()))

    def append(self, body: Body) -> None:
        self.entries.append(Entry(len(self.entries) + 1, TURN, 0, body))

    def plan(self, reply: Replied, tools: dict[CallId, Tool]) -> None:
        self.append(reply)
        for call in reply.calls:
            effect = tools[call.id].effect
            self.calls[call.id] = CallRecord(
                call.id, call.name, call.arguments, effect, f"key-{call.id}", CallState.PLANNED
            )

    def start(self, call: CallId) -> None:
        row = self.calls[call]
        if row.state is not CallState.STARTED:
            advance(CALL, row.state, CallState.STARTED)
        self.calls[call] = replace(row, state=CallState.STARTED, generation=self.generation)

    def settle(self, call: CallId, state: CallState, text: str) -> None:
        advance(CALL, self.calls[call].state, state)
        self.calls[call] = replace(self.calls[call], state=state)
        self.append(Returned(call, state, text))

    def ask(self, call: CallId, kind: QuestionKind) -> None:
        id = QuestionId(f"q{len(self.questions)}")
        row = self.calls[call]
        of = call_hash(row.name, row.arguments) if kind is QuestionKind.APPROVAL else None
        self.questions[id] = QuestionRecord(id, kind, call, QuestionState.OPEN, call_hash=of)


class Gateway:
    """Runs one turn over a ledger. Chance decides what the model says, what people do and when it dies."""

    def __init__(self, data: st.DataObject) -> None:
        self.draw = draw = data.draw
        self.ledger = Ledger()
        self.ledger.append(said("do it"))
        self.runs: Counter[CallId] = Counter()
        self.tools: dict[CallId, Tool] = {}
        self.in_memory: list[CallId] = []
        self.kills = draw(st.integers(0, 4))
        self.replies = draw(st.integers(0, 4))
        self.steers = draw(st.integers(0, 2))

    def danger(self) -> None:
        """A place where the process may die."""
        if self.kills and self.draw(st.integers(0, 3)) == 0:
            self.kills -= 1
            raise Killed

    def live(self) -> End:
        """Drive the turn to its end, however often the process dies."""
        for _ in range(400):
            seen = view(self.ledger.entries)
            assert seen.problems == ()
            assert list(breaches(seen.messages)) == []
            step = next_step(seen, self.ledger.journal())
            if isinstance(step, End):
                return step
            try:
                self.carry_out(step)
            except Killed:
                self.rise()
        raise AssertionError("the turn never ends")

    def rise(self) -> None:
        self.in_memory.clear()
        self.ledger.generation += 1
        self.ledger.interruptions += 1
        tail = tail_of(self.ledger.entries, self.ledger.journal())
        if tail not in (Tail.QUESTION, Tail.ANSWER) and not view(self.ledger.entries).unpaired:
            self.ledger.append(noted(NoteKind.INTERRUPTED, self.ledger.interruptions))

    def carry_out(self, step: NextStep) -> None:
        self.danger()
        match step:
            case CallModel():
                assert view(self.ledger.entries).messages[-1].role is not Role.ASSISTANT
                reply = self.model()
                self.danger()
                self.ledger.plan(reply, self.tools)
            case Settle(settlements):
                for one in settlements:
                    self.ledger.settle(one.call, *self.outcome(one))
                    self.danger()
            case RunTools():
                self.run(step)
            case WaitForPerson(questions):
                self.close(questions)
        if self.steers and self.draw(st.booleans()):
            self.steers -= 1
            self.ledger.append(said("by the way"))

    def model(self) -> Replied:
        if not self.replies:
            return Replied("all done", StopReason.COMPLETE)
        self.replies -= 1
        finish = self.draw(st.sampled_from([StopReason.CALLS] * 3 + [StopReason.CUT, StopReason.LENGTH]))
        count = self.draw(st.integers(1 if finish is StopReason.CALLS else 0, 3))
        ids = [CallId(f"c{len(self.tools) + number}") for number in range(count)]
        for id in ids:
            kind = self.draw(st.sampled_from(["plain", "plain", "consent", "clarify"]))
            effect = self.draw(st.sampled_from(EffectClass))
            self.tools[id] = Tool(effect, kind == "consent", kind == "clarify")
        return Replied("hm", finish, tuple(ToolCall(id, f"tool_{id}", "{}") for id in ids))

    def run(self, step: RunTools) -> None:
        assert set(step.in_flight) == set(self.in_memory), "in flight is what this process runs"
        asked = {question.call for question in self.ledger.questions.values()}
        for to_run in step.calls:
            call = to_run.call.id
            if self.tools[call].needs_consent and call not in asked:
                self.ledger.ask(call, QuestionKind.APPROVAL)
                continue
            self.ledger.start(call)
            self.in_memory.append(call)
            self.danger()
        if self.in_memory:
            self.run_one(self.in_memory.pop(self.draw(st.integers(0, len(self.in_memory) - 1))))

    def run_one(self, call: CallId) -> None:
        self.runs[call] += 1
        self.danger()
        if self.tools[call].clarifies:
            self.ledger.ask(call, QuestionKind.CLARIFY)
        else:
            self.ledger.settle(call, self.draw(st.sampled_from([CallState.DONE, CallState.FAILED])), "ran")

    def outcome(self, one: Settlement) -> tuple[CallState, str]:
        if one.how is How.ASK_TOOL and self.draw(st.booleans()):
            return CallState.DONE, "it did happen"
        return one.state, one.text

    def close(self, questions: tuple[QuestionId, ...]) -> None:
        closing = self.draw(
            st.sampled_from([state for state in QuestionState if state is not QuestionState.OPEN])
        )
        answer = self.draw(st.sampled_from(["yes", "no"])) if closing is QuestionState.ANSWERED else None
        found = self.ledger.questions[questions[0]]
        self.ledger.questions[found.id] = replace(found, state=closing, answer=answer)
        if closing is QuestionState.SET_ASIDE:
            self.ledger.append(said("something else"))


@settings(max_examples=400)
@given(st.data())
def test_a_turn_ends_and_each_call_has_one_result_however_often_the_process_dies(data: st.DataObject) -> None:
    gateway = Gateway(data)
    end = gateway.live()
    ledger = gateway.ledger
    assert end.problem is None
    results = Counter(entry.body.call for entry in ledger.entries if isinstance(entry.body, Returned))
    assert results == Counter(ledger.calls.keys())
    assert all(row.state in CALL.finals for row in ledger.calls.values())
    for call in ledger.calls:
        tool = gateway.tools[call]
        if tool.effect in (EffectClass.EFFECT, EffectClass.RECONCILABLE):
            assert gateway.runs[call] <= 1
        if ledger.calls[call].state is CallState.SKIPPED:
            assert gateway.runs[call] == 0
        if tool.needs_consent and gateway.runs[call]:
            assert any(q.call == call and q.answer == "yes" for q in ledger.questions.values())
    # A fresh process that looks at the finished turn comes to the same end.
    again = replace(ledger.journal(), generation=ledger.generation + 1)
    assert next_step(view(ledger.entries), again) == end
