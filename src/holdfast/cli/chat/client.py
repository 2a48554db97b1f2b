"""One chat over the HTTP API that outlives the gateway: it reconnects, and sends each message once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from urllib.parse import quote

from holdfast.api.client import Heard, NotRunning, RequestDeclined, listen, request
from holdfast.api.to_json import Json
from holdfast.clock import Bell, Clock, Ids

FIRST_WAIT = 0.05
LONGEST_WAIT = 0.2
_AGAIN = "try_again"
_CONTEXT = 3
"""Earlier deliveries that the client shows when a chat begins."""

Hear = Callable[[Json], None]


class Line:
    """Follows a chat without end, and sends messages to it. `hear` gets every event, once and in order.

    Besides the gateway's own events these are `{"lost": words}` and `{"reconnected": true}`. A message gets
    its event id before the first attempt to send it, so sending it again after a break changes nothing.
    """

    def __init__(self, home: Path, chat: str, clock: Clock, ids: Ids, hear: Hear) -> None:
        self.chat = chat
        self.seen = 0
        """Number of the last delivery received."""
        self.heard = Bell()
        """Rings after every event."""
        self.connected = False
        self._home = home
        self._path = f"/api/chats/{quote(chat, safe='')}"
        self._clock = clock
        self._ids = ids
        self._hear = hear
        self._behind: str | None = None
        """Id of the last event that had one: a new connection continues after it."""
        self._before = False

    async def skip(self) -> tuple[Json, ...]:
        """Begin after the deliveries that exist already, and return the last few of them."""
        self.seen = (await request(self._home, "GET", self._path))["cursor"]["number"]
        self._behind = str(self.seen)
        path = f"{self._path}/messages?after={max(0, self.seen - _CONTEXT)}&limit={_CONTEXT}"
        messages = (await request(self._home, "GET", path))["messages"]
        return tuple(one for one in messages if one["number"] <= self.seen)

    async def follow(self) -> None:
        """Receive every event, through every restart of the gateway."""
        wait = FIRST_WAIT
        while True:
            try:
                await self._one_connection()
                wait = FIRST_WAIT
            except NotRunning as fault:
                self._is_lost(str(fault))
            except RequestDeclined as refusal:
                if refusal.code != _AGAIN:
                    raise
            await self._clock.sleep(wait)
            wait = min(wait * 2, LONGEST_WAIT)

    async def say(self, text: str, event_id: str | None = None) -> Json:
        """Send until the gateway has kept the message, across its restarts, or raise `RequestDeclined`."""
        said = {"text": text, "event_id": event_id or self._ids.new()}
        wait = FIRST_WAIT
        while True:
            try:
                return await request(self._home, "POST", f"{self._path}/messages", said)
            except NotRunning:
                # The message may be kept or not. Sending the same event again is right in both cases.
                await self._clock.sleep(wait)
            except RequestDeclined as refusal:
                if refusal.code != _AGAIN:
                    raise
                await self._clock.sleep(wait)
            wait = min(wait * 2, LONGEST_WAIT)

    async def _one_connection(self) -> None:
        async with aclosing(listen(self._home, f"{self._path}/events", self._behind)) as events:
            async for event in events:
                self._take(_as_said(event))
                self._behind = event.id or self._behind
        self._is_lost("the gateway went")

    def _take(self, event: Json) -> None:
        if not self.connected:
            self.connected = True
            if self._before:
                self._hear({"reconnected": True})
            self._before = True
        if "delivery" in event:
            self.seen = event["delivery"]["number"]
        self._hear(event)
        self.heard.ring()

    def _is_lost(self, words: str) -> None:
        if self.connected:
            self.connected = False
            self._hear({"lost": words})
            self.heard.ring()


def _as_said(event: Heard) -> Json:
    """The event as one object that contains its name."""
    return event.data if event.name in event.data else {event.name: event.data}
