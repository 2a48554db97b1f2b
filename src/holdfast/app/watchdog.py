"""Ends a process that hangs, from a thread that the event loop cannot hold up."""

from __future__ import annotations

import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress

from holdfast.clock import Clock

from .exits import FAILED

LAST_WORDS = 2.0
"""Seconds in which what there is to say must have been said."""
_LOOKS_PER_LIMIT = 10
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
    """Expects a beat of the loop every so often, and the end of a stop once that was announced.

    It takes no lock that the loop could hold, writes no file and asks the ledger nothing, so that nothing
    which hangs can hang it as well.
    """

    def __init__(self, clock: Clock, limit: float, end: Callable[[str], None] = end_now) -> None:
        self._clock = clock
        self._limit = limit
        self._end = end
        self._beat = self._looked = clock.monotonic()
        self._deadline: float | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)

    def start(self) -> None:
        self.beat()
        self._looked = self._beat
        self._thread.start()

    def beat(self) -> None:
        """The loop turns."""
        self._beat = self._clock.monotonic()

    def expect_end(self, within: float) -> None:
        """The process is to end within so many seconds; the first word counts."""
        if self._deadline is None:
            self._deadline = self._clock.monotonic() + within

    def stop(self) -> None:
        """Nothing is watched any more."""
        self._over.set()

    def verdict(self) -> str | None:
        """Why the process is to be ended now, if it is."""
        now = self._clock.monotonic()
        if self._deadline is not None and now > self._deadline:
            return "the stop took longer than it may"
        if now - self._beat > self._limit:
            return f"the event loop has stood still for {now - self._beat:.0f} s"
        return None

    def look(self) -> bool:
        """Look whether all is well, several times per limit, and end the process if not; True if so."""
        now = self._clock.monotonic()
        if now - self._looked > self._limit / 2:
            # This thread stood still as well: the whole process was stopped, and the loop is not to blame.
            self.beat()
        self._looked = now
        why = self.verdict()
        if why is not None:
            self._end(why)
        return why is not None

    def _watch(self) -> None:
        while not self._over.wait(self._limit / _LOOKS_PER_LIMIT):
            if self.look():
                return
