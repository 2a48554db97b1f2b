"""What goes out: every reply, notice and question owed to a chat, part by part, in order."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from holdfast.records import dataclass

from .ids import ChatAddress, DeliveryId, SessionId, TurnId
from .states import DeliveryState
from .transcript import Attachment

WORKING = "working:"
"""The beginning of the keys of messages about work in progress."""


class OwedKind(StrEnum):
    """The kind of an outbox row."""

    REPLY = "reply"
    NOTICE = "notice"
    QUESTION = "question"


@dataclass(frozen=True, slots=True)
class Owed:
    """A message that a chat is owed, written in the commit that makes it true.

    `dedupe` is unique for ever: two messages under one key write one row.
    """

    chat: ChatAddress
    dedupe: str
    parts: tuple[str, ...]
    kind: OwedKind = OwedKind.REPLY
    reply_to: str | None = None
    options: tuple[str, ...] = ()
    """The buttons: answers to a question, or commands that a notice offers, as a person would type them."""
    files: tuple[Attachment, ...] = ()
    """The first file goes with the first part, the second with the second, because one send carries a part.
    Their bytes are stored before this is owed, and there are at most as many files as parts."""


def answer_key(turn: TurnId) -> str:
    """The dedupe key of a turn's one answer: the same for the run and for recovery."""
    return f"answer:{turn}"


def partial_key(turn: TurnId) -> str:
    """The dedupe key of the unfinished reply of a turn that ended without an answer."""
    return f"partial:{turn}"


def working_key(turn: TurnId, generation: int) -> str:
    """The dedupe key of the one message that says that a run goes on."""
    return f"{WORKING}{turn}:{generation}"


class Delivery(NamedTuple):
    """One part of something owed, as the ledger holds it."""

    id: DeliveryId
    chat: ChatAddress
    order: int
    """The chat's counter, without gaps: parts go out in this order, and readers use it as their cursor."""
    kind: OwedKind
    part: int
    parts: int
    text: str
    options: tuple[str, ...]
    reply_to: str | None
    dedupe: str
    state: DeliveryState
    attempts: int
    repeated: bool
    """An earlier send may have arrived: mark this one as possibly repeated."""
    created_at: int
    claimed_at: int | None = None
    settled_at: int | None = None
    platform_id: str | None = None
    reason: str | None = None
    session: SessionId | None = None
    turn: TurnId | None = None
    tried: str | None = None
    """When the first send that may have arrived began, as a mark for `clock.since`."""
    files: tuple[Attachment, ...] = ()
    """The files that go with it; its text then belongs to the files, and may be empty."""
    repeats: int = 0
    """How many marked repeats it has had, because it may have arrived."""
    failing_since: int | None = None
    """When a send first failed, if one did. A throttle is no failure, nor is a platform that is down or a
    send that the end of the gateway cut off."""
    overtaken_at: int | None = None
    """When another send of the account succeeded while this one failed."""
    aside_at: int | None = None
    """When it left its chat's line: later parts do not wait for it, and the gateway still tries it."""

    @property
    def key(self) -> str:
        """The idempotency key of this part: the same on every send, and unique to the part."""
        return f"{self.dedupe}/{self.part}"


@dataclass(frozen=True, slots=True)
class Sent:
    """The platform took it."""

    platform_id: str | None = None


@dataclass(frozen=True, slots=True)
class TryAgain:
    """It certainly did not arrive; try again at `at` (a throttle, or a connection that never opened)."""

    at: int
    reason: str
    counts: bool = True
    """Whether this was a real attempt; a throttle is none, nor is a platform that is down."""


@dataclass(frozen=True, slots=True)
class Lost:
    """It may or may not have arrived."""

    reason: str
    ours: bool = False
    """The gateway itself broke off the send, so the platform is not at fault."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """The platform refused it for good; `whole_chat` if the chat takes no messages any more."""

    reason: str
    whole_chat: bool = False
    reply_gone: bool = False
    """It refused only because the replied-to message is gone: it may take the part without the reply."""


SendResult = Sent | TryAgain | Lost | Rejected
