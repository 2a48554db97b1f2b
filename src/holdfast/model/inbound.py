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
    """What an inbox row is."""

    MESSAGE = "message"
    COMMAND = "command"
    """Bypasses the queue; carried out by the inbox, never by a turn (but for `/retry`, which causes one)."""
    WAKEUP = "wakeup"
    """A background process or a standing goal wants a turn."""
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Inbound:
    """Something a platform (or the gateway itself) wants accepted.

    `event_id` is the platform's own id of the event, or a deterministic one for wake-ups: the pair of
    account and event id is accepted once, for ever.
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
    """The question whose button this is, for a press."""
    replies_to: str | None = None
    """The platform's id of the message that this is a reply to."""


@dataclass(frozen=True, slots=True)
class SetAside:
    """Input that could not be read: kept with its reason, and passed over."""

    event_id: str | None
    reason: str
    payload: str


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far a platform has been read; committed with the rows it covers."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Knock:
    """A refused message whose sender may be told, where they wrote, what would let them in."""

    event_id: str
    """The refused one: it is told of at most once."""
    person: PersonId
    place: Place
    code: str | None
    """What a newcomer is given if they get one; None when it is the chat that is not let in."""
    message_id: str | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """What one read of a platform brought, in its order; accepted or refused as a whole."""

    account: str
    """Platform and account: event ids are told apart by it."""
    messages: tuple[Inbound, ...] = ()
    unreadable: tuple[SetAside, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    """Event ids of senders not allowed, with the reason: kept as events, not as messages."""
    cursor: Cursor | None = None
    knocks: tuple[Knock, ...] = ()
    """Those of the refused who may be told how to be let in."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """What became of one message of a batch. `fresh` is False for one that was known already."""

    event_id: str
    position: Position
    fresh: bool
    words: str | None = None
    """What is true of it now, for who answers in place; owed to the chat in the same commit."""


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
    """The question it answered, or, while it waits, the one it set aside: that question's turn takes it."""
    reason: str | None = None

    @property
    def person(self) -> PersonId | None:
        """Whose work it is: who wrote, set the goal or had the process started; an operator's is nobody's."""
        return None if self.kind is InboxKind.OPERATOR else self.sender or None
