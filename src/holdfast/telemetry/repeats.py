"""Repeated lines: a fault that strangers cause a thousand times a second must not fill the log."""

from __future__ import annotations

import logging
import re

_EVERY = 1.0
_MOST_KNOWN = 100
_LONGEST = 300
_NUMBERS = re.compile(r"0x[0-9a-f]+|[0-9]+")


class Repeats(logging.Filter):
    """Passes the same line of a logger once a second; the next line says how many were left out."""

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[str, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        line = str(record.msg)
        # Lines that differ only in a number (a connection, an address) count as the same line.
        alike = _NUMBERS.sub("", line[:_LONGEST].partition("\n")[0])
        at, left_out = self._known.get(alike, (float("-inf"), 0))
        if abs(record.created - at) < _EVERY:
            self._known[alike] = (at, left_out + 1)
            return False
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[alike] = (record.created, 0)
        if left_out:
            record.msg = f"{line} ({left_out} more like this were left out)"
        return True
