"""Replies that were cut off, judged: what people saw is kept, and what has effects is not repeated."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence

from holdfast.model import CallState, StopKind, StopReason, TurnId, TurnState, partial_key
from holdfast.policy.intake.admission import Refusal
from holdfast.policy.turn.partials import MOST_REPLY
from holdfast.testing.observation.history import History, TurnLine, Writing

RECORDED = 2.5
"""Seconds after which what was written is recorded: two, and a moment for the commit."""
_CUT = ("cut", "died")
_ENDED_WITHOUT = (TurnState.CANCELLED, TurnState.FAILED, TurnState.EXPIRED, TurnState.PARKED)
_BY_ITS_OWNER = frozenset({*StopKind, "no_progress"})
"""Why a turn ended that its own run has ended."""
_FOR_NOBODY = frozenset({StopKind.FORGET, Refusal.NOT_ALLOWED})
"""Why a turn ended of which the chat is given nothing more."""
_LATE = frozenset({"disk_full", "sync_failed"})
"""Faults by which a commit may come later than it should."""


def seen_is_kept(history: History) -> Iterator[str]:
    """R24.3: what a turn without an answer had written of one stands in its transcript and its chat."""
    ledger = history.ledger
    erased = {line.turn for line in ledger.entries if line.body is None}
    replies = defaultdict(list)
    for line in ledger.entries:
        if line.kind == "replied" and line.body:
            replies[line.turn].append(json.loads(line.body))
    owed = {line.dedupe for line in ledger.outbox}
    written = _by_turn(history.writings)
    for turn in ledger.turns:
        if turn.state not in _ENDED_WITHOUT or turn.id in erased:
            continue
        # Only what people may see is recorded while it is written.
        is_recorded = turn.key.partition("/")[0] in history.editing and not _LATE & history.troubles
        text = _to_keep(written[turn.id], turn, is_recorded)
        if text and not any(reply["text"].startswith(text) for reply in replies[turn.id]):
            yield f"turn {turn.id} ({turn.why}) had written {text[:60]!r}, which its transcript lacks"
        if text.strip() and turn.why not in _FOR_NOBODY and partial_key(TurnId(turn.id)) not in owed:
            yield f"turn {turn.id} ({turn.why}) had written {text[:60]!r}, and its chat was not given it"
    yield from _final(history)


def _final(history: History) -> Iterator[str]:
    """A reply that was stopped ends no turn as done."""
    last = {line.turn: line for line in history.ledger.entries if line.kind == "replied" and line.body}
    for turn in history.ledger.turns:
        line = last.get(turn.id)
        if (
            turn.state == TurnState.DONE
            and line
            and json.loads(line.body or "{}")["finish"] == StopReason.STOPPED
        ):
            yield f"turn {turn.id} is done by a reply that was stopped"


def _by_turn(writings: Sequence[Writing]) -> dict[str, list[Writing]]:
    found: dict[str, list[Writing]] = defaultdict(list)
    for one in writings:
        found[one.turn].append(one)
    return found


def _to_keep(writings: Sequence[Writing], turn: TurnLine, is_recorded: bool) -> str:
    """What the transcript must hold of the reply that was written last, if that was cut off.

    All of it if its own run has ended the turn; else what was recorded by then, if it was.
    """
    last = next((one for one in reversed(writings) if one.shown or one.how not in _CUT), None)
    if last is None or last.how not in _CUT or last.ended_at is None:
        return ""
    # A turn that was interrupted first was ended later, by others.
    ended = turn.why in _BY_ITS_OWNER and turn.interruptions == last.interruptions
    whole = ended and last.how == "cut"
    if not (whole or is_recorded):
        return ""
    until = last.ended_at if whole else last.ended_at - RECORDED
    return next((text for at, text in reversed(last.shown) if at <= until), "")[:MOST_REPLY]


def effects_inside_once(history: History) -> Iterator[str]:
    """R7.2 of a reply with effects of its own: cut off, it is not asked for again, and its person is told."""
    told = {line.dedupe.rpartition(":")[0] for line in history.ledger.outbox}
    for turn, writings in _by_turn(history.writings).items():
        for before, after in zip(writings, writings[1:], strict=False):
            if before.effects and before.how in _CUT:
                yield f"a reply of turn {turn} with effects was cut off, and was asked for again: {after.how}"
    for line in history.ledger.turns:
        unknown = line.state == TurnState.EXPIRED and line.why == "reply_unknown"
        if unknown and f"reply_unknown:{line.id}" not in told:
            yield f"turn {line.id} ended as {CallState.UNKNOWN}, and its person was not told"
