"""What every platform has to do, whoever made it, as checks that its own tests can run.

    class MyStand:                       # see `Stand`: your platform, its server, one person who uses it
        ...

    def test_my_platform_keeps_the_contract() -> None:
        assert asyncio.run(faults_of(my_stand)) == ()

A check that does not apply to what the platform says it can do is passed over; what a stand cannot bring
about is named in its `cannot`, so that nothing is left out unseen (`left_out` names both).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from types import MappingProxyType
from typing import Protocol, cast

from holdfast.clock import SystemClock
from holdfast.model import (
    Accepted,
    ChatAddress,
    Delivery,
    DeliveryId,
    DeliveryState,
    Fence,
    InstanceId,
    Lost,
    OwedKind,
    Position,
    Rejected,
    SendResult,
    Sent,
    SessionId,
    SetAside,
    TryAgain,
    TurnId,
    place_at,
    working_key,
)
from holdfast.platforms import (
    Ack,
    Arrival,
    Capabilities,
    Idempotency,
    Incoming,
    Platform,
    PlatformDown,
    Shows,
    Working,
)
from holdfast.policy.parts import POSSIBLY_REPEATED
from holdfast.policy.retry import Settling
from holdfast.records import dataclass

_NAME = re.compile(r"[a-z][a-z0-9_-]*")
_LONG_AFTER = 10**15
PATIENCE = 60.0
"""Seconds after which a check that waits has failed."""


class Stand(Protocol):
    """A platform on trial: its server, and one person who talks with the bot in a direct chat."""

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

    async def open_thread(self) -> str:
        """The person begins a thread; only with `threads`."""
        ...

    async def press(self, label: str) -> None:
        """The person presses the newest button with this label; only with `buttons`."""
        ...

    async def babble(self) -> None:
        """The server brings something nobody can read."""
        ...

    async def lose_answer(self) -> None:
        """The next send is carried out, and its answer is lost on the way."""
        ...

    async def lose_request(self) -> None:
        """The next send is lost before the server has it."""
        ...

    async def block(self) -> None:
        """From now on the server takes nothing for this chat, and says so."""
        ...

    async def go_away(self) -> None:
        """From now on the server cannot be reached."""
        ...


Check = Callable[[Stand], Awaitable[None]]
MakeStand = Callable[[], AbstractAsyncContextManager[Stand]]


class Unfit(AssertionError):
    """The platform does not do what its capabilities, or the contract, say."""


def _must(true: bool, words: str) -> None:
    if not true:
        raise Unfit(words)


@dataclass(frozen=True, slots=True)
class _Rule:
    check: Check
    needs: tuple[str, ...] = ()
    """Methods of the stand it uses that not every stand has."""
    applies: Callable[[Capabilities], bool] = lambda can: True


async def faults_of(make: MakeStand) -> tuple[str, ...]:
    """Run every check on a stand of its own; returns what was found wrong, each with its check's name."""
    found = []
    for name in CHECKS:
        words = await run_check(name, make)
        if words is not None:
            found.append(f"{name}: {words}")
    return tuple(found)


async def run_check(name: str, make: MakeStand) -> str | None:
    """What is wrong by this check; None if nothing is, or if it does not apply here."""
    rule = CHECKS[name]
    async with make() as stand:
        if not rule.applies(stand.fresh().capabilities) or stand.cannot & {*rule.needs}:
            return None
        try:
            async with asyncio.timeout(PATIENCE):
                await rule.check(stand)
        except Unfit as fault:
            return str(fault)
        except TimeoutError:
            return "what it has to do never comes"
        except Exception as error:  # noqa: BLE001 - a platform that breaks has failed the check it broke in
            return f"it raised {type(error).__name__}: {error}"
    return None


async def left_out(make: MakeStand) -> frozenset[str]:
    """The checks that do not apply to this platform, or that its stand cannot make."""
    async with make() as stand:
        can, cannot = stand.fresh().capabilities, stand.cannot
    return frozenset(name for name, rule in CHECKS.items() if not rule.applies(can) or cannot & {*rule.needs})


# What a platform says of itself.


async def _is_named(stand: Stand) -> None:
    platform = stand.fresh()
    _must(bool(_NAME.fullmatch(platform.name)), f"its name is {platform.name!r}: {_NAME.pattern} is allowed")
    _must(bool(platform.account), "it has no account")
    place = place_at(stand.chat())
    _must((place.platform, place.account) == (platform.name, platform.account), "its chats are another's")


