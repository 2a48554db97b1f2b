"""The contract of a platform: its capabilities, and how the gateway reads from it and sends to it."""

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
"""Milliseconds after which an abandoned request has either arrived or never will."""


class Ack(StrEnum):
    """When a platform considers a message as received by the gateway."""

    OFFSET = "offset"
    """With the next read: its position says which messages are committed."""
    ANSWER = "answer"
    """With the gateway's answer to each message (a webhook, a socket frame)."""


class Idempotency(StrEnum):
    """Whether the platform shows a message once if it is sent again with the same key."""

    NONE = "none"
    WINDOW = "window"
    """It does for a limited time after the first send."""
    STRONG = "strong"


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a platform can do. The rules of delivery and the guarantees follow from it."""

    ack: Ack
    idempotency: Idempotency = Idempotency.NONE
    repeat_within: int = 0
    """For `WINDOW`: for so many milliseconds after the first send, a repeat shows once."""
    reconcile: bool = False
    """The gateway can ask it whether a message has arrived."""
    edit: bool = False
    threads: bool = False
    buttons: bool = False
    cards: bool = False
    """It shows the state of each question by itself: the gateway edits nothing when one is closed."""
    longest: int = 4096
    """Characters one message may have."""
    typing: float = 0.0
    """Seconds after which the gateway repeats the sign of typing; 0 if there is none. The sign has to end by
    itself, because after a crash the gateway cannot remove it."""
    drafts: bool = False
    """It shows unfinished text beside the messages as it grows, and keeps none of it."""
    notices: bool = False
    """It shows progress beside the messages. Without this, progress is a message, edited with `edit`."""
    show_every: float = 3.0
    """Seconds between two updates of progress in one chat: they share the platform's limits with messages."""
    catch_up: int | None = 0
    """Milliseconds for which it keeps messages that the gateway has not read: None for good, 0 not at all."""
    attachments: int = 0
    """The most bytes of a file from a person; 0 if the gateway takes no files."""
    files: int = 0
    """The most bytes of a file to a person; 0 if it takes none. A part has at most one file."""
    each_chat: Rate | None = None
    """The rate of messages in one chat; None without a limit."""
    all_chats: Rate | None = None
    """The rate of messages in all chats together; None without a limit."""
    own_chat: str = ""
    """The name of a person's direct chat, with `{person}` for their id. A name without `{person}` is one chat
    that always exists. Empty if the name does not follow from the id. Owners get approvals there."""
    newcomers: bool = False
    """Any person can write to it, so the gateway tells a new person there how to ask to be let in."""

    @property
    def shows(self) -> bool:
        """Whether it can show any progress beside the messages."""
        return self.typing > 0 or self.drafts or self.notices

    def settling(self, age: int | None) -> Settling:
        """How to settle a send whose outcome is unknown, `age` milliseconds after its first try.

        None if the age of the key is not known, because the machine has restarted since.
        """
        if self.reconcile:
            return Settling.ASK
        return Settling.REPEAT_WITH_KEY if self.key_lasts(age) > 0 else Settling.RESEND_MARKED

    def key_lasts(self, age: int | None) -> float:
        """The milliseconds from now within which a repeat still shows once.

        The margin covers a request that is abandoned and arrives a little later.
        """
        if self.idempotency is Idempotency.STRONG:
            return inf
        if self.idempotency is Idempotency.NONE or age is None:
            return 0
        return max(0, self.repeat_within - _ARRIVES_WITHIN - age)


@dataclass(frozen=True, slots=True)
class Arrival:
    """A person's message, command or button press, as the platform delivered it."""

    event_id: str
    origin: Origin
    text: str
    message_id: str | None = None
    sent_at: int | None = None
    attachments: tuple[Attachment, ...] = ()
    pressed: QuestionId | None = None
    """The question that the pressed button belongs to."""
    replies_to: str | None = None
    """The id of the gateway's message that this replies to, as in `Sent`."""


@dataclass(frozen=True, slots=True)
class Revision:
    """A message that its sender changed, or took back (without text)."""

    event_id: str
    place: Place
    message_id: str
    text: str | None
    attachments: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True)
class Incoming:
    """The result of one read, in the platform's order, and the read position after it."""

    events: tuple[Arrival | Revision | SetAside, ...]
    cursor: Cursor | None = None


@dataclass(frozen=True, slots=True)
class Working:
    """The progress of a run, shown beside the messages; empty when the run is over."""

    by: Fence
    """The run that shows it: an older generation never replaces what a newer one shows."""
    typing: bool = False
    draft: str = ""
    """The whole text of the unfinished reply."""
    notice: str = ""
    """A line that says what the agent works on, and since when."""


class PlatformDown(Exception):
    """The gateway cannot reach the platform at the moment; a later try may succeed."""

    def __init__(self, words: str, retry_after: float | None = None) -> None:
        super().__init__(words)
        self.retry_after = retry_after
        """Seconds that the platform asked to wait, if it did."""


class Platform(Protocol):
    """One account on one service that people write on.

    Reading: `receive` returns what came after a cursor and drops nothing until `confirm`; the gateway calls
    `confirm` only once the batch is committed. Sending: one try, and a result that says what is known of it.
    """

    @property
    def name(self) -> str: ...

    @property
    def account(self) -> str: ...

    @property
    def capabilities(self) -> Capabilities: ...

    @property
    def cursor(self) -> str | None:
        """The name of its read position in the ledger; None without one."""
        ...

    async def connect(self) -> None:
        """Get ready to receive and send, or raise `PlatformDown`."""
        ...

    async def receive(self, after: str | None) -> Incoming:
        """Wait for the next batch after that position; raises `PlatformDown` when the connection is lost."""
        ...

    async def confirm(self, incoming: Incoming, accepted: tuple[Accepted, ...]) -> None:
        """The batch is committed: confirm it to the platform, if the platform needs that."""
        ...

    async def send(self, delivery: Delivery) -> SendResult:
        """Try once, with `delivery.key`, and return what is known: sent, not sent, refused, or lost."""
        ...

    async def find(self, delivery: Delivery) -> Sent | bool | None:
        """Whether this part has arrived, with its id if known; None if the platform cannot tell.

        Called only with `reconcile`.
        """
        ...

    async def close(self) -> None:
        """Close the connection; the gateway sends nothing more through it."""
        ...


class Shows(Protocol):
    """The second protocol of a platform with `typing`, `drafts`, `notices` or `edit`.

    It only shows progress: some of it is lost, and none of it counts as a delivery. It shares the limits of
    the platform with sends, and sends come first: progress that cannot be shown at once is left out, not
    queued. It raises `PlatformDown` if it cannot reach the platform, with the seconds to wait, if any.
    """

    async def show(self, chat: ChatAddress, working: Working) -> bool:
        """Show the progress of a run beside the messages; an empty `working` removes it.

        False if this chat, unlike others, cannot show a draft.
        """
        ...

    async def edit(self, chat: ChatAddress, message_id: str, text: str, in_line: bool = False) -> bool:
        """Change the text of a sent message. True also if it is gone; False if it was not possible now.

        With `in_line` the edit queues with the sends and waits a little: it is the last edit of a message,
        and a send follows it.
        """
        ...
