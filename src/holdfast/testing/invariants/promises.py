"""Promises that a valid ledger can still break: work that ends, stays or is forgotten without a request."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator

from holdfast.model import StopKind, TurnId, TurnState, answer_key
from holdfast.policy.intake.admission import Refusal
from holdfast.policy.recovery.notes import Dropped
from holdfast.policy.turn.views import Role
from holdfast.testing.observation.history import History

_ASKED_FOR = frozenset({*StopKind, *Dropped, Refusal.NOT_ALLOWED, "stop_asked"})
_ENDS_SESSIONS = ("/new", "/forget", "/resume")
_BY_ITS_SENDER = "withdrawn by its sender"


def cancelled_by_somebody(history: History) -> Iterator[str]:
    """A turn is cancelled only because a person stopped it, dropped it, or may not ask any more."""
    for turn in history.ledger.turns:
        if turn.state == TurnState.CANCELLED and turn.why not in _ASKED_FOR:
            yield f"turn {turn.id} is cancelled ({turn.why}), but no person asked for that"


def failures_are_told(history: History) -> Iterator[str]:
    """A person whose work failed is told so."""
    told = {line.dedupe for line in history.ledger.outbox}
    for turn in history.ledger.turns:
        if turn.state == TurnState.FAILED and answer_key(TurnId(turn.id)) not in told:
            yield f"turn {turn.id} failed ({turn.why}), and its person was not told"


def answers_are_remembered(history: History) -> Iterator[str]:
    """The answer of a done turn is in its transcript."""
    ledger = history.ledger
    replies = {line.turn for line in ledger.entries if line.kind == "replied"}
    erased = {row.position for row in ledger.inbox if not row.text}
    for turn in ledger.turns:
        if turn.state == TurnState.DONE and turn.id not in replies and turn.cause not in erased:
            yield f"turn {turn.id} is done, but its transcript has no reply"


def acknowledged_is_not_dropped(history: History) -> Iterator[str]:
    """A message that people know is kept is not dropped later, unless they withdraw or erase it."""
    told = {shown.key.partition("/")[0] for shown in history.shown}
    for row in history.ledger.inbox:
        by_them = row.reason == _BY_ITS_SENDER or not row.text
        if row.state == "dropped" and not by_them and f"ack:{row.position}" in told:
            yield f"inbox row {row.position} ({row.text}) was acknowledged and then dropped: {row.reason}"


def shown_to_a_model_is_kept(history: History) -> Iterator[str]:
    """A result that a model has seen is the one in the ledger, whatever crashed since."""
    ledger = history.ledger
    sessions = {turn.id: turn.session for turn in ledger.turns}
    results = {
        (line.session, line.call): json.loads(line.body)["text"]
        for line in ledger.entries
        if line.kind == "returned" and line.body
    }
    for asked in history.asked:
        for message in asked.messages:
            kept = results.get((sessions.get(asked.turn, ""), message.call), message.text)
            if message.role is Role.TOOL and not _is_of(message.text, kept):
                yield f"the model has seen {message.text!r} of {message.call}, but the ledger has {kept!r}"


def _is_of(text: str, kept: str) -> bool:
    """Whether this is the kept text or both ends of it: the model may see a long text shortened."""
    head, cut, rest = text.partition("\n[")
    tail = rest.rpartition("]\n")[2]
    shortened = bool(cut) and len(text) < len(kept)
    return text == kept or (shortened and kept.startswith(head) and kept.endswith(tail))


def r1_sessions_last(history: History) -> Iterator[str]:
    """A conversation has one session, and one more for each that people ended and each that was parked."""
    ledger = history.ledger
    sessions: dict[str, set[str]] = defaultdict(set)
    may_end = Counter[str]()
    for turn in ledger.turns:
        sessions[turn.key].add(turn.session)
        may_end[turn.key] += turn.state == TurnState.PARKED
    said = {(event.account, event.event_id): event.text for event in history.events}
    for row in ledger.inbox:
        may_end[row.key] += said.get((row.account, row.event_id), "").startswith(_ENDS_SESSIONS)
    for key, found in sessions.items():
        if len(found) > 1 + may_end[key]:
            yield f"{key} has had {len(found)} sessions, but {may_end[key]} reasons to end one"
