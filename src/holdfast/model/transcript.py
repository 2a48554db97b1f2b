"""The transcript: messages, replies, results and notes, in order and never rewritten."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from holdfast.records import dataclass

from .ids import CallId, PersonId, TurnId
from .states import CallState


class StopReason(StrEnum):
    """Why a model stopped; the code that calls the model maps each provider's word to one of these."""

    COMPLETE = "complete"
    CALLS = "calls"
    """It wants tools run."""
    LENGTH = "length"
    FILTERED = "filtered"
    CUT = "cut"
    """The stream broke off, or carried no marker."""
    STOPPED = "stopped"
    """The turn ended while the model wrote it: the part so far is kept, and is never a final answer."""


class NoteKind(StrEnum):
    """Why the gateway told the model something. Code recognises a note by its kind, never by its words."""

    RESTARTED = "restarted"
    SHUT_DOWN = "shut_down"
    INTERRUPTED = "interrupted"
    GENERAL = "general"
    """Interrupted for a reason that this version does not know."""
    LEFT_BEHIND = "left_behind"
    """Earlier work expired and was not run."""
    RESUME_FAILED = "resume_failed"
    DROPPED = "dropped"
    """The person dropped the interrupted work, or wrote something else."""
    TOOL_TAIL = "tool_tail"
    """The transcript ends in tool results without an answer."""
    REPLY_UNKNOWN = "reply_unknown"
    """The model's reply was cut off, and the effects inside it are unknown."""
    CUT_OFF = "cut_off"
    """The model's own last message broke off."""
    WATCHED = "watched"
    """A background process printed something that the agent watches for."""


RESUME_NOTES = frozenset({NoteKind.RESTARTED, NoteKind.SHUT_DOWN, NoteKind.INTERRUPTED, NoteKind.GENERAL})
"""Notes that open a resumed run of the same turn."""


class Tail(StrEnum):
    """How the transcript of a turn ends; the turn's row has it, so that recovery reads no transcript."""

    NOTHING = "nothing"
    MESSAGE = "message"
    """A person's message without any work on it yet."""
    WORK = "work"
    """Tool calls or their results."""
    PARTIAL = "partial"
    """A model message that is empty, cut off or filtered."""
    ANSWER = "answer"
    """A final answer: text, no calls, and a marker that means complete."""
    NOTE = "note"
    """Only a note that opened a resume; nothing came after it."""
    QUESTION = "question"
    """Only a question to the person is unsettled."""
    REPLYING = "replying"
    """The gateway has called an agent whose replies have effects of their own, and has no reply yet: no row
    says what the agent has done since."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that came with a message or goes out with one, stored by its hash."""

    digest: str
    name: str
    media_type: str
    size: int


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call of a model; `arguments` is the model's JSON text."""

    id: CallId
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Said:
    """The unchanged text that begins or joins a turn: a person's message, or a wake-up of the gateway."""

    text: str
    sender: PersonId
    attachments: tuple[Attachment, ...] = ()
    woken: bool = False
    """It is a wake-up by a background process or a standing goal. The model sees it as a note."""


@dataclass(frozen=True, slots=True)
class Replied:
    """One model reply."""

    text: str
    finish: StopReason
    calls: tuple[ToolCall, ...] = ()
    opaque: str | None = None
    """Provider data that must go back unchanged (reasoning, signatures), as JSON."""


class Partial(NamedTuple):
    """The recorded part of something unfinished that people saw."""

    text: str
    call: CallId | None = None
    """The running call that put it out; None: the model writes it."""
    after: int = 0
    """For a reply: the last entry before it, so that a late part of a committed reply is not recorded."""
    generation: int = 0
    """The generation of the run that showed it."""


@dataclass(frozen=True, slots=True)
class Returned:
    """The one result of a tool call."""

    call: CallId
    state: CallState
    text: str
    files: tuple[Attachment, ...] = ()
    """The whole result, if it was too long for the text, stored by its hash."""


@dataclass(frozen=True, slots=True)
class Noted:
    """A note from the gateway to the model; one per turn and `count`."""

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
    """Replaces entries `first`..`last` in the view, with the time of the last of them."""

    first: int
    last: int
    text: str
    stands_for_at: int


Body = Said | Replied | Returned | Noted | Undone | Summed


UNREADABLE = "(unreadable: this part of the record is damaged)"
"""Replaces content that exists and cannot be read. Content that a person had erased has other words."""


class Entry(NamedTuple):
    """One line of a transcript: its place, its turn, when it was committed, what it holds."""

    seq: int
    turn: TurnId
    at: int
    body: Body
