"""Reading a transcript: its order, its pairs of calls and results, and the state of its last turn.

A summary changes what a model is shown, never the state of a turn, so nothing here reads summaries.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from holdfast.model import (
    CALL,
    RESUME_NOTES,
    CallId,
    Entry,
    Noted,
    Replied,
    Returned,
    Said,
    StopReason,
    Summed,
    Tail,
    TurnId,
)
from holdfast.records import dataclass

from .markers import MARKERS
from .problems import ProblemKind

SETTLED = CALL.finals

Found = tuple[ProblemKind, Entry, str]
"""A problem, the entry where it was found, and words for people."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """Which result belongs to which call."""

    results: Mapping[tuple[int, CallId], Returned]
    """By the place of the reply that made the call, because call ids repeat from turn to turn."""
    unpaired: tuple[CallId, ...]
    """Calls of the open turn's last reply that have no result yet."""
    waiting: int | None
    """The place of that reply, if it has such calls."""
    asked: frozenset[CallId]
    """Every call of the open turn."""


@dataclass(frozen=True, slots=True)
class OpenTurn:
    """The state of the open turn."""

    tail: Tail
    replies: tuple[Replied, ...]
    """Its last reply, after the replies that it continues."""
    cuts: int
    """How many of these broke off in a row since the turn was last resumed."""


def in_order(entries: Sequence[Entry]) -> tuple[Sequence[Entry], list[Found]]:
    """Return the entries by place, each place once, with the problems of their order."""
    if all(after.seq > before.seq for before, after in pairwise(entries)):
        return entries, []
    found: list[Found] = [
        (ProblemKind.OUT_OF_ORDER, after, f"entry {after.seq} comes after entry {before.seq}")
        for before, after in pairwise(entries)
        if after.seq < before.seq
    ]
    kept: list[Entry] = []
    for entry in sorted(entries, key=lambda entry: entry.seq):
        if kept and kept[-1].seq == entry.seq:
            found.append((ProblemKind.DUPLICATE_SEQ, entry, f"entry {entry.seq} is there twice"))
        else:
            kept.append(entry)
    return kept, found


def gaps(entries: Sequence[Entry]) -> Iterator[tuple[Entry, int, int]]:
    """Yield each entry that follows missing ones, with the first and the last missing place."""
    for before, after in pairwise(entries):
        if after.seq != before.seq + 1:
            yield after, before.seq + 1, after.seq - 1


def open_turn(entries: Sequence[Entry]) -> TurnId | None:
    """The last turn of the transcript. A summary does not count: it belongs to no turn."""
    return next((entry.turn for entry in reversed(entries) if not isinstance(entry.body, Summed)), None)


def last_reply(entries: Sequence[Entry], undone: frozenset[int], turn: TurnId | None) -> Entry | None:
    """The open turn's last reply that was not undone."""
    for entry in reversed(entries):
        if entry.turn == turn and isinstance(entry.body, Replied) and entry.seq not in undone:
            return entry
    return None


def pair(entries: Sequence[Entry], undone: frozenset[int], turn: TurnId | None) -> tuple[Pairs, list[Found]]:
    """Pair calls and results as recorded; only calls of the open turn's last reply may lack a result."""
    found: list[Found] = []
    caller: dict[tuple[TurnId, CallId], int] = {}
    results: dict[tuple[int, CallId], Returned] = {}
    callers: list[tuple[Entry, Replied]] = []
    for entry in entries:
        body = entry.body
        if isinstance(body, Replied):
            callers.append((entry, body))
            found += _register(entry, body, caller)
        elif isinstance(body, Returned):
            found += _attach(entry, body, caller, results, undone)
    last = last_reply(entries, undone, turn)
    unpaired: tuple[CallId, ...] = ()
    for entry, reply in callers:
        wanted = dict.fromkeys(call.id for call in reply.calls)
        missing = tuple(call for call in wanted if (entry.seq, call) not in results)
        if entry is last:
            unpaired = missing
        elif missing and entry.seq not in undone:
            words = f"call {missing[0]} of entry {entry.seq} has no result, and the conversation went on"
            found.append((ProblemKind.CALL_WITHOUT_RESULT, entry, words))
    asked = frozenset(call for its_turn, call in caller if its_turn == turn)
    waiting = last.seq if last and unpaired else None
    return Pairs(results, unpaired, waiting, asked), found


def _register(entry: Entry, body: Replied, caller: dict[tuple[TurnId, CallId], int]) -> Iterator[Found]:
    for call in body.calls:
        if (entry.turn, call.id) in caller:
            yield ProblemKind.DUPLICATE_CALL, entry, f"entry {entry.seq} uses call id {call.id} again"
        caller[entry.turn, call.id] = entry.seq


