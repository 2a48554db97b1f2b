"""The built-in chat in a world: its real adapter, and the page that people use."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from contextvars import Context

from holdfast.api.draft_cache import DraftCache
from holdfast.api.to_json import Json
from holdfast.model import ChatAddress, Delivery, SendResult
from holdfast.platforms import Working
from holdfast.platforms.web import NotTaken, WebChat
from holdfast.records import dataclass
from holdfast.testing.observation.history import Shown
from holdfast.testing.sim.life import ProcessLife
from holdfast.testing.sim.ports import pause

from .fake_platform import seen_of
from .servers import Around, Pending, PlatformServer, chat_at

NAME = "web"
ONE_WAY = (0.002, 0.05)
"""Seconds that a request or its answer travels."""


class PageServer(PlatformServer):
    """The server side of the page: it only holds what people write until the gateway has it."""

    def revise(self, chat: str, message_id: str, text: str | None) -> None:
        """A page edits a message by its row, so no event comes from outside."""

    def babble(self, chat: str, text: str) -> None:
        """A page sends only readable events."""


class WatchedWebChat(WebChat):
    """The real adapter, with a record of everything that passes through it."""

    def __init__(self, server: PlatformServer, life: ProcessLife, previews: DraftCache) -> None:
        super().__init__(shown=previews.show)
        self.server = server
        self.life = life

    async def connect(self) -> None:
        self.life.check()
        self.server.connect(self.life)

    async def send(self, delivery: Delivery) -> SendResult:
        self.life.check()
        self.server.tried(delivery)
        return await super().send(delivery)

    async def show(self, chat: ChatAddress, working: Working) -> bool:
        self.life.check()
        current = self.server.around.generation_of(working.by.turn)
        by = working.by
        self.server.see("beside", chat_at(chat), seen_of(working), by.turn, by.generation, current, "")
        return await super().show(chat, working)

    async def close(self) -> None:
        self.life.check()
        self.server.disconnect(self.life)


@dataclass(frozen=True, slots=True)
class Page:
    """The browsers of all people: they post what people write, and repeat it until it is answered."""

    server: PlatformServer
    chat: WebChat

    async def work(self) -> None:
        """Post what there is, as long as this process lives."""
        posting: set[asyncio.Task[None]] = set()
        while True:
            arrival = self.server.arrival()
            for pending in self.server.unanswered():
                task = asyncio.ensure_future(self._post(pending))
                posting.add(task)
                task.add_done_callback(posting.discard)
            await asyncio.shield(arrival)

    async def _post(self, pending: Pending) -> None:
        around = self.server.around
        if around.faults.first("lost_request", "down") or self.server.is_down:
            return
        await pause(around.loop, around.faults.between(*ONE_WAY))
        with suppress(NotTaken):
            await self.chat.post(pending.event)  # type: ignore[arg-type]  # a page posts nothing else
        if around.faults.hits("lost_response"):
            return
        # The answer is on its way, even if the process dies.
        confirm = self.server.confirm
        around.loop.call_later(
            around.faults.between(*ONE_WAY), confirm, lambda one: one is pending, context=Context()
        )


def page_server(around: Around) -> PageServer:
    chat = WebChat()
    return PageServer(around, chat.name, chat.capabilities, chat.account)


def note_delivery(server: PlatformServer, found: Json, key: str) -> None:
    """People see a delivery when their page reads it; it has been there since the commit."""
    chat = chat_at(found["chat"])
    files = tuple(file["digest"] for file in found["files"])
    server.ask(chat, found["question"], tuple(found["options"]))
    server.around.history.shown.append(
        Shown(server.name, chat, key, found["number"], found["text"], False, 0, files, found["reply_to"])
    )
