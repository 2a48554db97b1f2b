"""Reasons that have to be true: what is turned away, left, ended or given up was so for what it says."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from holdfast.model import BusyMode, StopKind, TurnState
from holdfast.policy.intake.admission import Refusal
from holdfast.policy.recovery.notes import Dropped
from holdfast.policy.settings import RecoverySettings
from holdfast.testing.marks import STRANGER
from holdfast.testing.observation.history import History, PlatformEvent

_RECOVERY = RecoverySettings()
_WITHDRAWN = "withdrawn by its sender"
_GONE = ("the chat is gone", "Forbidden: bot was blocked")
_SPOKEN_OF = ("line:", "working:")
"""Nobody misses these: no line takes their place."""


def turned_away_for_a_reason(history: History) -> Iterator[str]:
    """Who is refused was not allowed at some time; what is offered was late; an answer is to a question."""
    events = _events(history)
    for account, event_id in history.ledger.refused:
        event = events.get((account, event_id))
        if event is not None and event.chat != STRANGER and event.person not in history.barred:
            yield f"{account} {event_id} was refused, and {event.person} was always allowed"
    for row in history.ledger.inbox:
        event = events.get((row.account, row.event_id))
        if row.reason == Refusal.NOT_ALLOWED and event is not None and event.person not in history.barred:
            yield f"inbox row {row.position} ({row.text}) was refused, and {event.person} was always allowed"
        if row.state == "offered" and row.late <= history.windows.backlog:
            yield f"inbox row {row.position} ({row.text}) was only offered, and came {row.late} ms late"
        if row.state == "answered" and row.question is None:
            yield f"inbox row {row.position} ({row.text}) answers no question"
    yield from _withdrawn(history)


def _withdrawn(history: History) -> Iterator[str]:
    """What is withdrawn its sender took back, or ended the conversation it waited in."""
    events = _events(history)
    taken_back = {
        (one.account, one.chat) for one in history.events if one.kind == "revision" and not one.text
    }
    ended: dict[str, int] = {}
    for row in history.ledger.inbox:
        event = events.get((row.account, row.event_id))
        if event is not None and event.text.startswith(("/new", "/forget")):
            ended[row.key] = row.position
    for row in history.ledger.inbox:
        event = events.get((row.account, row.event_id))
        by_them = row.reason == _WITHDRAWN and event is not None and (row.account, event.chat) in taken_back
        if row.state == "withdrawn" and not by_them and ended.get(row.key, 0) < row.position:
            yield f"inbox row {row.position} ({row.text}) was withdrawn by nobody: {row.reason}"


def _events(history: History) -> dict[tuple[str, str], PlatformEvent]:
    return {(event.account, event.event_id): event for event in history.events}


def ended_for_a_reason(history: History) -> Iterator[str]:
    """A turn was failed, cancelled or overtaken by what there was for it."""
    events = _events(history)
    senders = {row.position: events.get((row.account, row.event_id)) for row in history.ledger.inbox}
    asked = {line.turn for line in history.ledger.outbox if line.kind == "question"}
    refusing = {asked.turn for asked in history.asked if asked.request.startswith("fail")}
    overtaking = history.busy == BusyMode.INTERRUPT or any(
        event.text.startswith(f"/queue {BusyMode.INTERRUPT}") for event in history.events
    )
    for turn in history.ledger.turns:
        cause = senders.get(turn.cause)
        if turn.why == StopKind.INTERRUPT and not overtaking:
            yield f"turn {turn.id} was overtaken where messages wait"
        if turn.why == Refusal.NOT_ALLOWED and cause is not None and cause.person not in history.barred:
            yield f"turn {turn.id} was cancelled, and {cause.person} was always allowed"
        if turn.why in tuple(Dropped) and turn.id not in asked:
            yield f"turn {turn.id} was dropped ({turn.why}), and nobody was asked"
        if turn.why == "model_failed" and turn.id not in refusing and "model_errors" not in history.troubles:
            yield f"turn {turn.id} failed, and no model did"


def parked_for_a_reason(history: History) -> Iterator[str]:
    """What is parked for its strikes was cut off three times in its session, for its interruptions eight.

    A session that follows a park began with two strikes: it is parked after one.
    """
    claims = Counter(claim.session for claim in history.claims)
    cut_off = Counter[str]()
    for turn in history.ledger.turns:
        cut_off[turn.session] += turn.interruptions
    parked = set[str]()
    for turn in sorted(history.ledger.turns, key=lambda one: one.id):
        ends = min(claims[turn.session], cut_off[turn.session])
        needed = 1 if turn.key in parked else _RECOVERY.strikes
        if turn.state == TurnState.PARKED:
            parked.add(turn.key)
        if turn.why == "too_many_strikes" and ends < needed:
            yield f"turn {turn.id} is parked for its strikes, and was cut off {ends} times"
        if turn.why == "too_many_interruptions" and turn.interruptions < _RECOVERY.interruptions:
            yield f"turn {turn.id} is parked after {turn.interruptions} interruptions"


def given_up_for_a_reason(history: History) -> Iterator[str]:
    """What is given up was tried or too old; in the place of a part of a reply stands a line that says so."""
    tried = {one.key for one in history.tried}
    chats = {(one.platform, one.chat) for one in history.tried}
    owed = {line.dedupe for line in history.ledger.outbox}
    for line in history.ledger.outbox:
        if line.state not in ("failed", "expired") or not line.text:
            continue
        reason, key = line.reason or "", f"{line.dedupe}/{line.part}"
        platform, _, chat = line.chat.split("/", 2)
        # A process that died right after its claim leaves a send of which the next one cannot know.
        untried = key not in tried and "may have arrived" not in reason
        if line.state == "failed" and untried and (platform, chat) not in chats:
            yield f"part {line.id} ({line.dedupe}) failed ({reason}) and nobody tried to send it"
        if line.state == "expired" and reason == "too_old" and line.age <= history.windows.delivery:
            yield f"part {line.id} ({line.dedupe}) expired after {line.age} ms"
        missed = (
            line.kind == "reply" and not line.dedupe.startswith(_SPOKEN_OF) and not reason.startswith(_GONE)
        )
        if missed and not {f"line:{key}", f"line:{line.dedupe}"} & owed:
            yield f"part {line.id} ({line.dedupe}) is {line.state} ({reason}) and no line says so"


def left_for_its_age(history: History) -> Iterator[str]:
    """Work that is left as too old is."""
    for left in history.left:
        if left.age <= history.windows.resume:
            yield f"turn {left.turn} was left as too old {left.age} ms after its last progress"


def _letters(text: str) -> str:
    """What is left of a text however it is set."""
    return "".join(filter(str.isalnum, text))


def sent_where_it_belongs(history: History) -> Iterator[str]:
    """People see the words that were owed, where they were owed; an answer goes where its cause was."""
    lines = {f"{line.dedupe}/{line.part}": line for line in history.ledger.outbox}
    for shown in history.shown:
        line = lines.get(shown.key)
        if line is None or not line.text:
            continue
        if line.chat != f"{shown.platform}/{line.chat.split('/')[1]}/{shown.chat}":
            yield f"{shown.key} is owed to {line.chat} and was shown in {shown.platform}/{shown.chat}"
        same = _letters if shown.platform in history.rendering else str
        if not line.dedupe.startswith("working:") and not same(shown.text).endswith(same(line.text)):
            yield f"{shown.key} is {line.text!r} and was shown as {shown.text!r}"
    events = {(event.account, event.event_id): event.chat for event in history.events}
    causes = {
        row.position: (row.account, events.get((row.account, row.event_id))) for row in history.ledger.inbox
    }
    where: dict[str, str] = defaultdict(str)
    for line in history.ledger.outbox:
        where[line.dedupe] = line.chat
    for turn in history.ledger.turns:
        account, chat = causes.get(turn.cause, ("", None))
        answered = where.get(f"answer:{turn.id}")
        if chat is not None and answered is not None and answered != f"{account}/{chat}":
            yield f"turn {turn.id} came from {account}/{chat} and is answered in {answered}"