async def _says_what_fits_together(stand: Stand) -> None:
    platform = stand.fresh()
    can = platform.capabilities
    window = can.idempotency is Idempotency.WINDOW
    _must(window is (can.repeat_within > 0), "repeat_within is for, and only for, keys known for a while")
    _must(can.longest >= 1 and can.typing >= 0 and can.show_every > 0, "its numbers make no sense")
    _must(can.catch_up is None or can.catch_up >= 0, "catch_up is a time")
    _must(
        can.ack is not Ack.OFFSET or platform.cursor is not None,
        "it acknowledges by a position it has none of",
    )
    _must(not can.shows or hasattr(platform, "show"), "it shows work in progress and has no `show`")
    _must(not can.edit or hasattr(platform, "edit"), "it edits and has no `edit`")


# Reading.


async def _brings_in_order(stand: Stand) -> None:
    platform = await _connected(stand)
    texts = [f"message {number}" for number in range(3)]
    for text in texts:
        await stand.write(text)
    arrivals, _ = await _read(platform, 3)
    _must([one.text for one in arrivals] == texts, f"it brings {[one.text for one in arrivals]}")
    _must(len({one.event_id for one in arrivals}) == len(texts), "two messages have one event id")
    for one in arrivals:
        _must(one.origin.place.address == stand.chat(), f"it brings them from {one.origin.place.address}")
        _must(bool(one.origin.sender.strip()), "it brings a message without its sender's id")


async def _brings_again_what_was_not_confirmed(stand: Stand) -> None:
    """A process that dies after a read has lost nothing, and the event is known again by its id."""
    platform = await _connected(stand)
    await stand.write("kept by nobody yet")
    (first,), _ = await _read(platform, 1)
    if platform.capabilities.catch_up != 0:
        await platform.close()
        platform = await _connected(stand)
    (again,), _ = await _read(platform, 1)
    _must(again.text == first.text, "what was not confirmed is gone")
    _must(again.event_id == first.event_id, "the same event comes again under another id")


async def _forgets_what_was_confirmed(stand: Stand) -> None:
    platform = await _connected(stand)
    await stand.write("one")
    _, incoming = await _read(platform, 1)
    await platform.confirm(incoming, _accepted(incoming))
    await stand.write("two")
    after = incoming.cursor.value if incoming.cursor else None
    arrivals, _ = await _read(platform, 1, after)
    _must([one.text for one in arrivals] == ["two"], f"it brings {[one.text for one in arrivals]} after that")


async def _keeps_what_is_written_meanwhile(stand: Stand) -> None:
    await stand.write("while nobody reads")
    arrivals, _ = await _read(await _connected(stand), 1)
    _must(arrivals[0].text == "while nobody reads", f"it brings {arrivals[0].text!r}")


async def _sets_aside_what_cannot_be_read(stand: Stand) -> None:
    platform = await _connected(stand)
    await stand.babble()
    await stand.write("readable")
    events: list[object] = []
    after: str | None = None
    while not any(isinstance(one, Arrival) for one in events):
        incoming = await platform.receive(after)
        events += incoming.events
        await platform.confirm(incoming, _accepted(incoming))
        after = incoming.cursor.value if incoming.cursor else None
    _must(any(isinstance(one, SetAside) for one in events), "what cannot be read is passed over in silence")


# Sending.


async def _shows_what_is_sent(stand: Stand) -> None:
    platform = await _connected(stand)
    await _met(stand, platform)
    first = await platform.send(part(stand.chat(), "hello", "k1"))
    await platform.send(part(stand.chat(), "and good day", "k2"))
    _must(isinstance(first, Sent), f"a send that was taken is said to be {first}")
    seen = await stand.seen()
    _must(seen == ["hello", "and good day"], f"the person sees {seen}")


async def _holds_as_much_as_it_says(stand: Stand) -> None:
    platform = await _connected(stand)
    await _met(stand, platform)
    text = "w" * platform.capabilities.longest
    result = await platform.send(part(stand.chat(), text, "k1"))
    _must(isinstance(result, Sent), f"a message of the longest kind is {result}")
    _must(await stand.seen() == [text], "a message of the longest kind is not seen whole")


async def _marks_what_may_be_a_repeat(stand: Stand) -> None:
    platform = await _connected(stand)
    await _met(stand, platform)
    await platform.send(part(stand.chat(), "again", "k1", repeated=True))
    seen = await stand.seen()
    _must(seen == [f"{POSSIBLY_REPEATED}again"], f"a possible repeat is seen as {seen}")


