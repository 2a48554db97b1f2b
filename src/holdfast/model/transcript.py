"""The transcript: what was said, asked of tools, returned and noted, in order and never rewritten."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from holdfast.records import dataclass

from .ids import CallId, PersonId, TurnId
from .states import CallState


class StopReason(StrEnum):
    """Why a model stopped, mapped to one value where the model is called."""

    COMPLETE = "complete"
    CALLS = "calls"
    """It wants tools run."""
    LENGTH = "length"
    FILTERED = "filtered"
    CUT = "cut"
    """The stream broke off, or carried no marker."""
    STOPPED = "stopped"
    """The turn ended while it was being written: kept as far as it came, never a final answer."""


class NoteKind(StrEnum):
    """Why the gateway told the model something. A note is known by its kind, never by its words."""

    RESTARTED = "restarted"
    SHUT_DOWN = "shut_down"
    INTERRUPTED = "interrupted"
    GENERAL = "general"
    """Interrupted for a reason this version does not know."""
    LEFT_BEHIND = "left_behind"
    """Earlier work expired and was not run."""
    RESUME_FAILED = "resume_failed"
    DROPPED = "dropped"
    """The person chose to drop the interrupted work, or wrote something else."""
    TOOL_TAIL = "tool_tail"
    """Tool results stand at the end without an answer."""
    REPLY_UNKNOWN = "reply_unknown"
    """The model's reply was cut off, and what it did in it is unknown."""
    CUT_OFF = "cut_off"
    """The model's own last message broke off."""
    WATCHED = "watched"
    """What a background process printed meanwhile."""


RESUME_NOTES = frozenset({NoteKind.RESTARTED, NoteKind.SHUT_DOWN, NoteKind.INTERRUPTED, NoteKind.GENERAL})
"""Notes that open a resumed run of the same turn."""


class Tail(StrEnum):
    """How the transcript of a turn ends; kept on the turn row so that recovery reads no transcript."""

    NOTHING = "nothing"
    MESSAGE = "message"
    """A person's message nobody has worked on."""
    WORK = "work"
    """Tool calls or their results."""
    PARTIAL = "partial"
    """A model message that is empty, cut off or filtered."""
    ANSWER = "answer"
    """A final answer: text, no calls, and a marker that means complete."""
    NOTE = "note"
    """Only a note that opened a resume; nothing came after it."""
    QUESTION = "question"
    """Nothing but a question to the person is unsettled."""
    REPLYING = "replying"
    """A model whose replies have effects of their own is being asked, and has not replied: what it does
    meanwhile stands in no row."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that came with a message or goes with one, stored by its hash."""

    digest: str
    name: str
    media_type: str
    size: int


@dataclass(frozen=True, slots=True)
class ToolCall:
    """What a model asked for; `arguments` is the JSON text it gave."""

    id: CallId
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Said:
    """What begins or joins a turn, unchanged: a person's message, or a wake-up of the gateway."""

    text: str
    sender: PersonId
    attachments: tuple[Attachment, ...] = ()
    woken: bool = False
    """The gateway says it: a background process or a standing goal wants a turn. Shown as a note."""


@dataclass(frozen=True, slots=True)
class Replied:
    """One model reply."""

    text: str
    finish: StopReason
    calls: tuple[ToolCall, ...] = ()
    opaque: str | None = None
    """Provider data that must come back unchanged (reasoning, signatures), as JSON."""


class Partial(NamedTuple):
    """What people were shown of something that is not finished, as far as it is recorded."""

    text: str
    call: CallId | None = None
    """The running call that put it out; None: the model writes it."""
    after: int = 0
    """Of a reply: the last entry before it. A late word about a reply that is committed records nothing."""
    generation: int = 0
    """Of the run that was shown it."""


@dataclass(frozen=True, slots=True)
class Returned:
    """The one result of a tool call."""

    call: CallId
    state: CallState
    text: str
    files: tuple[Attachment, ...] = ()
    """What was too long to be said whole, kept by its hash."""


@dataclass(frozen=True, slots=True)
class Noted:
    """A word from the gateway to the model; one per turn and `count`."""

    note: NoteKind
    count: int
    text: str


@dataclass(frozen=True, slots=True)
class Undone:
    """Takes entries `first`..`last` out of the view."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Summed:
    """Stands in the view for entries `first`..`last`, with the time of the last of them."""

    first: int
    last: int
    text: str
    stands_for_at: int


Body = Said | Replied | Returned | Noted | Undone | Summed


UNREADABLE = "(unreadable: this part of the record is damaged)"
"""Stands for content that is there and cannot be read. What was erased on request reads otherwise."""


class Entry(NamedTuple):
    """One line of a transcript: its place, its turn, when it was committed, what it holds."""

    seq: int
    turn: TurnId
    at: int
    body: Body