def _attach(
    entry: Entry,
    body: Returned,
    caller: Mapping[tuple[TurnId, CallId], int],
    results: dict[tuple[int, CallId], Returned],
    undone: frozenset[int],
) -> Iterator[Found]:
    seq = caller.get((entry.turn, body.call))
    if seq is None and entry.seq in undone:
        return  # Its call may have been erased; no view shows either of them.
    if seq is None:
        yield ProblemKind.RESULT_WITHOUT_CALL, entry, f"entry {entry.seq} is the result of no call"
    elif (seq, body.call) in results:
        yield ProblemKind.SECOND_RESULT, entry, f"entry {entry.seq} is a second result of call {body.call}"
    else:
        results[seq, body.call] = body
        if body.state not in SETTLED:
            yield ProblemKind.UNSETTLED_RESULT, entry, f"the result at entry {entry.seq} says {body.state}"


def broke_off(reply: Replied) -> bool:
    """Whether the model stopped in the middle of a text, so that it can go on from there."""
    return not reply.calls and reply.finish not in (
        StopReason.COMPLETE,
        StopReason.FILTERED,
        StopReason.STOPPED,
    )


def is_answer(reply: Replied) -> bool:
    """Whether this is a final answer: text, no calls, and a marker that means complete."""
    return reply.finish is StopReason.COMPLETE and not reply.calls and bool(reply.text.strip())


def goes_on(earlier: Replied, last: Replied) -> bool:
    """Whether the last reply continues an earlier one; a reply with calls never continues a text."""
    return broke_off(earlier) and not last.calls


def read_open_turn(
    entries: Sequence[Entry], undone: frozenset[int], turn: TurnId | None, pairs: Pairs
) -> OpenTurn:
    """Read the state of the open turn from the end of the transcript."""
    tail = Tail.WORK if pairs.unpaired else _tail(entries, undone, turn)
    last = last_reply(entries, undone, turn)
    if last is None:
        return OpenTurn(tail, (), 0)
    replies, cuts = _continued(entries, undone, last)
    return OpenTurn(tail, replies, cuts)


def _backwards(entries: Sequence[Entry], undone: frozenset[int]) -> Iterator[Entry]:
    for entry in reversed(entries):
        if entry.seq not in undone and not isinstance(entry.body, MARKERS):
            yield entry


def _tail(entries: Sequence[Entry], undone: frozenset[int], turn: TurnId | None) -> Tail:
    noted = Tail.NOTHING
    for entry in _backwards(entries, undone):
        match entry.body:
            case Noted(note=kind) if entry.turn == turn:
                # A resume note is a state of the turn; any other note alone counts like a message.
                if kind in RESUME_NOTES:
                    noted = Tail.NOTE
                elif noted is Tail.NOTHING:
                    noted = Tail.MESSAGE
            case Replied() as reply:
                return _after_reply(reply, noted) if entry.turn == turn else noted
            case Said():
                return Tail.NOTE if noted is Tail.NOTE else Tail.MESSAGE
            case Returned():
                return Tail.NOTE if noted is Tail.NOTE else Tail.WORK
    return noted


def _after_reply(reply: Replied, noted: Tail) -> Tail:
    if is_answer(reply):
        return Tail.ANSWER  # notes after it do not matter: finished work is never done again
    if noted is Tail.NOTE:
        return noted
    return Tail.WORK if reply.calls else Tail.PARTIAL


def ends_in_results(entries: Sequence[Entry]) -> bool:
    """Whether the entries of a turn end in tool results that no reply has used.

    Notes and messages after them change nothing, and an empty reply uses nothing.
    """
    for entry in reversed(entries):
        match entry.body:
            case Returned():
                return True
            case Replied(text=text, calls=calls) if calls or text.strip():
                return False
    return False


def _continued(
    entries: Sequence[Entry], undone: frozenset[int], last: Entry
) -> tuple[tuple[Replied, ...], int]:
    """The last reply after the replies that it continues, and how many broke off since a resume."""
    replies: list[Replied] = []
    cuts, counting = 0, True
    for entry in _backwards(entries, undone):
        body = entry.body
        if entry.seq > last.seq or (isinstance(body, Noted) and body.note not in RESUME_NOTES):
            continue
        if isinstance(body, Noted):
            # A reply that a restart cut is not the model's fault, and interruptions have their own limit.
            counting = False
        elif isinstance(body, Replied) and (
            not replies or (entry.turn == last.turn and goes_on(body, replies[0]))
        ):
            replies.append(body)
            counting = counting and broke_off(body)
            cuts += counting
        else:
            break
    return tuple(reversed(replies)), cuts
