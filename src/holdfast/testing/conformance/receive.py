"""Checks of what a platform says about itself, and of how it is read."""

from __future__ import annotations

import re

from holdfast.model import SetAside, place_at
from holdfast.platforms import Ack, Arrival, Idempotency

from .stand import Stand, accepted, connected, must, read

_NAME = re.compile(r"[a-z][a-z0-9_-]*")


async def is_named(stand: Stand) -> None:
    platform = stand.fresh()
    must(bool(_NAME.fullmatch(platform.name)), f"its name is {platform.name!r}: {_NAME.pattern} is allowed")
    must(bool(platform.account), "it has no account")
    place = place_at(stand.chat())
    must((place.platform, place.account) == (platform.name, platform.account), "its chats are another's")


async def says_what_fits_together(stand: Stand) -> None:
    platform = stand.fresh()
    can = platform.capabilities
    window = can.idempotency is Idempotency.WINDOW
    must(window is (can.repeat_within > 0), "repeat_within is for, and only for, keys known for a while")
    must(can.longest >= 1 and can.typing >= 0 and can.show_every > 0, "its numbers make no sense")
    must(can.catch_up is None or can.catch_up >= 0, "catch_up is a time")
    must(
        can.ack is not Ack.OFFSET or platform.cursor is not None,
        "it acknowledges by a position it has none of",
    )
    must(not can.shows or hasattr(platform, "show"), "it shows work in progress and has no `show`")
    must(not can.edit or hasattr(platform, "edit"), "it edits and has no `edit`")


async def brings_in_order(stand: Stand) -> None:
    platform = await connected(stand)
    texts = [f"message {number}" for number in range(3)]
    for text in texts:
        await stand.write(text)
    arrivals, _ = await read(platform, 3)
    must([one.text for one in arrivals] == texts, f"it brings {[one.text for one in arrivals]}")
    must(len({one.event_id for one in arrivals}) == len(texts), "two messages have one event id")
    for one in arrivals:
        must(one.origin.place.address == stand.chat(), f"it brings them from {one.origin.place.address}")
        must(bool(one.origin.sender.strip()), "it brings a message without its sender's id")


async def brings_again_what_was_not_confirmed(stand: Stand) -> None:
    """A process that dies after a read has lost nothing, and the event keeps its id."""
    platform = await connected(stand)
    await stand.write("not confirmed yet")
    (first,), _ = await read(platform, 1)
    if platform.capabilities.catch_up != 0:
        await platform.close()
        platform = await connected(stand)
    (again,), _ = await read(platform, 1)
    must(again.text == first.text, "what was not confirmed is gone")
    must(again.event_id == first.event_id, "the same event comes again under another id")


async def forgets_what_was_confirmed(stand: Stand) -> None:
    platform = await connected(stand)
    await stand.write("one")
    _, incoming = await read(platform, 1)
    await platform.confirm(incoming, accepted(incoming))
    await stand.write("two")
    after = incoming.cursor.value if incoming.cursor else None
    arrivals, _ = await read(platform, 1, after)
    must([one.text for one in arrivals] == ["two"], f"it brings {[one.text for one in arrivals]} after that")


async def keeps_what_is_written_meanwhile(stand: Stand) -> None:
    await stand.write("while no one reads")
    arrivals, _ = await read(await connected(stand), 1)
    must(arrivals[0].text == "while no one reads", f"it brings {arrivals[0].text!r}")


async def sets_aside_what_cannot_be_read(stand: Stand) -> None:
    platform = await connected(stand)
    await stand.babble()
    await stand.write("readable")
    events: list[object] = []
    after: str | None = None
    while not any(isinstance(one, Arrival) for one in events):
        incoming = await platform.receive(after)
        events += incoming.events
        await platform.confirm(incoming, accepted(incoming))
        after = incoming.cursor.value if incoming.cursor else None
    must(any(isinstance(one, SetAside) for one in events), "what cannot be read is passed over in silence")
