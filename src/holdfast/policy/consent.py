"""What a person reads before they allow a call: its tool and its arguments, bounded and without tricks."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator

from holdfast.model import CallRecord

from .approvals import plain_text
from .calls import call_hash
from .plain import Unreadable, plain_value

ALLOW_OR_DENY = ("allow once", "deny")
"""The buttons; typed, yes and no and their numbers do as well."""
Hide = Callable[[str, str], str]
"""Gives the value of an argument with that name as it may be shown."""

_ROOM = 2_400
"""Characters for all values together."""
_LEAST = 200
"""What each of them gets, however many there are."""
_END = 150
"""Of a long value its end is shown as well: a command's last words may be what matters."""
_MOST_ARGUMENTS = 12
_LONGEST_NAME = 60
_HASH_SHOWN = 12
_FENCE = re.compile(r"`{3,}")
_UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
"""Kinds of characters that show nothing themselves, or change how others look."""


def consent_words(call: CallRecord, hide: Hide) -> str:
    """The question whether this one call may run.

    What is left out of it is said to be, with the hash that names the call: consent is for that alone.
    """
    lines = list(_lines(call.arguments, hide))
    shown = "\n".join(line for line, _ in lines)
    whole = all(whole for _, whole in lines)
    fence = max([*_FENCE.findall(shown), "``"], key=len) + "`"
    name = _one_line(call.name).replace("`", "'")
    words = [f"May I run `{name}`?"]
    if shown:
        words.append(f"{fence}\n{shown}\n{fence}")
    if not whole:
        mark = call_hash(call.name, call.arguments)[:_HASH_SHOWN]
        words.append(f"Not all of it is shown. The call is {mark}.")
    return "\n\n".join(words)


def _lines(arguments: str, hide: Hide) -> Iterator[tuple[str, bool]]:
    """The arguments one by one, each with whether all of it is there."""
    try:
        given = plain_value(arguments)
    except Unreadable:
        yield _shown("", arguments, hide, _ROOM)
        return
    if not isinstance(given, dict):
        yield _shown("", plain_text(given), hide, _ROOM)
        return
    named = list(given.items())[:_MOST_ARGUMENTS]
    for name, value in named:
        text = value if isinstance(value, str) else plain_text(value)
        yield _shown(name, text, hide, max(_LEAST, _ROOM // len(named)))
    if len(given) > len(named):
        yield f"… and {len(given) - len(named)} more", False


def _shown(name: str, value: str, hide: Hide, longest: int) -> tuple[str, bool]:
    # Secrets first: half of one is not known by its looks.
    known = hide(name, value)
    text, whole = visible(known, longest)
    # Later lines of a value stand in, so that none of them looks like an argument of its own.
    text = text.replace("\n", "\n  ")
    return f"{_one_line(name)}: {text}" if name else text, whole and known == value


def _one_line(name: str) -> str:
    return visible(name, _LONGEST_NAME)[0].replace("\n", "\\n")


def visible(text: str, longest: int) -> tuple[str, bool]:
    """The text with nothing in it that cannot be seen or turns other text around; and whether it is whole."""
    seen = "".join(map(_visible, text))
    if len(seen) <= longest:
        return seen, True
    end = min(_END, longest // 4)
    left_out = len(seen) - longest
    return f"{seen[: longest - end]} … {left_out} characters left out … {seen[len(seen) - end :]}", False


def _visible(character: str) -> str:
    if character in "\n\t" or unicodedata.category(character) not in _UNSEEN:
        return character
    return f"\\u{{{ord(character):x}}}"
