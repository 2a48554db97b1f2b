"""What a model is shown: a pure fold over the transcript, always in a form that providers accept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

from holdfast.model import (
    RESUME_NOTES,
    Attachment,
    Body,
    CallId,
    CallState,
    Entry,
    Noted,
    NoteKind,
    Replied,
    Said,
    StopReason,
    Summed,
    Tail,
    ToolCall,
    TurnId,
)
from holdfast.records import dataclass

from .markers import read_markers, visible_entries
from .problems import HARMLESS, Problem, ProblemKind
from .synthetic_results import unknown_text
from .transcript_reading import Found, Pairs, broke_off, gaps, in_order, open_turn, pair, read_open_turn

CUT_OFF_TEXT = (
    "[Your message broke off here. Go on exactly where it stopped: do not repeat what you already wrote, "
    "do not start again, do not mention this.]"
)
STOPPED_TEXT = (
    "[Your message was stopped here, before it was complete. The person has seen it up to this point.]"
)
NOT_SHOWN_TEXT = "[The message that was here is not shown.]"
BLANK_TEXT = "[empty message]"


class Role(StrEnum):
    """Who wrote a message, for a provider's adapter."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    NOTE = "note"
    """The gateway: a note, a wake-up, a summary, or a filler that providers need. Never a person's text."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message for a provider."""

    role: Role
    text: str
    calls: tuple[ToolCall, ...] = ()
    call: CallId | None = None
    """For a tool message: the call whose result it is."""
    state: CallState | None = None
    attachments: tuple[Attachment, ...] = ()
    opaque: str | None = None
    files: tuple[str, ...] = ()
    """The words for each attachment: what it is, where it is, and how it begins if it is text."""
    seq: int = 0
    """The place in the transcript of a message with attachments."""


@dataclass(frozen=True, slots=True)
class View:
    """What a model is shown, what is wrong with the record, and the state of its last turn.

    `messages` is valid for every provider, even if the record is damaged:
    - it is empty or begins with a user message or a note, and no assistant message follows another;
    - an assistant message is followed at once by one tool message per call, in the order of its calls,
      and there are no other tool messages; no call id is used twice;
    - it ends in something to answer whenever a model call is due.

    An assistant message is left out, with the results it has, while some of its calls lack a result
    (`unpaired`).
    """

    messages: tuple[Message, ...]
    problems: tuple[Problem, ...]
    turn: TurnId | None
    """The open turn: the last one of the transcript."""
    tail: Tail
    """How it ends, except `Tail.QUESTION`, which only the journal can tell."""
    unpaired: tuple[CallId, ...]
    asked: frozenset[CallId]
    """Every call the open turn has made."""
    replies: tuple[Replied, ...]
    """The open turn's last reply, even if it is not among `messages`, after the replies that it continues."""
    cuts: int
    """How many of these broke off in a row since the turn was last resumed."""


def view(entries: Sequence[Entry]) -> View:
    """Fold a transcript, or the entries of its last turn, into what a model is shown."""
    entries, found = in_order(entries)
    turn = open_turn(entries)
    markers = read_markers(entries)
    for entry, begin, end in gaps(entries):
        if not markers.stand_for(begin, end):
            words = f"entries {begin} to {end} are missing"
            found.append((ProblemKind.GAP, entry, words))
    found += [(fault.kind, fault.entry, fault.words) for fault in markers.faults]
    pairs, unfit = pair(entries, markers.undone, turn)
    last = read_open_turn(entries, markers.undone, turn, pairs)
    items, repeated = _newest_notes(visible_entries(entries, markers))
    writer = _Writer(pairs, turn)
    for item in items:
        writer.write(item)
    due = not pairs.unpaired and last.tail not in (Tail.ANSWER, Tail.NOTHING)
    return View(
        messages=writer.finish(due),
        problems=tuple(_problem(each, turn) for each in (*found, *unfit, *repeated)),
        turn=turn,
        tail=last.tail,
        unpaired=pairs.unpaired,
        asked=pairs.asked,
        replies=last.replies,
        cuts=last.cuts,
    )


def _problem(found: Found, turn: TurnId | None) -> Problem:
    kind, entry, words = found
    return Problem(kind, entry.seq, words, open_turn=entry.turn == turn and kind not in HARMLESS)


