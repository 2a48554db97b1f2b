"""The people of a drill: each writes in a chat of their own, and keeps a log of what was said and seen."""

from __future__ import annotations

import asyncio
from pathlib import Path

from holdfast.api.to_json import Json
from holdfast.cli.chat.client import Line
from holdfast.clock import Clock, Ids, Rng, first_of
from holdfast.records import dataclass

from .agent import asking
from .count import PersonLog

_AT_ONCE = 3
"""Messages a person sends before the first of them is answered."""
_MOST_LEFT = 30
"""Messages without an answer after which even impatient people wait."""


@dataclass(frozen=True, slots=True)
class Habits:
    """How people write."""

    steps: tuple[int, int] = (2, 5)
    """Steps a message asks for."""
    patience: float | None = None
    """Seconds without news after which a person writes again, also without an answer; None: never."""
    pause: float = 0.0
    """Seconds between two messages, at most."""


AS_USUAL = Habits()


class DrillPerson:
    """Writes until told to stop, sends again what was not confirmed, and notes every reply."""

    def __init__(
        self, name: str, home: Path, clock: Clock, ids: Ids, rng: Rng, habits: Habits = AS_USUAL
    ) -> None:
        self.seen = PersonLog(name)
        self.line = Line(home, name, clock, ids, self._hear)
        self.breaks = 0
        self._rng = rng
        self._clock = clock
        self._habits = habits
        self._enough = False
        self._following: asyncio.Task[None] | None = None
        self._talking: asyncio.Task[None] | None = None

    def begin(self) -> None:
        self._following = asyncio.create_task(self.line.follow())
        self._talking = asyncio.create_task(self._talk())

    async def enough(self) -> None:
        """Stop writing. Returns once the last message is confirmed."""
        self._enough = True
        self.line.heard.ring()
        assert self._talking is not None
        await self._talking

    async def leave(self) -> None:
        for task in (self._talking, self._following):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    async def _talk(self) -> None:
        while not self._enough:
            if not await self._may_write():
                continue
            name = f"{self.seen.chat}-{len(self.seen.sent) + 1}"
            fewest, most = self._habits.steps
            steps = fewest + int(self._rng.random() * (most - fewest + 1))
            self.seen.sent.append(name)
            await self.line.say(asking(name, steps), event_id=name)
            self.seen.kept.add(name)
            if self._habits.pause and not self._enough:
                await self._clock.sleep(self._rng.random() * self._habits.pause)

    async def _may_write(self) -> bool:
        """Whether it is time for the next message. If not, waits for news or until patience runs out."""
        rung, left = self.line.heard.rung, len(self.seen.unanswered())
        if left < _AT_ONCE:
            return True
        patience = self._habits.patience
        if patience is None or left >= _MOST_LEFT:
            await self.line.heard.since(rung)
            return False
        await first_of(self.line.heard.since(rung), self._clock.sleep(patience))
        return self.line.heard.rung == rung

    def _hear(self, event: Json) -> None:
        if "reconnected" in event:
            self.breaks += 1
        elif "delivery" in event:
            one = event["delivery"]
            log = self.seen.replies if one["kind"] == "reply" else self.seen.notices
            log.append((one["number"], one["text"]))