async def _shows_a_key_once(stand: Stand) -> None:
    platform = await _connected(stand)
    await _met(stand, platform)
    delivery = part(stand.chat(), "once", "k1")
    await platform.send(delivery)
    await platform.close()
    again = await (await _connected(stand)).send(delivery)
    _must(isinstance(again, Sent), f"the repeat of a send with its key is {again}")
    seen = await stand.seen()
    _must(seen == ["once"], f"sent twice with one key, it is seen as {seen}")


async def _says_what_is_there(stand: Stand) -> None:
    """Also to a process that did not send it."""
    platform = await _connected(stand)
    await _met(stand, platform)
    delivery = part(stand.chat(), "there?", "k1")
    await platform.send(delivery)
    await platform.close()
    found = await (await _connected(stand)).find(delivery)
    _must(found is True or isinstance(found, Sent), f"asked for what is there, it says {found}")


async def _says_what_is_not_there(stand: Stand) -> None:
    platform = await _connected(stand)
    await _met(stand, platform)
    await stand.lose_request()
    delivery = part(stand.chat(), "there?", "k1")
    result = await _try(platform, delivery)
    found = await platform.find(delivery)
    _must(not isinstance(result, (Sent, Rejected)), f"a request that was lost is called {result}")
    _must(found is False or found is None, f"asked for what never arrived, it says {found}")


async def _admits_a_lost_answer(stand: Stand) -> None:
    platform = await _connected(stand)
    await _met(stand, platform)
    await stand.lose_answer()
    result = await platform.send(part(stand.chat(), "lost?", "k1"))
    _must(isinstance(result, Lost), f"it arrived, its answer did not, and that is called {result}")


async def _admits_a_refusal(stand: Stand) -> None:
    platform = await _connected(stand)
    await _met(stand, platform)
    await stand.block()
    result = await platform.send(part(stand.chat(), "unwanted", "k1"))
    _must(isinstance(result, Rejected), f"a refusal for good is called {result}")


async def _admits_that_nobody_is_there(stand: Stand) -> None:
    platform = await _connected(stand)
    await _met(stand, platform)
    await stand.go_away()
    result = await _try(platform, part(stand.chat(), "anybody?", "k1"))
    _must(isinstance(result, (TryAgain, Lost)), f"without a connection a send is called {result}")
    try:
        await stand.fresh().connect()
    except PlatformDown:
        return
    raise Unfit("it connects to nobody; it has to raise PlatformDown")


# Threads, buttons, and what is only for eyes.


async def _keeps_to_the_thread(stand: Stand) -> None:
    platform = await _connected(stand)
    await _met(stand, platform)
    one, other = await stand.open_thread(), await stand.open_thread()
    await platform.send(part(stand.chat(one), "in one", "k1"))
    await platform.send(part(stand.chat(other), "in the other", "k2"))
    where = [await stand.seen(one), await stand.seen(other), await stand.seen()]
    _must(where == [["in one"], ["in the other"], []], f"replies to two threads are seen as {where}")


async def _brings_the_thread(stand: Stand) -> None:
    platform = await _connected(stand)
    thread = await stand.open_thread()
    await stand.write("from a thread", thread)
    arrivals, _ = await _read(platform, 1)
    address = arrivals[0].origin.place.address
    _must(address == stand.chat(thread), f"what was written in {stand.chat(thread)} comes from {address}")


async def _brings_a_press(stand: Stand) -> None:
    """Also to a process that did not ask: buttons outlive it."""
    platform = await _connected(stand)
    after = await _met(stand, platform)
    question = part(stand.chat(), "Which?", "q1", options=("tea", "coffee"))
    _must(isinstance(await platform.send(question), Sent), "a question with buttons is not taken")
    await platform.close()
    platform = await _connected(stand)
    await stand.press("coffee")
    arrivals, _ = await _read(platform, 1, after)
    _must(arrivals[0].pressed == question.dedupe, f"a press is about {arrivals[0].pressed}")
    _must(arrivals[0].text == "coffee", f"a press of 'coffee' says {arrivals[0].text!r}")


async def _edits_its_messages(stand: Stand) -> None:
    platform = await _connected(stand)
    await _met(stand, platform)
    # What is edited is the one message that says that work goes on.
    result = await platform.send(part(stand.chat(), "before", working_key(TurnId("t"), 1)))
    _must(isinstance(result, Sent) and result.platform_id is not None, f"nothing to edit it by: {result}")
    assert isinstance(result, Sent) and result.platform_id is not None
    shows, clock = cast(Shows, platform), SystemClock()
    while not await shows.edit(stand.chat(), result.platform_id, "after"):
        # Not now: messages come first.
        await clock.sleep(platform.capabilities.show_every)
    seen = await stand.seen()
    _must(seen == ["after"], f"edited, it is seen as {seen}")