def _newest_notes(items: Iterable[Entry]) -> tuple[list[Entry], list[Found]]:
    """Leave out resume notes that the model never answered, once a newer one or another turn follows.

    Such a note is out of date by then: a model that read it would go on with old work.
    """
    kept: dict[int, Entry] = {}
    found: list[Found] = []
    unanswered: tuple[TurnId, int, int] | None = None
    """Turn, count and place of a note that no reply has followed yet."""
    seen: set[tuple[TurnId, int]] = set()
    for entry in items:
        body = entry.body
        if unanswered is not None and entry.turn != unanswered[0] and isinstance(body, (Noted, Said)):
            kept.pop(unanswered[2])
            unanswered = None
        if isinstance(body, Noted) and body.note in RESUME_NOTES:
            if (entry.turn, body.count) in seen:
                words = f"entry {entry.seq} notes interruption {body.count} again"
                found.append((ProblemKind.DUPLICATE_NOTE, entry, words))
                continue
            seen.add((entry.turn, body.count))
            if unanswered is not None:
                if body.count < unanswered[1]:
                    continue
                kept.pop(unanswered[2])
            unanswered = (entry.turn, body.count, entry.seq)
        elif not isinstance(body, (Noted, Said)) and not _is_blank(body):
            unanswered = None
        kept[entry.seq] = entry
    return list(kept.values()), found


class _Writer:
    """Writes messages one after the other and keeps every rule of `View`."""

    def __init__(self, pairs: Pairs, turn: TurnId | None) -> None:
        self._pairs = pairs
        self._turn = turn
        self._messages: list[Message] = []
        self._uses: dict[CallId, int] = {}
        self._cut: TurnId | None = None
        """The turn whose message broke off, while only notes came after it."""

    def write(self, entry: Entry) -> None:
        match entry.body:
            case Said(text=text, woken=True):
                # A background process or a goal caused it, so it is not shown as a person's message.
                self._cut = None
                self._note(text)
            case Said(text=text, attachments=attachments):
                blank = not text.strip() and not attachments
                self._cut = None
                seq = entry.seq if attachments else 0
                self._messages.append(
                    Message(Role.USER, BLANK_TEXT if blank else text, attachments=attachments, seq=seq)
                )
            case Replied() as reply:
                self._reply(entry, reply)
            case Noted(note=kind, text=text):
                if kind is NoteKind.CUT_OFF:
                    self._cut = None
                self._note(text)
            case Summed(text=text):
                self._cut = None
                self._note(text)
            case _:  # a result is written with its call
                pass

    def finish(self, due: bool) -> tuple[Message, ...]:
        """Return the messages, ending in something to answer if a model call is due."""
        if self._cut is not None and self._cut == self._turn:
            self._note(CUT_OFF_TEXT)
        if due and self._ends_in_assistant():
            self._note(NOT_SHOWN_TEXT)
        return tuple(self._messages)

    def _note(self, text: str) -> None:
        self._messages.append(Message(Role.NOTE, text if text.strip() else BLANK_TEXT))

    def _ends_in_assistant(self) -> bool:
        return bool(self._messages) and self._messages[-1].role is Role.ASSISTANT

    def _reply(self, entry: Entry, reply: Replied) -> None:
        if entry.seq == self._pairs.waiting or _is_blank(reply):
            return
        if self._cut == entry.turn:
            self._note(CUT_OFF_TEXT)
        elif not self._messages or self._ends_in_assistant():
            self._note(NOT_SHOWN_TEXT)
        self._cut = entry.turn if broke_off(reply) else None
        results: list[Message] = []
        calls: list[ToolCall] = []
        for call in _each_once(reply.calls):
            shown_as = self._unused(call.id)
            calls.append(call if shown_as == call.id else ToolCall(shown_as, call.name, call.arguments))
            results.append(self._result(entry, call, shown_as))
        self._messages.append(Message(Role.ASSISTANT, reply.text, tuple(calls), opaque=reply.opaque))
        self._messages += results
        if reply.finish is StopReason.STOPPED:
            self._note(STOPPED_TEXT)

    def _result(self, entry: Entry, call: ToolCall, shown_as: CallId) -> Message:
        result = self._pairs.results.get((entry.seq, call.id))
        if result is None:
            return Message(Role.TOOL, unknown_text(call), call=shown_as, state=CallState.UNKNOWN)
        return Message(Role.TOOL, result.text, call=shown_as, state=result.state)

    def _unused(self, wanted: CallId) -> CallId:
        """A free id for a call: ids are unique within a turn, but providers want that in the conversation."""
        name = wanted
        while name in self._uses:
            self._uses[wanted] += 1
            name = CallId(f"{wanted}-{self._uses[wanted]}")
        self._uses[name] = 1
        return name


def _is_blank(body: Body) -> bool:
    return isinstance(body, Replied) and not body.calls and not body.text.strip()


def _each_once(calls: tuple[ToolCall, ...]) -> Iterable[ToolCall]:
    if len(calls) < 2:
        return calls
    first: dict[CallId, ToolCall] = {}
    for call in calls:
        first.setdefault(call.id, call)
    return first.values()
