"""What a run lets people see of itself while it goes on: lossy, never a delivery, over before its turn is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from holdfast.model import Claimed


class RunDisplayPort(Protocol):
    """What is seen of one run. Nothing of it raises, and nothing of it is waited for longer than a moment."""

    def show(self, text: str) -> bool:
        """The reply in hand has grown to this; whether people may see it."""
        ...

    def over(self) -> None:
        """What was written is committed, or will never be."""
        ...

    def step(self, words: str) -> None:
        """What the run is doing now."""
        ...

    def halt(self) -> None:
        """Show nothing more from here on."""
        ...

    async def rest(self) -> None:
        """The same, and return when nothing is on its way: the turn is about to be let go of."""
        ...

    def go_on(self) -> None:
        """The turn was not let go of after all."""
        ...

    async def stopped(self) -> None:
        """A person stops the run: its message says so at once, before its tools have ended."""
        ...

    async def end(self) -> None:
        """The run is over: take away what was shown, and give its message the last words."""
        ...

    def drop(self) -> None:
        """The same for one that has no time to wait."""
        ...


Watch = Callable[[Claimed, Callable[[], int]], RunDisplayPort]
"""Begins to show a run, given how many milliseconds it has made no progress for."""


class Unseen:
    """Nobody watches."""

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
    """Show nothing of any run."""
    return Unseen()
