"""The guarantees of a platform in words. All of them follow from its capabilities."""

from __future__ import annotations

from enum import StrEnum

from holdfast.policy.delivery.retry import Settling
from holdfast.records import dataclass

from .base import Ack, Capabilities
from .pace import Rate

_UNITS = ((86_400_000, "day"), (3_600_000, "hour"), (60_000, "minute"), (1_000, "second"))
_SIZES = ((1_000_000, "MB"), (1_000, "kB"))
LONG_AFTER = 10**15
"""Milliseconds: an age after which every key has expired."""


class Holds(StrEnum):
    """Whether a guarantee holds."""

    YES = "yes"
    PARTLY = "partly"
    """It holds with a limit that the words name."""
    NO = "no"


class About(StrEnum):
    """The subjects of the guarantees. Each platform has one for each subject, in this order."""

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
    """One guarantee, or the statement that there is none."""

    about: About
    holds: Holds
    words: str


def guarantees(can: Capabilities) -> tuple[Guarantee, ...]:
    """All guarantees of a platform with these capabilities, also those that it does not give."""
    return (
        _taken(can),
        Guarantee(
            About.TAKEN_ONCE,
            Holds.YES,
            "The gateway takes a message once, even if the platform delivers it twice, before and after a "
            "restart.",
        ),
        _while_down(can),
        Guarantee(
            About.DELIVERED,
            Holds.YES,
            "The commit that ends a turn puts its reply into the outbox. The gateway tries to send it until "
            "the platform takes or refuses it, for retry.age (24 hours), also after restarts. If it cannot "
            "send the reply, it says so in its place, if it can reach the chat at all.",
        ),
        _delivered_once(can),
        Guarantee(
            About.IN_ORDER,
            Holds.PARTLY,
            "The gateway sends the messages of a chat in order, and nothing comes between the parts of a "
            "reply. A part may fail for retry.aside (20 minutes) while other sends succeed: then the gateway "
            "sends a line in its place and goes on. When that part arrives later, it is marked as late.",
        ),
        _topics(can),
        _buttons(can),
        _working(can),
        Guarantee(
            About.LONG,
            Holds.YES,
            f"A message holds {can.longest:,} characters; a longer reply goes out in several, in order.",
        ),
        _pace(can),
        _files_in(can.attachments),
        _files_out(can.files),
        _newcomers(can),
    )


def _taken(can: Capabilities) -> Guarantee:
    if can.ack is Ack.OFFSET:
        again = "if a crash comes before the commit, the message is read again."
    else:
        again = "one that is not committed gets no answer, so its sender knows that it was not taken."
    return Guarantee(
        About.TAKEN, Holds.YES, f"The gateway confirms a message only once it is committed to disk; {again}"
    )


def _while_down(can: Capabilities) -> Guarantee:
    later = "The gateway offers to answer messages older than queue.backlog, and waits for a yes."
    if can.catch_up is None:
        words = (
            f"The platform keeps what people write while the gateway is down; the gateway fetches it. {later}"
        )
        return Guarantee(About.WHILE_DOWN, Holds.YES, words)
    if can.catch_up == 0:
        words = "What people write while the gateway is down does not reach it later."
        return Guarantee(About.WHILE_DOWN, Holds.NO, words)
    words = (
        f"The platform keeps what people write while the gateway is down, for {_time(can.catch_up)}; the "
        f"gateway fetches it. Older messages are lost, and the gateway cannot notice that. {later}"
    )
    return Guarantee(About.WHILE_DOWN, Holds.PARTLY, words)


