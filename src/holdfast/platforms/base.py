"""The contract of a platform: what it can do, how it is read, and how it is sent to."""

from __future__ import annotations

from enum import StrEnum
from math import inf
from typing import Protocol

from holdfast.model import (
    Accepted,
    Attachment,
    ChatAddress,
    Cursor,
    Delivery,
    Fence,
    Origin,
    Place,
    QuestionId,
    SendResult,
    Sent,
    SetAside,
)
from holdfast.policy.delivery.retry import Settling
from holdfast.records import dataclass

from .pace import Rate

_ARRIVES_WITHIN = 2_000
"""Milliseconds after which a request that was let go of is there, or never will be."""


class Ack(StrEnum):
    """When a platform considers what it gave us as received."""

    OFFSET = "offset"
    """With the next read, whose position names what is kept."""
    ANSWER = "answer"
    """With our answer to each delivery of it (a webhook, a socket frame)."""


class Idempotency(StrEnum):
    """Whether a send repeated with the same key shows once."""

    NONE = "none"
    WINDOW = "window"
    """For a while after the first."""
    STRONG = "strong"


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a platform can do; the rules of delivery, and what people are promised, follow from it."""

    ack: Ack
    idempotency: Idempotency = Idempotency.NONE
    repeat_within: int = 0
    """For `WINDOW`: milliseconds after the first send in which a repeat shows once."""
    reconcile: bool = False
    """It can be asked whether a message of ours is there."""
    edit: bool = False
    threads: bool = False
    buttons: bool = False
    cards: bool = False
    """It shows by itself how each question stands: nothing has to be edited when one is closed."""
    longest: int = 4096
    """Characters one message may have."""
    typing: float = 0.0
    """Seconds after which a sign of typing is given again; 0 when there is none. It has to fade by itself,
    because after a crash nobody takes it away."""
    drafts: bool = False
    """It shows unfinished text beside the messages, as it grows; nothing of that stays."""
    notices: bool = False
    """It shows beside the messages that work goes on; elsewhere that is a message, edited with `edit`."""
    show_every: float = 3.0
    """Seconds between two things shown in one chat: these share the platform's limits with messages."""
    catch_up: int | None = 0
    """Milliseconds for which it keeps what people write while nobody reads: None for good, 0 not at all."""
    attachments: int = 0
    """Bytes that a file may have which people send us; 0 when none can come."""
    files: int = 0
    """Bytes that a file may have which we send; 0 when none can go. A part has one at most."""
    each_chat: Rate | None = None
    """How much may be said in one chat; None when there is no such limit."""
    all_chats: Rate | None = None
    """And in all of them together."""
    own_chat: str = ""
    """The name of the chat where one person alone is reached, with `{person}` for their id; a name without it
    is always there. Empty when it does not follow from who they are. Owners are asked there for consent."""
    newcomers: bool = False
    """Anybody can write to it: who is not let in is told, there, how to ask for that."""

    @property
    def shows(self) -> bool:
        """Whether anything of work in progress can be shown beside the messages."""
        return self.typing > 0 or self.drafts or self.notices

    def settling(self, age: int | None) -> Settling:
        """How a send of unknown outcome is settled, `age` milliseconds after it was first tried.

        None when nobody knows how old the key is (the machine was started since).
        """
        if self.reconcile:
            return Settling.ASK
        return Settling.REPEAT_WITH_KEY if self.key_lasts(age) > 0 else Settling.RESEND_MARKED

    def key_lasts(self, age: int | None) -> float:
        """For how many milliseconds from now a repeat may be on its way and still show once.

        What we let go of then may arrive a little later, and still in time.
        """
        if self.idempotency is Idempotency.STRONG:
            return inf
        if self.idempotency is Idempotency.NONE or age is None:
            return 0
        return max(0, self.repeat_within - _ARRIVES_WITHIN - age)


@dataclass(frozen=True, slots=True)
class Arrival:
    """A person's message, command or button press, as the platform brought it."""

    event_id: str
    origin: Origin
    text: str
    message_id: str | None = None
    sent_at: int | None = None
    attachments: tuple[Attachment, ...] = ()
    pressed: QuestionId | None = None
    """The question whose button this is."""
    replies_to: str | None = None
    """The id of the message that this is a reply to, as `Sent` names our own."""


@dataclass(frozen=True, slots=True)
class Revision:
    """A message its sender changed, or (without text) took back."""

    event_id: str
    place: Place
    message_id: str
    text: str | None
    attachments: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True)
class Incoming:
    """What one read brought, in the platform's order, and the read position it reaches."""

    events: tuple[Arrival | Revision | SetAside, ...]
    cursor: Cursor | None = None


@dataclass(frozen=True, slots=True)
class Working:
    """What is to be seen of a run beside the messages now; without anything, that it is over."""

    by: Fence
    """Who shows it: an older generation never shows anything over a newer one."""
    typing: bool = False
    draft: str = ""
    """All the model has written of its reply so far."""
    notice: str = ""
    """That it goes on, since when and with what."""


class PlatformDown(Exception):
    """The platform cannot be reached just now; trying again later may help."""

    def __init__(self, words: str, retry_after: float | None = None) -> None:
        super().__init__(words)
        self.retry_after = retry_after
        """Seconds the platform asked us to wait, if it did."""


class Platform(Protocol):
    """One account on one place where people are.

    Reading: `receive` gives what came after a cursor and forgets nothing until `confirm`, which is called
    only once the batch is committed. Sending: one try, and an honest word about it.
    """

    @property
    def name(self) -> str: ...

    @property
    def account(self) -> str: ...

    @property
    def capabilities(self) -> Capabilities: ...

    @property
    def cursor(self) -> str | None:
        """The name of its read position in the ledger; None if it has none."""
        ...

    async def connect(self) -> None:
        """Be ready to receive and send, or raise `PlatformDown`."""
        ...

    async def receive(self, after: str | None) -> Incoming:
        """Wait for the next batch after that position; raises `PlatformDown` when the connection is lost."""
        ...

    async def confirm(self, incoming: Incoming, accepted: tuple[Accepted, ...]) -> None:
        """The batch is committed: tell the platform, as far as it wants to be told."""
        ...

    async def send(self, delivery: Delivery) -> SendResult:
        """Try once, with `delivery.key`, and say what is known: taken, not taken, refused, or lost."""
        ...

    async def find(self, delivery: Delivery) -> Sent | bool | None:
        """Whether this part is there, with its id if that is known; None when nobody can tell.

        Asked only with `reconcile`.
        """
        ...

    async def close(self) -> None:
        """Let go of the connection; nothing is owed to it any more."""
        ...


class Shows(Protocol):
    """What a platform also is whose capabilities speak of `typing`, `drafts`, `notices` or `edit`.

    All of it is for eyes only: some of it is lost, and none of it counts as a delivery. It shares the limits
    of the platform with sends and gives way to them: what cannot be shown at once is left out, not put in
    line. A platform that cannot be reached raises `PlatformDown`, with the seconds it asked for.
    """

    async def show(self, chat: ChatAddress, working: Working) -> bool:
        """Show this of a run beside the messages, or, if there is nothing in it, take away what was shown.

        False when this chat, unlike others there, has no room for a draft.
        """
        ...

    async def edit(self, chat: ChatAddress, message_id: str, text: str, in_line: bool = False) -> bool:
        """Let a message of ours read so. True also when it is gone; False when that was not possible now.

        With `in_line` it takes its place among the sends and waits for it a little: these are last words, and
        a send comes right behind them.
        """
        ...
