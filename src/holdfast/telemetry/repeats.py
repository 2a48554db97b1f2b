"""Lines that repeat: a fault that strangers can cause a thousand times a second fills no log."""

from __future__ import annotations

import logging

_EVERY = 1.0
_MOST_KNOWN = 100


class Repeats(logging.Filter):
    """Lets the same line of a logger through once a second; the next one says how many were left out."""

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[str, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        line = str(record.msg)
        at, left_out = self._known.get(line, (float("-inf"), 0))
        if abs(record.created - at) < _EVERY:
            self._known[line] = (at, left_out + 1)
            return False
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[line] = (record.created, 0)
        if left_out:
            record.msg = f"{line} ({left_out} more like this were left out)"
        return True
