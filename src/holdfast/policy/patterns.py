"""Regular expressions that owners write. The time of a match grows only with the length of the text."""

from __future__ import annotations

from functools import lru_cache
from typing import Any


class BadPattern(ValueError):
    """The text is not a regular expression of RE2; the message says why."""


def check(pattern: str) -> None:
    """Raise `BadPattern` if RE2 cannot read it."""
    _compiled(pattern)


def is_found(pattern: str, text: str) -> bool:
    """Whether a part of the text matches; a text with half a character in it raises `UnicodeError`."""
    return _compiled(pattern).search(text) is not None


def is_whole(pattern: str, text: str) -> bool:
    """Whether the text matches from its beginning to its end."""
    return _compiled(pattern).fullmatch(text) is not None


@lru_cache(maxsize=1_000)
def _compiled(pattern: str) -> Any:
    # The standard library backtracks: a normal pattern such as `curl.*\|.*sh` takes minutes on a command that
    # an attacker made for it.
    import re2  # noqa: PLC0415 - most gateways have no patterns, and start faster without it

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as fault:
        said = fault.args[0] if fault.args else ""
        raise BadPattern(said.decode(errors="replace") if isinstance(said, bytes) else str(said)) from fault
