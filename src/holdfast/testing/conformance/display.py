"""Checks of threads, buttons and transient display."""

from __future__ import annotations

from typing import cast

from holdfast.clock import SystemClock
from holdfast.model import Fence, InstanceId, Sent, SessionId, TurnId, working_key
from holdfast.platforms import Shows, Working

from .stand import Stand, connected, met, must, part, read


async def keeps_to_the_thread(stand: Stand) -> None:
    platform = await connected(stand)
    await met(stand, platform)
    one, other = await stand.open_thread(), await stand.open_thread()
    await platform.send(part(stand.chat(one), "in one", "k1"))
    await platform.send(part(stand.chat(other), "in the other", "k2"))
    where = [await stand.seen(one), await stand.seen(other), await stand.seen()]
    must(where == [["in one"], ["in the other"], []], f"replies to two threads are seen as {where}")


async def brings_the_thread(stand: Stand) -> None:
    platform = await connected(stand)
    thread = await stand.open_thread()
    await stand.write("from a thread", thread)
    arrivals, _ = await read(platform, 1)
    address = arrivals[0].origin.place.address
    must(address == stand.chat(thread), f"what was written in {stand.chat(thread)} comes from {address}")


async def brings_a_press(stand: Stand) -> None:
    """The press must also reach a process that did not ask: buttons outlive a process."""
    platform = await connected(stand)
    after = await met(stand, platform)
    question = part(stand.chat(), "Which?", "q1", options=("tea", "coffee"))
    must(isinstance(await platform.send(question), Sent), "a question with buttons is not taken")
    await platform.close()
    platform = await connected(stand)
    await stand.press("coffee")
    arrivals, _ = await read(platform, 1, after)
    must(arrivals[0].pressed == question.dedupe, f"a press is about {arrivals[0].pressed}")
    must(arrivals[0].text == "coffee", f"a press of 'coffee' says {arrivals[0].text!r}")


async def edits_its_messages(stand: Stand) -> None:
    platform = await connected(stand)
    await met(stand, platform)
    # The gateway edits only the message that says that work goes on.
    result = await platform.send(part(stand.chat(), "before", working_key(TurnId("t"), 1)))
    must(isinstance(result, Sent) and result.platform_id is not None, f"nothing to edit it by: {result}")
    assert isinstance(result, Sent) and result.platform_id is not None
    shows, clock = cast(Shows, platform), SystemClock()
    while not await shows.edit(stand.chat(), result.platform_id, "after"):
        # Refused for now: messages come first.
        await clock.sleep(platform.capabilities.show_every)
    seen = await stand.seen()
    must(seen == ["after"], f"edited, it is seen as {seen}")


async def shows_nothing_that_stays(stand: Stand) -> None:
    platform = await connected(stand)
    await met(stand, platform)
    by = Fence(SessionId("s"), TurnId("t"), 1, InstanceId("i"))
    shows = cast(Shows, platform)
    await shows.show(stand.chat(), Working(by, typing=True, draft="half a", notice="still at it"))
    await shows.show(stand.chat(), Working(by))
    seen = await stand.seen()
    must(seen == [], f"of work in progress messages stay: {seen}")