async def _shows_nothing_that_stays(stand: Stand) -> None:
    platform = await _connected(stand)
    await _met(stand, platform)
    by = Fence(SessionId("s"), TurnId("t"), 1, InstanceId("i"))
    shows = cast(Shows, platform)
    await shows.show(stand.chat(), Working(by, typing=True, draft="half a", notice="still at it"))
    await shows.show(stand.chat(), Working(by))
    seen = await stand.seen()
    _must(seen == [], f"of work in progress messages stay: {seen}")


CHECKS: Mapping[str, _Rule] = MappingProxyType(
    {
        "is named": _Rule(_is_named),
        "says what fits together": _Rule(_says_what_fits_together),
        "brings in order": _Rule(_brings_in_order),
        "brings again what was not confirmed": _Rule(_brings_again_what_was_not_confirmed),
        "forgets what was confirmed": _Rule(_forgets_what_was_confirmed),
        "keeps what is written meanwhile": _Rule(
            _keeps_what_is_written_meanwhile, applies=lambda can: can.catch_up != 0
        ),
        "sets aside what cannot be read": _Rule(_sets_aside_what_cannot_be_read, ("babble",)),
        "shows what is sent": _Rule(_shows_what_is_sent),
        "holds as much as it says": _Rule(_holds_as_much_as_it_says),
        "marks what may be a repeat": _Rule(
            _marks_what_may_be_a_repeat,
            applies=lambda can: can.settling(_LONG_AFTER) is Settling.RESEND_MARKED,
        ),
        "shows a key once": _Rule(
            _shows_a_key_once, applies=lambda can: can.idempotency is not Idempotency.NONE
        ),
        "says what is there": _Rule(_says_what_is_there, applies=lambda can: can.reconcile),
        "says what is not there": _Rule(
            _says_what_is_not_there, ("lose_request",), lambda can: can.reconcile
        ),
        "admits a lost answer": _Rule(_admits_a_lost_answer, ("lose_answer",)),
        "admits a refusal": _Rule(_admits_a_refusal, ("block",)),
        "admits that nobody is there": _Rule(_admits_that_nobody_is_there, ("go_away",)),
        "keeps to the thread": _Rule(_keeps_to_the_thread, ("open_thread",), lambda can: can.threads),
        "brings the thread": _Rule(_brings_the_thread, ("open_thread",), lambda can: can.threads),
        "brings a press": _Rule(_brings_a_press, ("press",), lambda can: can.buttons),
        "edits its messages": _Rule(_edits_its_messages, applies=lambda can: can.edit),
        "shows nothing that stays": _Rule(_shows_nothing_that_stays, applies=lambda can: can.shows),
    }
)
"""Every check by its name."""


# Small words for the checks.


def part(
    chat: ChatAddress, text: str, key: str, repeated: bool = False, options: tuple[str, ...] = ()
) -> Delivery:
    """One thing to send, in one part, as the ledger would hold it."""
    kind = OwedKind.QUESTION if options else OwedKind.REPLY
    state = DeliveryState.SENDING
    return Delivery(DeliveryId(1), chat, 1, kind, 1, 1, text, options, None, key, state, 0, repeated, 0)


async def _connected(stand: Stand) -> Platform:
    platform = stand.fresh()
    await platform.connect()
    return platform


async def _met(stand: Stand, platform: Platform) -> str | None:
    """The person has written first, as most platforms want it; returns the position after that."""
    await stand.write("hello, bot")
    _, incoming = await _read(platform, 1)
    await platform.confirm(incoming, _accepted(incoming))
    return incoming.cursor.value if incoming.cursor else None


async def _read(platform: Platform, many: int, after: str | None = None) -> tuple[list[Arrival], Incoming]:
    """Read until so many messages are there; an unconfirmed read brings all that came before as well."""
    while True:
        incoming = await platform.receive(after)
        arrivals = [one for one in incoming.events if isinstance(one, Arrival)]
        if len(arrivals) >= many:
            return arrivals, incoming
        if not arrivals and incoming.cursor is not None:
            after = incoming.cursor.value


def _accepted(incoming: Incoming) -> tuple[Accepted, ...]:
    ids = [one.event_id for one in incoming.events if isinstance(one, Arrival)]
    return tuple(Accepted(id_, Position(number), fresh=True) for number, id_ in enumerate(ids, start=1))


async def _try(platform: Platform, delivery: Delivery) -> SendResult:
    """A fault of a send counts as lost: nobody knows whether it arrived."""
    try:
        return await platform.send(delivery)
    except PlatformDown as down:
        return Lost(str(down))
