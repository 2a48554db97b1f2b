"""A platform under test, and helpers for the checks."""

from __future__ import annotations

from typing import Protocol

from holdfast.model import (
    Accepted,
    Attachment,
    ChatAddress,
    Delivery,
    DeliveryId,
    DeliveryState,
    Lost,
    OwedKind,
    Position,
    SendResult,
)
from holdfast.platforms import Arrival, Incoming, Platform, PlatformDown


class Stand(Protocol):
    """A platform under test: its server, and one person who talks with the bot in a direct chat."""

    cannot: frozenset[str]
    """The names of methods below that this stand cannot carry out."""

    def fresh(self) -> Platform:
        """A new client of the same account, as after a restart; not connected yet."""
        ...

    def chat(self, thread: str | None = None) -> ChatAddress:
        """The person's chat, or one of its threads."""
        ...

    async def write(self, text: str, thread: str | None = None) -> None:
        """The person writes; returns when the server has it."""
        ...

    async def seen(self, thread: str | None = None) -> list[str]:
        """What the person sees of the bot's messages there, in order, as they are now."""
        ...

    def stored(self, content: bytes) -> Attachment:
        """A file that the gateway keeps; only with `files`."""
        ...

    async def files(self) -> list[bytes]:
        """The files that the person got from the bot, in order; only with `files`."""
        ...

    async def open_thread(self) -> str:
        """The person begins a thread; only with `threads`."""
        ...

    async def press(self, label: str) -> None:
        """The person presses the newest button with this label; only with `buttons`."""
        ...

    async def babble(self) -> None:
        """The server brings an event that the platform cannot read."""
        ...

    async def lose_answer(self) -> None:
        """The server carries the next send out, and its answer is lost."""
        ...

    async def lose_request(self) -> None:
        """The next send is lost before it reaches the server."""
        ...

    async def block(self) -> None:
        """From now on the server refuses every message for this chat, and says so."""
        ...

    async def go_away(self) -> None:
        """From now on the server is unreachable."""
        ...


class Unfit(AssertionError):
    """The platform does not do what its capabilities or the contract say."""


def must(true: bool, words: str) -> None:
    if not true:
        raise Unfit(words)


def part(
    chat: ChatAddress,
    text: str,
    key: str,
    repeated: bool = False,
    options: tuple[str, ...] = (),
    files: tuple[Attachment, ...] = (),
) -> Delivery:
    """A delivery with one part, as the ledger holds it."""
    kind = OwedKind.QUESTION if options else OwedKind.REPLY
    state = DeliveryState.SENDING
    return Delivery(
        DeliveryId(1), chat, 1, kind, 1, 1, text, options, None, key, state, 0, repeated, 0, files=files
    )


async def connected(stand: Stand) -> Platform:
    platform = stand.fresh()
    await platform.connect()
    return platform


async def met(stand: Stand, platform: Platform) -> str | None:
    """Let the person write first, as most platforms require; returns the position after that."""
    await stand.write("hello, bot")
    _, incoming = await read(platform, 1)
    await platform.confirm(incoming, accepted(incoming))
    return incoming.cursor.value if incoming.cursor else None


async def read(platform: Platform, many: int, after: str | None = None) -> tuple[list[Arrival], Incoming]:
    """Read until this many messages are there; an unconfirmed read repeats the earlier ones."""
    while True:
        incoming = await platform.receive(after)
        arrivals = [one for one in incoming.events if isinstance(one, Arrival)]
        if len(arrivals) >= many:
            return arrivals, incoming
        if not arrivals and incoming.cursor is not None:
            after = incoming.cursor.value


def accepted(incoming: Incoming) -> tuple[Accepted, ...]:
    ids = [one.event_id for one in incoming.events if isinstance(one, Arrival)]
    return tuple(Accepted(id_, Position(number), fresh=True) for number, id_ in enumerate(ids, start=1))


async def tried(platform: Platform, delivery: Delivery) -> SendResult:
    """The result of a send; a fault counts as lost, because the message may have arrived."""
    try:
        return await platform.send(delivery)
    except PlatformDown as down:
        return Lost(str(down))
