"""The port through which a run shows itself: lossy, never a delivery, and ended before its turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from holdfast.model import Claimed


class RunDisplayPort(Protocol):
    """Shows one run. No method raises, and none takes longer than a moment."""

    def show(self, text: str) -> bool:
        """Show the reply so far; returns whether people may see it."""
        ...

    def over(self) -> None:
        """Remove the reply: it is committed now, or will never be."""
        ...

    def step(self, words: str) -> None:
        """Say what the run is doing now."""
        ...

    def halt(self) -> None:
        """Show nothing more."""
        ...

    async def rest(self) -> None:
        """The same, and wait for calls to the platform under way: the run is about to give up the turn."""
        ...

    def go_on(self) -> None:
        """Show the run again: it kept its turn after all."""
        ...

    async def stopped(self) -> None:
        """A person stopped the run: its notice says so at once, before its tools have ended."""
        ...

    async def end(self) -> None:
        """The run is over: remove everything shown, and give its notice the last words."""
        ...

    def drop(self) -> None:
        """The same without waiting."""
        ...


Watch = Callable[[Claimed, Callable[[], int]], RunDisplayPort]
"""Begins to show a run. The function it gets returns the milliseconds since the run's last progress."""


class Unseen:
    """Shows nothing of a run."""

    def show(self, text: str) -> bool:
        return False

    def over(self) -> None: ...

    def step(self, words: str) -> None: ...

    def halt(self) -> None: ...

    async def rest(self) -> None: ...

    def go_on(self) -> None: ...

    async def stopped(self) -> None: ...

    async def end(self) -> None: ...

    def drop(self) -> None: ...


def unwatched(claimed: Claimed, silent: Callable[[], int]) -> RunDisplayPort:
    """Show no run: the default."""
    return Unseen()
