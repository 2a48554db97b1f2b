"""What people are promised on a platform, and what not, in words: all of it follows from its capabilities."""

from __future__ import annotations

from enum import StrEnum

from holdfast.policy.delivery.retry import Settling
from holdfast.records import dataclass

from .base import Ack, Capabilities
from .pace import Rate

_UNITS = ((86_400_000, "day"), (3_600_000, "hour"), (60_000, "minute"), (1_000, "second"))
_SIZES = ((1_000_000, "MB"), (1_000, "kB"))
LONG_AFTER = 10**15
"""An age that every key has reached."""


class Holds(StrEnum):
    """How far a promise goes."""

    YES = "yes"
    PARTLY = "partly"
    """With a limit that the words name."""
    NO = "no"


class About(StrEnum):
    """What a promise is about; each platform is asked about every one of them, in this order."""

    TAKEN = "taken"
    TAKEN_ONCE = "taken once"
    WHILE_DOWN = "while down"
    DELIVERED = "delivered"
    DELIVERED_ONCE = "delivered once"
    IN_ORDER = "in order"
    TOPICS = "topics"
    BUTTONS = "buttons"
    WORKING = "work in progress"
    LONG = "long replies"
    PACE = "pace"
    FILES_IN = "files from people"
    FILES_OUT = "files to people"
    NEWCOMERS = "newcomers"


@dataclass(frozen=True, slots=True)
class Guarantee:
    """One promise, or that there is none."""

    about: About
    holds: Holds
    words: str


def guarantees(can: Capabilities) -> tuple[Guarantee, ...]:
    """Everything that is promised on a platform that can do this, and everything that is not."""
    return (
        _taken(can),
        Guarantee(
            About.TAKEN_ONCE,
            Holds.YES,
            "What the platform brings twice is taken once, also when a restart lies between.",
        ),
        _while_down(can),
        Guarantee(
            About.DELIVERED,
            Holds.YES,
            "A reply is owed in the commit that ends its turn. It is sent until the platform takes it or "
            "refuses it, for retry.age (24 hours), also over restarts; that something could not be sent is "
            "said in its place, if the chat can be reached at all.",
        ),
        _delivered_once(can),
        Guarantee(
            About.IN_ORDER,
            Holds.PARTLY,
            "What a chat is owed is sent in its order, and nothing comes between the parts of a reply. A "
            "part that fails for retry.aside (20 minutes) while other sends succeed steps aside: a line "
            "takes its place, what follows goes on, and when it arrives it is marked as late.",
        ),
        _topics(can),
        _buttons(can),
        _working(can),
        Guarantee(
            About.LONG,
            Holds.YES,
            f"A message holds {can.longest:,} characters; a longer reply comes in several, in order.",
        ),
        _pace(can),
        _files_in(can.attachments),
        _files_out(can.files),
        _newcomers(can),
    )


def _taken(can: Capabilities) -> Guarantee:
    if can.ack is Ack.OFFSET:
        again = "one that was read before a crash and not committed is read again."
    else:
        again = "one that was not gets no answer, so whoever delivered it knows that it was not taken."
    return Guarantee(
        About.TAKEN, Holds.YES, f"A message is confirmed only once it is committed to disk; {again}"
    )


def _while_down(can: Capabilities) -> Guarantee:
    later = "What was written longer ago than queue.backlog is offered, not begun with."
    if can.catch_up is None:
        words = f"What people write while the gateway is down is kept by the platform and fetched. {later}"
        return Guarantee(About.WHILE_DOWN, Holds.YES, words)
    if can.catch_up == 0:
        words = "What people write while the gateway is down does not reach it later."
        return Guarantee(About.WHILE_DOWN, Holds.NO, words)
    words = (
        f"What people write while the gateway is down is kept by the platform for {_time(can.catch_up)} and "
        f"fetched; what it has kept for longer is lost, and nobody can tell. {later}"
    )
    return Guarantee(About.WHILE_DOWN, Holds.PARTLY, words)


