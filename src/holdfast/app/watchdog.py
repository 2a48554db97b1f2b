"""Ends a process that hangs, from a thread that the event loop cannot hold up."""

from __future__ import annotations

import faulthandler
import os
import sys
import threading
from collections.abc import Callable

from holdfast.clock import Clock

from .exits import FAILED


def end_now(why: str) -> None:
    """End the process at once, saying why and where every thread stood; the next start recovers."""
    sys.stderr.write(f"holdfast: {why}; ending at once, the next start recovers\n")
    sys.stderr.flush()
    faulthandler.dump_traceback(file=sys.stderr, all_threads=True)
    os._exit(FAILED)


class Watchdog:
    """Expects a beat of the loop every so often, and the end of a stop once that was announced.

    It takes no lock that the loop could hold, writes no file and asks the ledger nothing, so that nothing
    which hangs can hang it as well.
    """

    def __init__(self, clock: Clock, limit: float, end: Callable[[str], None] = end_now) -> None:
        self._clock = clock
        self._limit = limit
        self._end = end
        self._beat = clock.monotonic()
        self._deadline: float | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)

    def start(self) -> None:
        self.beat()
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

    def _watch(self) -> None:
        while not self._over.wait(self._limit / 10):
            why = self.verdict()
            if why is not None:
                self._end(why)
                return
