"""Ends a process whose stop hangs, from a thread that the event loop cannot hold up."""

from __future__ import annotations

import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress

from .exit_codes import FAILED

LAST_WORDS = 2.0
"""Seconds in which what there is to say must have been said."""
_STDERR = 2


def end_now(why: str) -> None:
    """End the process at once, saying why and where every thread stood; the next start recovers."""
    # Whoever reads may be gone, or hold up everybody who writes: the end does not wait for that.
    saying = threading.Thread(target=_say, args=(why,), name="last words", daemon=True)
    saying.start()
    saying.join(LAST_WORDS)
    os._exit(FAILED)


def _say(why: str) -> None:
    words = f"holdfast: {why}; ending at once, the next start recovers\n" + "".join(_standing())
    left = words.encode()
    # Past `sys.stderr`: the loop may stand still with its lock.
    with suppress(OSError):
        while left:
            left = left[os.write(_STDERR, left) :]


def _standing() -> Iterator[str]:
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    for ident, frame in sys._current_frames().items():
        yield f"Thread {names.get(ident, ident)}, last call at the end:\n"
        yield from traceback.format_stack(frame)


class Watchdog:
    """Ends the process when an announced stop takes too long.

    Whether the loop stands still is watched from outside the process: a thread in it may stand still as well.
    """

    def __init__(self, end: Callable[[str], None] = end_now) -> None:
        self._end = end
        self._over = threading.Event()
        self._waiting: threading.Thread | None = None

    def expect_end(self, within: float) -> None:
        """The process is to end within so many seconds; the first word counts."""
        if self._waiting is None:
            self._waiting = threading.Thread(target=self._wait, args=(within,), name="watchdog", daemon=True)
            self._waiting.start()

    def stop(self) -> None:
        """Nothing is expected any more."""
        self._over.set()

    def _wait(self, within: float) -> None:
        if not self._over.wait(within):
            self._end("the stop took longer than it may")
