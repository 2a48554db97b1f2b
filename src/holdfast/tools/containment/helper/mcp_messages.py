"""Passes on what the program of an MCP server writes to the gateway: complete messages, up to a limit.

A longer answer becomes an error for the call that waits for it. The server lives on, and the model can ask
for less.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable

LONGEST_MESSAGE = 1024 * 1024
"""Bytes of one message that the gateway reads: its event loop does nothing else meanwhile."""
ENDLESS = 32 * LONGEST_MESSAGE
"""Bytes of one line, after which the program is ended."""
TOO_LONG = -32_096
"""The gateway's code for an answer that was left out, from the range for implementations."""
TOO_LONG_WORDS = "the answer was too long"
_ENDS = 400
"""Bytes at each end of a line in which the id of its call is searched."""
_VERSION = rb'"jsonrpc"\s*:\s*"2\.0"'
_ID = rb'"id"\s*:\s*(-?\d{1,18}|"[\w.-]{1,64}")'
_OPEN = rb"\s*\{\s*(?:" + _VERSION + rb"\s*,\s*)?"
_ID_FIRST = re.compile(_OPEN + _ID + rb"\s*,\s*(?:" + _VERSION + rb'\s*,\s*)?"(?:result|error)"')
_RESULT_FIRST = re.compile(_OPEN + rb'"(?:result|error)"')
_ID_LAST = re.compile(_ID + rb"\s*(?:,\s*" + _VERSION + rb"\s*)?\}\s*\Z")
_ASKS = re.compile(_OPEN + rb"(?:" + _ID + rb'\s*,\s*)?"method"')


def in_place_of(head: bytes, tail: bytes) -> bytes | None:
    """The line that replaces one that is too long, made from its two ends; None if its call is not known."""
    if _ASKS.match(head):
        return b""  # the server's own question or notice: no call waits for it
    found = _ID_FIRST.match(head) or (_RESULT_FIRST.match(head) and _ID_LAST.search(tail))
    if not found:
        return None
    error = {"code": TOO_LONG, "message": TOO_LONG_WORDS}
    answer = {"jsonrpc": "2.0", "id": json.loads(found.group(1)), "error": error}
    return json.dumps(answer).encode()


class Messages:
    """Lines that may be messages are passed on complete; all others go to the log."""

    def __init__(self, log: Callable[[bytes], None]) -> None:
        self._log = log
        self._parts: list[bytes] = []
        self._length = 0

    def take(self, data: bytes) -> bool:
        """Pass on the complete lines; False if a line cannot be passed on or the reader is gone."""
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._add(line)
            if not self._pass_on():
                return False
            self._parts, self._length = [], 0
        self._add(rest)
        return self._length <= ENDLESS

    def _add(self, part: bytes) -> None:
        """Keep the part; of a line that is too long, keep only both ends."""
        self._parts.append(part)
        self._length += len(part)
        if self._length > LONGEST_MESSAGE:
            whole = b"".join(self._parts)
            self._parts = [whole[:_ENDS], whole[_ENDS:][-_ENDS:]]

    def _pass_on(self) -> bool:
        line = b"".join(self._parts)
        if not line.lstrip().startswith(b"{"):
            if line.strip():
                self._log(line)
            return True
        if self._length > LONGEST_MESSAGE:
            self._log(f"a message of {self._length} bytes was left out".encode())
            short = in_place_of(self._parts[0], self._parts[-1])
            return short is not None and (not short or _write(short))
        return _write(line)


def _write(line: bytes) -> bool:
    left = memoryview(line + b"\n")
    try:
        while left:
            left = left[os.write(1, left) :]
    except OSError:
        return False
    return True
