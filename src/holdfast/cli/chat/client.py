"""One chat over the local socket that survives the gateway: it reconnects, and what is said is said once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

from holdfast.app.client import Declined, NotRunning, ask, listen
from holdfast.app.shown import Json
from holdfast.clock import Bell, Clock, Ids

FIRST_WAIT = 0.05
LONGEST_WAIT = 0.2
_AGAIN = "try_again"
_CONTEXT = 3
"""Deliveries from before that are shown when a chat begins."""

Hear = Callable[[Json], None]


class Line:
    """Follows a chat for ever and speaks in it; `hear` gets every event, once and in order.

    Besides the gateway's own events these are `{"lost": words}` and `{"reconnected": true}`. A message has
    its event id before it is sent first, so sending it again after a break changes nothing.
    """

    def __init__(
        self,
        home: Path,
        chat: str,
        clock: Clock,
        ids: Ids,
        hear: Hear,
        steps: bool = True,
        previews: bool = False,
    ) -> None:
        self.chat = chat
        self.seen = 0
        """Number of the last delivery heard: where a new connection goes on."""
        self.heard = Bell()
        """Rings after every event."""
        self.connected = False
        self._home = home
        self._clock = clock
        self._ids = ids
        self._hear = hear
        self._wanted = {"steps": steps, "previews": previews}
        self._session: str | None = None
        self._seq = 0
        self._before = False

    async def skip(self) -> tuple[Json, ...]:
        """Begin after what is there already; gives the last few of those."""
        last: tuple[Json, ...] = ()
        while page := (await ask(self._home, "outbox", chat=self.chat, after=self.seen))["deliveries"]:
            last = (*last, *page)[-_CONTEXT:]
            self.seen = page[-1]["number"]
        return last

    async def follow(self) -> None:
        """Hear everything, through every restart of the gateway."""
        wait = FIRST_WAIT
        while True:
            try:
                await self._one_connection()
                wait = FIRST_WAIT
            except NotRunning as fault:
                self._is_lost(str(fault))
            except Declined as refusal:
                if refusal.code != _AGAIN:
                    raise
            await self._clock.sleep(wait)
            wait = min(wait * 2, LONGEST_WAIT)

    async def say(self, text: str, event_id: str | None = None) -> Json:
        """Have it kept, however often the gateway goes meanwhile; raises `Declined` if it is refused."""
        event_id = event_id or self._ids.new()
        wait = FIRST_WAIT
        while True:
            try:
                return await ask(self._home, "say", chat=self.chat, text=text, event_id=event_id)
            except NotRunning:
                pass
            except Declined as refusal:
                if refusal.code != _AGAIN:
                    raise
            await self._clock.sleep(wait)
            wait = min(wait * 2, LONGEST_WAIT)

    async def _one_connection(self) -> None:
        cursor = {"session": self._session, "seq": self._seq} if self._session else {}
        events = listen(self._home, "follow", chat=self.chat, after=self.seen, **self._wanted, **cursor)
        async with aclosing(events):
            async for event in events:
                self._take(event)
        self._is_lost("the gateway went")

    def _take(self, event: Json) -> None:
        if not self.connected:
            self.connected = True
            if self._before:
                self._hear({"reconnected": True})
            self._before = True
        if "delivery" in event:
            self.seen = event["delivery"]["number"]
        if "session" in event:
            self._session = event["session"]
            self._seq = event.get("entry", event).get("seq", 0)
        self._hear(event)
        self.heard.ring()

    def _is_lost(self, words: str) -> None:
        if self.connected:
            self.connected = False
            self._hear({"lost": words})
            self.heard.ring()