def _delivered_once(can: Capabilities) -> Guarantee:
    """What becomes of a send whose outcome nobody knows, by the very rule that settles it."""
    cut = "When nobody knows whether a send arrived (a crash, a lost answer, an error of the server)"
    marked = (
        "it is sent again, visibly marked as possibly repeated: it may be seen more than once, never "
        "unmarked. It is repeated retry.repeats times (8) at most, spread over retry.age, and at once when "
        "another send of the account succeeds."
    )
    at_first, later = can.settling(0), can.settling(LONG_AFTER)
    if at_first is Settling.ASK:
        words = (
            f"{cut}, the platform is asked, and it is sent again only if it is not there. Where the platform "
            f"cannot tell, {marked}"
        )
        return Guarantee(About.DELIVERED_ONCE, Holds.YES, words)
    if at_first is Settling.RESEND_MARKED:
        return Guarantee(About.DELIVERED_ONCE, Holds.PARTLY, f"{cut}, {marked}")
    known = f"{cut}, it is sent again with the same key, by which the platform shows it once"
    if later is Settling.REPEAT_WITH_KEY:
        return Guarantee(About.DELIVERED_ONCE, Holds.YES, f"{known}.")
    words = f"{known} within {_time(can.repeat_within)} of the first try; after that {marked}"
    return Guarantee(About.DELIVERED_ONCE, Holds.PARTLY, words)


def _topics(can: Capabilities) -> Guarantee:
    if not can.threads:
        return Guarantee(About.TOPICS, Holds.NO, "It has no topics, or none that are told apart.")
    words = (
        "A topic is a conversation of its own. A reply goes to the topic its question came from, also after "
        "a crash and when it is sent again."
    )
    return Guarantee(About.TOPICS, Holds.YES, words)


def _buttons(can: Capabilities) -> Guarantee:
    if not can.buttons:
        words = "Questions have no buttons; they are answered by number or in words, also after a restart."
        return Guarantee(About.BUTTONS, Holds.NO, words)
    words = "A question's buttons still work after a restart, once, as long as it is open."
    return Guarantee(About.BUTTONS, Holds.YES, words)


def _working(can: Capabilities) -> Guarantee:
    seen = [
        *(["that it types"] if can.typing > 0 else []),
        *(["the reply as it grows"] if can.drafts else []),
        *(["that work goes on, beside the messages"] if can.notices else []),
        *(["that work goes on, in one message that is edited"] if can.edit and not can.notices else []),
        *(["that work goes on, in one message"] if not can.edit and not can.notices else []),
    ]
    words = f"Seen of work in progress: {'; '.join(seen)}. Of this some may be lost; the reply itself is not."
    return Guarantee(About.WORKING, Holds.PARTLY, words)


def _pace(can: Capabilities) -> Guarantee:
    rates = [
        *([f"{_rate(can.each_chat)} to one chat"] if can.each_chat else []),
        *([f"{_rate(can.all_chats)} in all"] if can.all_chats else []),
    ]
    if not rates:
        words = "No limits of the platform are known. If it asks to wait, that is kept, also over a restart."
        return Guarantee(About.PACE, Holds.YES, words)
    words = (
        f"The platform takes at most {' and '.join(rates)}: more waits in line, and none is dropped. If it "
        "asks to wait longer, that is kept, also over a restart."
    )
    return Guarantee(About.PACE, Holds.PARTLY, words)


def _files_in(most: int) -> Guarantee:
    if not most:
        return Guarantee(About.FILES_IN, Holds.NO, "Files that people send are not taken.")
    words = f"Files of up to {_size(most)} are kept before the message they came with is confirmed."
    return Guarantee(About.FILES_IN, Holds.PARTLY, words)


def _files_out(most: int) -> Guarantee:
    instead = "a line says that there is one and how whoever runs the gateway gets it"
    if not most:
        return Guarantee(About.FILES_OUT, Holds.NO, f"No file is sent to people: {instead}.")
    words = (
        f"A file of up to {_size(most)} is owed in the commit that settles the call that sends it, as it was "
        f"then, and is delivered like a reply. For one that is larger or refused, {instead}."
    )
    return Guarantee(About.FILES_OUT, Holds.PARTLY, words)


def _newcomers(can: Capabilities) -> Guarantee:
    if not can.newcomers:
        words = "Who is not let in gets no answer; nothing of what they write is kept."
        return Guarantee(About.NEWCOMERS, Holds.NO, words)
    words = (
        "Who is not let in gets a code that the owner can approve, unless [pairing] says otherwise; in a "
        "group, nothing. What they wrote before that is not kept, and they are told so."
    )
    return Guarantee(About.NEWCOMERS, Holds.YES, words)


def _time(milliseconds: int) -> str:
    for size, unit in _UNITS:
        if milliseconds >= size and milliseconds % size == 0:
            return _many(milliseconds // size, unit)
    return f"{milliseconds:,} milliseconds"


def _rate(rate: Rate) -> str:
    many = _many(rate.most, "message")
    return f"{many} a second" if rate.per == 1 else f"{many} in {rate.per:g} seconds"


def _size(size: int) -> str:
    for unit, name in _SIZES:
        if size >= unit and size % unit == 0:
            return f"{size // unit:,} {name}"
    return f"{size:,} bytes"


def _many(number: int, thing: str) -> str:
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"
