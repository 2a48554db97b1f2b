"""The people of a drill: each writes in a chat of their own, and keeps a log of what was said and seen."""

from __future__ import annotations

import asyncio
from pathlib import Path

from holdfast.app.shown import Json
from holdfast.cli.chat.client import Line
from holdfast.clock import Clock, Ids, Rng

from .agent import asking
from .counting import Seen

_AT_ONCE = 3
"""Messages a person sends before the first of them is answered."""
_FEWEST, _MOST = 2, 5
"""Steps a message asks for."""


class Person:
    """Writes until told to stop, sends again what was not confirmed, and notes every reply."""

    def __init__(self, name: str, home: Path, clock: Clock, ids: Ids, rng: Rng) -> None:
        self.seen = Seen(name)
        self.line = Line(home, name, clock, ids, self._hear)
        self.breaks = 0
        self._rng = rng
        self._enough = False
        self._following: asyncio.Task[None] | None = None
        self._talking: asyncio.Task[None] | None = None

    def begin(self) -> None:
        self._following = asyncio.create_task(self.line.follow())
        self._talking = asyncio.create_task(self._talk())

    async def enough(self) -> None:
        """Write no more; returns once the last message is confirmed."""
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
            rung = self.line.heard.rung
            if len(self.seen.unanswered()) >= _AT_ONCE:
                await self.line.heard.since(rung)
                continue
            name = f"{self.seen.chat}-{len(self.seen.sent) + 1}"
            steps = _FEWEST + int(self._rng.random() * (_MOST - _FEWEST + 1))
            self.seen.sent.append(name)
            await self.line.say(asking(name, steps), event_id=name)
            self.seen.kept.add(name)

    def _hear(self, event: Json) -> None:
        if "reconnected" in event:
            self.breaks += 1
        elif "delivery" in event:
            one = event["delivery"]
            log = self.seen.replies if one["kind"] == "reply" else self.seen.notices
            log.append((one["number"], one["text"]))
