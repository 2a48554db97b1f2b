"""Ends a process whose stop hangs, from a thread that the event loop cannot block."""

from __future__ import annotations

import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress

from .exit_codes import FAILED

LAST_WORDS = 2.0
"""Seconds in which the last message must be written."""
_STDERR = 2


def end_now(why: str) -> None:
    """End the process at once, with the reason and the stack of every thread; the next start recovers."""
    # The reader of standard error may block every writer: the end must not wait for it.
    writer = threading.Thread(target=_say, args=(why,), name="last words", daemon=True)
    writer.start()
    writer.join(LAST_WORDS)
    os._exit(FAILED)


def _say(why: str) -> None:
    words = f"holdfast: {why}; ending at once, the next start recovers\n" + "".join(_stacks())
    left = words.encode()
    # Not through `sys.stderr`: the hanging loop may hold its lock.
    with suppress(OSError):
        while left:
            left = left[os.write(_STDERR, left) :]


def _stacks() -> Iterator[str]:
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    for ident, frame in sys._current_frames().items():
        yield f"Thread {names.get(ident, ident)}, last call at the end:\n"
        yield from traceback.format_stack(frame)


class Watchdog:
    """Ends the process when an announced stop takes too long.

    Another process watches for a hanging event loop: a thread in this one may hang with it.
    """

    def __init__(self, end: Callable[[str], None] = end_now) -> None:
        self._end = end
        self._over = threading.Event()
        self._waiting: threading.Thread | None = None

    def expect_end(self, within: float) -> None:
        """The process must end within so many seconds. Only the first call counts."""
        if self._waiting is None:
            self._waiting = threading.Thread(target=self._wait, args=(within,), name="watchdog", daemon=True)
            self._waiting.start()

    def stop(self) -> None:
        """Stop waiting for the end."""
        self._over.set()

    def _wait(self, within: float) -> None:
        if not self._over.wait(within):
            self._end("the stop took longer than it may")
