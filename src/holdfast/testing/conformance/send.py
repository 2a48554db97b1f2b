"""Checks of sending: one try, and an honest result."""

from __future__ import annotations

from holdfast.model import Lost, Rejected, Sent, TryAgain
from holdfast.platforms import PlatformDown
from holdfast.policy.delivery.parts import POSSIBLY_REPEATED

from .stand import Stand, Unfit, connected, met, must, part, tried


async def shows_what_is_sent(stand: Stand) -> None:
    platform = await connected(stand)
    await met(stand, platform)
    first = await platform.send(part(stand.chat(), "hello", "k1"))
    await platform.send(part(stand.chat(), "and good day", "k2"))
    must(isinstance(first, Sent), f"a send that was taken is said to be {first}")
    seen = await stand.seen()
    must(seen == ["hello", "and good day"], f"the person sees {seen}")


async def holds_as_much_as_it_says(stand: Stand) -> None:
    platform = await connected(stand)
    await met(stand, platform)
    text = "w" * platform.capabilities.longest
    result = await platform.send(part(stand.chat(), text, "k1"))
    must(isinstance(result, Sent), f"a message of the longest kind is {result}")
    must(await stand.seen() == [text], "a message of the longest kind is not seen whole")


async def gives_files(stand: Stand) -> None:
    platform = await connected(stand)
    await met(stand, platform)
    content = b"all of the report"
    given = part(stand.chat(), "look at this", "k1", files=(stand.stored(content),))
    result = await platform.send(given)
    must(isinstance(result, Sent), f"a file that was taken is said to be {result}")
    got, seen = await stand.files(), await stand.seen()
    must(got == [content], f"the person gets {got}")
    must(any("look at this" in text for text in seen), f"what is said of a file is seen as {seen}")


async def marks_what_may_be_a_repeat(stand: Stand) -> None:
    platform = await connected(stand)
    await met(stand, platform)
    await platform.send(part(stand.chat(), "again", "k1", repeated=True))
    seen = await stand.seen()
    must(seen == [f"{POSSIBLY_REPEATED}again"], f"a possible repeat is seen as {seen}")


async def shows_a_key_once(stand: Stand) -> None:
    platform = await connected(stand)
    await met(stand, platform)
    delivery = part(stand.chat(), "once", "k1")
    await platform.send(delivery)
    await platform.close()
    again = await (await connected(stand)).send(delivery)
    must(isinstance(again, Sent), f"the repeat of a send with its key is {again}")
    seen = await stand.seen()
    must(seen == ["once"], f"sent twice with one key, it is seen as {seen}")


async def says_what_is_there(stand: Stand) -> None:
    """The platform must also tell a process that did not send it."""
    platform = await connected(stand)
    await met(stand, platform)
    delivery = part(stand.chat(), "there?", "k1")
    await platform.send(delivery)
    await platform.close()
    found = await (await connected(stand)).find(delivery)
    must(found is True or isinstance(found, Sent), f"asked for what is there, it says {found}")


async def says_what_is_not_there(stand: Stand) -> None:
    platform = await connected(stand)
    await met(stand, platform)
    await stand.lose_request()
    delivery = part(stand.chat(), "there?", "k1")
    result = await tried(platform, delivery)
    found = await platform.find(delivery)
    must(not isinstance(result, (Sent, Rejected)), f"a request that was lost is called {result}")
    must(found is False or found is None, f"asked for what never arrived, it says {found}")


async def admits_a_lost_answer(stand: Stand) -> None:
    platform = await connected(stand)
    await met(stand, platform)
    await stand.lose_answer()
    result = await platform.send(part(stand.chat(), "lost?", "k1"))
    must(isinstance(result, Lost), f"it arrived, its answer did not, and that is called {result}")


async def admits_a_refusal(stand: Stand) -> None:
    platform = await connected(stand)
    await met(stand, platform)
    await stand.block()
    result = await platform.send(part(stand.chat(), "unwanted", "k1"))
    must(isinstance(result, Rejected), f"a refusal for good is called {result}")


async def admits_that_the_server_is_gone(stand: Stand) -> None:
    platform = await connected(stand)
    await met(stand, platform)
    await stand.go_away()
    result = await tried(platform, part(stand.chat(), "anybody?", "k1"))
    must(isinstance(result, (TryAgain, Lost)), f"without a connection a send is called {result}")
    try:
        await stand.fresh().connect()
    except PlatformDown:
        return
    raise Unfit("it connects without a server; it has to raise PlatformDown")
