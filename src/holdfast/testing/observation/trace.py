"""Every step, commit and call of a world, as a digest and the last lines."""

from __future__ import annotations

import hashlib
import re
from collections import deque

KEPT = 80
_NUMBER = re.compile(r"#\d+")
_NUMBERED = re.compile(r"\S*\d\S*")


class Trace:
    """The same world gives the same digest."""

    def __init__(self) -> None:
        self._digest = hashlib.blake2b(digest_size=16)
        self._last: deque[str] = deque(maxlen=KEPT)
        self.lines = 0

    def __call__(self, line: str) -> None:
        self.lines += 1
        self._digest.update(line.encode())
        self._digest.update(b"\n")
        self._last.append(line)

    @property
    def digest(self) -> str:
        return self._digest.hexdigest()

    @property
    def last(self) -> tuple[str, ...]:
        return tuple(self._last)


def in_words(error: BaseException) -> str:
    """An error with the errors it carries."""
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(in_words(one) for one in error.exceptions)
    return repr(error)


def step_named(line: str) -> str:
    """The kind of a step, without its numbers and ids."""
    return " ".join(_NUMBERED.sub("", _NUMBER.sub("", line)).split())
