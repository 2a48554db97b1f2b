"""What comes in: messages, commands, wake-ups and operator requests, all as inbox rows."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from holdfast.records import dataclass

from .addresses import Place
from .ids import Key, PersonId, Position, QuestionId, TurnId
from .states import InboxState
from .transcript import Attachment


class InboxKind(StrEnum):
    """The kind of an inbox row."""

    MESSAGE = "message"
    COMMAND = "command"
    """Bypasses the queue; the inbox carries it out, never a turn (but `/retry` causes a turn)."""
    WAKEUP = "wakeup"
    """A background process or a standing goal wants a turn."""
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Inbound:
    """Something that a platform, or the gateway itself, gives to the inbox.

    `event_id` is the platform's own id of the event, or a deterministic one for wake-ups: the inbox accepts
    each pair of account and event id only once.
    """

    event_id: str
    key: Key
    place: Place
    sender: PersonId
    text: str
    kind: InboxKind = InboxKind.MESSAGE
    attachments: tuple[Attachment, ...] = ()
    message_id: str | None = None
    """The platform's id of the message, for replies to it, edits and deletions."""
    sent_at: int | None = None
    incarnation: int | None = None
    """For wake-ups: accepted only while the session still has this incarnation."""
    pressed: QuestionId | None = None
    """For a pressed button: the question that it belongs to."""
    replies_to: str | None = None
    """The platform's id of the message that this one replies to."""


@dataclass(frozen=True, slots=True)
class SetAside:
    """Input that the gateway could not read: it keeps the input with the reason, and goes on."""

    event_id: str | None
    reason: str
    payload: str


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far the gateway has read a platform; committed with the rows that it covers."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Knock:
    """A refused message whose sender may be told, in that chat, how to get access."""

    event_id: str
    """The refused message: its sender is told at most once."""
    person: PersonId
    place: Place
    code: str | None
    """The code for a newcomer, if they get one; None when the chat, not the person, lacks access."""
    message_id: str | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """The result of one read of a platform, in its order; accepted or refused as a whole."""

    account: str
    """Platform and account: event ids are unique within it."""
    messages: tuple[Inbound, ...] = ()
    unreadable: tuple[SetAside, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    """Event ids of senders who are not allowed, with the reason: kept as events, not as messages."""
    cursor: Cursor | None = None
    knocks: tuple[Knock, ...] = ()
    """The refused senders who may be told how to get access."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """The result for one message of a batch. `fresh` is False if the inbox had it already."""

    event_id: str
    position: Position
    fresh: bool
    words: str | None = None
    """What the sender is told, for a platform that replies at once; owed to the chat in the same commit."""


class InboxRow(NamedTuple):
    """An accepted row as the ledger holds it."""

    position: Position
    account: str
    event_id: str
    key: Key
    place: Place
    sender: PersonId
    kind: InboxKind
    text: str
    attachments: tuple[Attachment, ...]
    message_id: str | None
    sent_at: int | None
    accepted_at: int
    state: InboxState
    turn: TurnId | None = None
    question: QuestionId | None = None
    """The question that it answered; or, while it waits, the one that it set aside, whose turn takes it."""
    reason: str | None = None

    @property
    def person(self) -> PersonId | None:
        """The person who wrote, set the goal or had the process started; None for an operator's work."""
        return None if self.kind is InboxKind.OPERATOR else self.sender or None
