"""What goes out: every reply, notice and question owed to a chat, part by part, in order."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from holdfast.records import dataclass

from .ids import ChatAddress, DeliveryId, SessionId, TurnId
from .states import DeliveryState
from .transcript import Attachment

WORKING = "working:"
"""What the keys of messages about work in progress begin with."""


class OwedKind(StrEnum):
    """What an outbox row is for."""

    REPLY = "reply"
    NOTICE = "notice"
    QUESTION = "question"


@dataclass(frozen=True, slots=True)
class Owed:
    """A message to be owed to a chat: written in the commit that makes it true.

    `dedupe` is unique for ever: telling the same thing twice under one key writes one row.
    """

    chat: ChatAddress
    dedupe: str
    parts: tuple[str, ...]
    kind: OwedKind = OwedKind.REPLY
    reply_to: str | None = None
    options: tuple[str, ...] = ()
    """Buttons: the answers to a question, or commands that a notice offers, as one would type them."""
    files: tuple[Attachment, ...] = ()
    """The first goes with the first part, the second with the second: a part is sent in one go. Their bytes
    are kept before this is owed, and there are at most as many as parts."""


def answer_key(turn: TurnId) -> str:
    """The dedupe key of a turn's one answer, whoever writes it."""
    return f"answer:{turn}"


def partial_key(turn: TurnId) -> str:
    """The dedupe key of what a turn that ended without an answer had written of one."""
    return f"partial:{turn}"


def working_key(turn: TurnId, generation: int) -> str:
    """The dedupe key of the one message by which a run says that it goes on."""
    return f"{WORKING}{turn}:{generation}"


class Delivery(NamedTuple):
    """One part of something owed, as the ledger holds it."""

    id: DeliveryId
    chat: ChatAddress
    order: int
    """The chat's gapless counter: parts go out in it, readers use it as their cursor."""
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
    """A mark of when it was first sent of what may have arrived (`clock.since` measures from it)."""
    files: tuple[Attachment, ...] = ()
    """What goes with it; its text is then what is said of it, and may be empty."""
    repeats: int = 0
    """How often it was to be sent again, marked, because it may have arrived."""
    failing_since: int | None = None
    """When its first send failed, if one did. A throttle or a platform that is down is no failure, nor is a
    send that the end of the gateway cut off."""
    overtaken_at: int | None = None
    """When another send of the account succeeded while this one failed."""
    aside_at: int | None = None
    """When it left its chat's line: later parts do not wait for it, and it is still tried."""

    @property
    def key(self) -> str:
        """The idempotency key of this part: the same on every send of it, and no other part's."""
        return f"{self.dedupe}/{self.part}"


@dataclass(frozen=True, slots=True)
class Sent:
    """The platform took it."""

    platform_id: str | None = None


@dataclass(frozen=True, slots=True)
class TryAgain:
    """It certainly did not arrive; try at `at` (a throttle, or a connection that never opened)."""

    at: int
    reason: str
    counts: bool = True
    """Whether this was a real attempt; a throttle or a platform that is down is none."""


@dataclass(frozen=True, slots=True)
class Lost:
    """It may or may not have arrived."""

    reason: str
    ours: bool = False
    """The gateway broke it off itself: that says nothing against the platform."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """The platform refused it for good; `whole_chat` when nothing can go there any more."""

    reason: str
    whole_chat: bool = False
    reply_gone: bool = False
    """Only because the message that it replies to is gone: without that it may be taken."""


SendResult = Sent | TryAgain | Lost | Rejected
