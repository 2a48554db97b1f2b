"""Rules about questions to people: answered once, in time, and a call runs only with a yes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

from holdfast.model.states import SILENT
from holdfast.testing.observation.history import History
from holdfast.testing.scripts import ASKS

_OF_THE_MODEL = ("approval", "clarify")


def r7_consent_first(history: History) -> Iterator[str]:
    """R7.3: a call that needs consent begins only after a recent yes to exactly this call, or under a rule.

    The rule belongs to the chat where the call runs, covers the call, came from an owner and is not revoked.
    """
    for ran in history.ran:
        if ran.what == "begun" and not ran.consented:
            yield f"{ran.tool} {ran.key} began with {ran.arguments}, but no person had allowed it"
    calls = {f"{call.turn}:{call.id}": call for call in history.ledger.calls}
    for question in history.ledger.questions:
        call = calls.get(f"{question.turn}:{question.call}")
        allowed = question.state == "answered" and question.answer in ("yes", "always", None)
        if question.kind == "approval" and not allowed and call is not None and call.state == "done":
            yield f"{call.name} {question.turn}:{question.call} is done, but its consent is {question.state}"
    for rule in history.ledger.rules:
        if rule.by not in history.owners:
            yield f"rule {rule.id} was given by {rule.by}, who is not an owner"
        if not rule.answers:
            yield f"rule {rule.id} exists, but no person has said always"


def r13_questions(history: History) -> Iterator[str]:
    """R13: one message answers a question while it is open, and the model gets exactly that answer."""
    answering = Counter(row.question for row in history.ledger.inbox if row.state == "answered")
    for question in history.ledger.questions:
        answers = answering[question.id]
        if question.kind in _OF_THE_MODEL and answers != (question.state == "answered"):
            yield f"question {question.id} is {question.state}, but has {answers} answers"
    for answered in history.answers:
        if answered.late > 0:
            yield f"question {answered.question} was answered {answered.late} ms after it expired"
    yield from _passed_on(history)
    yield from _unanswered(history)


def _unanswered(history: History) -> Iterator[str]:
    """A question of the model without an answer ends its turn: the model writes nothing more in it."""
    ledger = history.ledger
    turns = {turn.id: turn for turn in ledger.turns}
    wrote = {line.turn: line.seq for line in ledger.entries if line.kind == "replied"}
    results = {(line.turn, line.call): line.seq for line in ledger.entries if line.kind == "returned"}
    for question in ledger.questions:
        if question.kind != "clarify" or question.state not in SILENT:
            continue
        turn = turns[question.turn]
        if turn.state in ("done", "failed"):
            yield f"turn {turn.id} is {turn.state}, but its question {question.id} got no answer"
        result = results.get((turn.id, question.call))
        if result is not None and wrote.get(turn.id, 0) > result:
            yield f"the model went on in turn {turn.id} when its question {question.id} got no answer"


def _passed_on(history: History) -> Iterator[str]:
    asked = {(one.turn, one.call): one for one in history.ledger.questions if one.kind == "clarify"}
    names = {(call.turn, call.id): call.name for call in history.ledger.calls}
    for line in history.ledger.entries:
        call = (line.turn, line.call or "")
        if line.kind != "returned" or not line.body or names.get(call) != ASKS:
            continue
        told = json.loads(line.body)
        question = asked.get(call)
        if told["state"] == "done" and (question is None or question.state != "answered"):
            yield f"the model was told {told['text']!r} of {':'.join(call)}, but no person has answered"
        elif told["state"] == "done" and question and question.answer not in (None, told["text"]):
            yield f"the model was told {told['text']!r}, but the answer was {question.answer!r}"