def _delivered_once(can: Capabilities) -> Guarantee:
    """How a send with an unknown outcome is settled, from the same rule that settles it."""
    cut = "If it is unknown whether a send arrived (a crash, a lost answer, an error of the server)"
    marked = (
        "the gateway sends it again, visibly marked as possibly repeated: people may see it more than once, "
        "never without the mark. It repeats it retry.repeats times (8) at most, spread over retry.age, and "
        "at once when another send of the account succeeds."
    )
    at_first, later = can.settling(0), can.settling(LONG_AFTER)
    if at_first is Settling.ASK:
        words = (
            f"{cut}, the gateway asks the platform, and sends it again only if it is not there. If the "
            f"platform cannot tell, {marked}"
        )
        return Guarantee(About.DELIVERED_ONCE, Holds.YES, words)
    if at_first is Settling.RESEND_MARKED:
        return Guarantee(About.DELIVERED_ONCE, Holds.PARTLY, f"{cut}, {marked}")
    known = f"{cut}, the gateway sends it again with the same key, and the platform shows it once"
    if later is Settling.REPEAT_WITH_KEY:
        return Guarantee(About.DELIVERED_ONCE, Holds.YES, f"{known}.")
    words = f"{known} within {_time(can.repeat_within)} of the first try; after that {marked}"
    return Guarantee(About.DELIVERED_ONCE, Holds.PARTLY, words)


def _topics(can: Capabilities) -> Guarantee:
    if not can.threads:
        return Guarantee(About.TOPICS, Holds.NO, "It has no topics, or the gateway does not tell them apart.")
    words = (
        "A topic is a conversation of its own. A reply goes to the topic of its message, also after a crash "
        "and when it is sent again."
    )
    return Guarantee(About.TOPICS, Holds.YES, words)


def _buttons(can: Capabilities) -> Guarantee:
    if not can.buttons:
        words = "Questions have no buttons; people answer by number or in words, also after a restart."
        return Guarantee(About.BUTTONS, Holds.NO, words)
    words = "A question's buttons still work after a restart, once, as long as it is open."
    return Guarantee(About.BUTTONS, Holds.YES, words)


def _working(can: Capabilities) -> Guarantee:
    seen = [
        *(["that the agent types"] if can.typing > 0 else []),
        *(["the reply as it grows"] if can.drafts else []),
        *(["that work goes on, beside the messages"] if can.notices else []),
        *(["that work goes on, in one message that is edited"] if can.edit and not can.notices else []),
        *(["that work goes on, in one message"] if not can.edit and not can.notices else []),
    ]
    words = (
        f"People see work in progress: {'; '.join(seen)}. Some of this may be lost; the reply itself is not."
    )
    return Guarantee(About.WORKING, Holds.PARTLY, words)


def _pace(can: Capabilities) -> Guarantee:
    rates = [
        *([f"{_rate(can.each_chat)} to one chat"] if can.each_chat else []),
        *([f"{_rate(can.all_chats)} in all"] if can.all_chats else []),
    ]
    if not rates:
        words = (
            "The platform has no known limits. If it asks to wait, the gateway waits, also after a restart."
        )
        return Guarantee(About.PACE, Holds.YES, words)
    words = (
        f"The platform takes at most {' and '.join(rates)}: further messages wait in line, and none is "
        "dropped. If it asks to wait longer, the gateway waits, also after a restart."
    )
    return Guarantee(About.PACE, Holds.PARTLY, words)


def _files_in(most: int) -> Guarantee:
    if not most:
        return Guarantee(About.FILES_IN, Holds.NO, "The gateway does not take files from people.")
    words = f"The gateway stores files of up to {_size(most)} before it confirms the message they came with."
    return Guarantee(About.FILES_IN, Holds.PARTLY, words)


def _files_out(most: int) -> Guarantee:
    instead = "a line says that there is a file and how the operator gets it"
    if not most:
        return Guarantee(About.FILES_OUT, Holds.NO, f"The gateway sends no files to people: {instead}.")
    words = (
        f"The commit that settles the call puts a file of up to {_size(most)} into the outbox, as it was "
        f"then; the gateway delivers it like a reply. If it is larger or refused, {instead}."
    )
    return Guarantee(About.FILES_OUT, Holds.PARTLY, words)


def _newcomers(can: Capabilities) -> Guarantee:
    if not can.newcomers:
        words = "A person who is not let in gets no answer; the gateway keeps nothing that they write."
        return Guarantee(About.NEWCOMERS, Holds.NO, words)
    words = (
        "A person who is not let in gets a code that the owner can approve, unless [pairing] says otherwise; "
        "in a group they get no answer. The gateway does not keep what they wrote before, and tells them so."
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
