"""What a person reads before they allow a call: exactly what will run, in as many parts as it takes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

from holdfast.model import CallRecord
from holdfast.policy.delivery.parts import MARK, reach, split, width
from holdfast.records import dataclass

from .approvals import plain_text
from .argument_text import Unreadable, plain_value
from .visible_text import visible

ALLOW_OR_DENY = ("allow once", "deny")
"""The buttons; typed in the turn's own chat, yes and no and their numbers do as well."""
ALWAYS = "always allow this"
"""The third button, for owners: it stores the rule that the card names."""
WITH_ALWAYS = (*ALLOW_OR_DENY, ALWAYS)
"""The buttons where an owner is asked."""
LONGEST_CARD = 12_000
"""Width of what a person can be asked to read; a longer call is refused."""
Hide = Callable[[str], str]
"""Gives a text with the exact values of known secrets masked."""

_FENCE = re.compile(r"`{3,}")
_PLAIN_NAME = re.compile(r"[\w.-]+")
"""A name of an argument that nobody takes for anything else."""
_LONGEST_NAME = 200
"""Width of a tool's name that every part can repeat."""
_AROUND = 180
"""Width that the words and the frame around a part of the call take, besides the name."""
_LEAST_ROOM = 50
"""Width that one part gives to the call, however little a platform takes."""
_MASKED = "A secret value that the gateway knows is masked above. The call runs with the value itself."


@dataclass(frozen=True, slots=True)
class CardNotes:
    """What a card says besides the call; each is a sentence or two."""

    before: str = ""
    """Who asked, and where, when the reader is asked about the work of another person."""
    contained: str | None = None
    """How contained the call would run."""
    rule: str | None = None
    """The rule that "always allow this" would store."""


NO_NOTES = CardNotes()


@dataclass(frozen=True, slots=True)
class ConsentCard:
    """A question for consent. `shown` is the call's arguments, whole, with everything in them visible."""

    name: str
    shown: str
    before: str = ""
    after: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The card as one message."""
        return _joined(self.before, f"May I run `{self.name}`?", _framed(self.shown), *self.after)

    def parts(self, longest: int) -> tuple[str, ...]:
        """The card as messages of at most this width; nothing of the call is lost between two of them.

        The buttons belong to the last part, so a person who can press one was sent all of it.
        """
        room = longest - MARK
        if width(self.text) <= room:
            return (self.text,)
        for_call = max(room - width(self.name) - _AROUND, _LEAST_ROOM)
        pieces = tuple(_pieces(self.shown, for_call))
        call = tuple(
            _joined(self._head(number, len(pieces), goes_on), _framed(piece))
            for number, (piece, goes_on) in enumerate(pieces, start=1)
        )
        asked = _beside(_split(self.before, room), call, room)
        return _beside(asked, _split(_joined(*self.after), room), room)

    def _head(self, number: int, last: int, goes_on: bool) -> str:
        if number == 1:
            return f"May I run `{self.name}`? It is long; the buttons come below its last part."
        line = ", in the middle of a line" if goes_on else ""
        return f"Part {number} of {last} of `{self.name}`{line}:"


def consent_card(call: CallRecord, hide: Hide, notes: CardNotes = NO_NOTES) -> ConsentCard:
    """The question whether this one call may run; only exact values of known secrets are masked in it."""
    shown, masked = _shown(call, hide)
    after = tuple(filter(None, (_MASKED if masked else "", notes.contained, notes.rule)))
    return ConsentCard(one_line(call.name).replace("`", "'"), shown, notes.before, after)


def can_be_shown(call: CallRecord) -> bool:
    """Whether a person can be asked to read all of this call."""
    # JSON may need six characters for one; what is longer than that is not worth reading.
    if len(call.arguments) > 8 * LONGEST_CARD or width(one_line(call.name[:LONGEST_CARD])) > _LONGEST_NAME:
        return False
    shown, _ = _shown(call, lambda value: value)
    return width(shown) <= LONGEST_CARD


def _shown(call: CallRecord, hide: Hide) -> tuple[str, bool]:
    """All arguments of the call in lines, and whether something in them is masked."""
    given = tuple(_values(call.arguments))
    shown = tuple((name if name is None else hide(name), hide(value)) for name, value in given)
    return "\n".join(_line(name, value) for name, value in shown), shown != given


def _values(arguments: str) -> Iterator[tuple[str | None, str]]:
    """The arguments one by one, each with its name; what cannot be told apart has none."""
    try:
        given = plain_value(arguments)
    except Unreadable:
        yield None, arguments
        return
    if not isinstance(given, dict):
        yield None, plain_text(given)
        return
    for name, value in given.items():
        yield name, value if isinstance(value, str) else plain_text(value)


def _line(name: str | None, value: str) -> str:
    # Later lines of a value are indented, so that none of them looks like an argument of its own. The page
    # relies on it that no argument begins so.
    text = visible(value).replace("\n", "\n  ")
    return text if name is None else f"{_argument_name(name)}: {text}"


def _argument_name(name: str) -> str:
    """The name; in quotes if it could pass for the end of a value, for another argument or for none."""
    is_plain = _PLAIN_NAME.fullmatch(visible(name))
    return name if is_plain else visible(json.dumps(name, ensure_ascii=False))


def one_line(text: str) -> str:
    """A name or an address as it may stand in a sentence: visible, and in one line."""
    return visible(text).replace("\n", "\\n")


def _pieces(text: str, room: int) -> Iterator[tuple[str, bool]]:
    """The text cut into pieces, at the ends of lines if one is near; and whether a piece goes on in a line.

    A line end at a cut is the cut itself. Otherwise the pieces are the text, to the letter, cut between words
    if a blank is near.
    """
    goes_on = False
    while width(text) > room:
        end = reach(text, room)
        at = text.rfind("\n", end * 3 // 4, end + 1)
        cut = _between_words(text, end)
        piece, text = (text[:at], text[at + 1 :]) if at > 0 else (text[:cut], text[cut:])
        yield piece, goes_on
        goes_on = at <= 0
    yield text, goes_on


def _between_words(text: str, end: int) -> int:
    """The last place before a single blank that is near, else the end.

    The blank begins the next piece: platforms drop those at the end of a message.
    """
    for at in range(end, end * 3 // 4, -1):
        if text[at : at + 1] == " " and " " not in (text[at - 1 : at], text[at + 1 : at + 2]):
            return at
    return end


def _split(text: str, room: int) -> tuple[str, ...]:
    return split(text, room) if text else ()


def _beside(parts: tuple[str, ...], more: tuple[str, ...], room: int) -> tuple[str, ...]:
    """Both in their order; where they meet in one message, if there is room for that."""
    if not parts or not more or width(meeting := _joined(parts[-1], more[0])) > room:
        return (*parts, *more)
    return (*parts[:-1], meeting, *more[1:])


def _framed(shown: str) -> str:
    if not shown:
        return ""
    fence = max([*_FENCE.findall(shown), "``"], key=len) + "`"
    return f"{fence}\n{shown}\n{fence}"


def _joined(*pieces: str) -> str:
    return "\n\n".join(filter(None, pieces))
