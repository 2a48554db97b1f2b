"""People who talk to a gateway: each says something, waits for the reply, and goes on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from time import perf_counter

from holdfast.agents import Agent, Prompt
from holdfast.agents.base import OnText, unheard
from holdfast.agents.echo import EchoModel
from holdfast.api.client import Heard, listen
from holdfast.clock import SystemClock, SystemIds, SystemRng
from holdfast.config.home import SOCKET, TOKEN
from holdfast.config.settings import LOCAL_PERSON, GatewaySettings
from holdfast.gateway.gateway import Gateway
from holdfast.model import Delivery, Replied, SendResult, Sent
from holdfast.platforms import Arrival
from holdfast.platforms.web import WebChat
from holdfast.policy.intake.access import Access
from holdfast.policy.intake.admission import Drain
from holdfast.store import open_ledger

from .turn import MESSAGE

TOGETHER = 20
"""Messages of one conversation; then the next begins, so that no transcript grows with the measurement."""


@dataclass(slots=True)
class Ears(WebChat):
    """A platform whose people hear a reply at the moment it is sent."""

    _waiting: dict[str, asyncio.Future[float]] = field(default_factory=dict)

    async def reply_to(self, chat: str, event_id: str, text: str) -> float:
        """Say something and wait for the answer; returns when it was heard."""
        origin = self.origin(chat, LOCAL_PERSON.partition(":")[2])
        heard: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self._waiting[origin.place.address] = heard
        await self.post(Arrival(event_id, origin, text))
        return await heard

    async def send(self, delivery: Delivery) -> SendResult:
        waiting = self._waiting.pop(delivery.chat, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(perf_counter())
        return Sent(delivery.key)


@dataclass(slots=True)
class Paced:
    """Repeats the message after a pause, and records the real length of the pause."""

    seconds: float
    took: list[float] = field(default_factory=list)
    _echo: EchoModel = field(default_factory=EchoModel)

    async def reply(self, prompt: Prompt, on_text: OnText = unheard) -> Replied:
        began = perf_counter()
        if self.seconds:
            await asyncio.sleep(self.seconds)
        answer = await self._echo.reply(prompt, on_text)
        self.took.append(perf_counter() - began)
        return answer


@dataclass(slots=True)
class Crowd:
    """Many chats with one gateway, composed in this process on a real ledger."""

    ears: Ears
    chats: int
    _numbers: Iterator[int] = field(default_factory=count)

    async def run(self, messages: int) -> None:
        """Answer this many messages, spread over all chats at once."""
        await asyncio.gather(*(self._talk(messages // self.chats) for _ in range(self.chats)))

    async def _talk(self, messages: int) -> None:
        for first in range(0, messages, TOGETHER):
            chat = f"b{next(self._numbers)}"
            for _ in range(first, min(first + TOGETHER, messages)):
                await self.one(chat)

    async def one(self, chat: str) -> float:
        """Seconds from saying something to hearing the answer."""
        began = perf_counter()
        return await self.ears.reply_to(chat, f"m{next(self._numbers)}", MESSAGE) - began


@asynccontextmanager
async def composed(home: Path, chats: int, model: Paced) -> AsyncIterator[Crowd]:
    """The whole gateway with its default settings, in this process."""
    clock = SystemClock()
    ids = SystemIds(clock)
    store = await open_ledger(home, clock, ids)
    ears = Ears()
    access = Access(owners=frozenset({LOCAL_PERSON}))
    gateway = Gateway(
        store,
        clock,
        SystemRng(),
        ids,
        (ears,),
        Agent(model),
        GatewaySettings(),
        lambda: access,
        home / "workspace",
    )
    running = asyncio.create_task(gateway.run())
    try:
        yield Crowd(ears, chats)
    finally:
        gateway.request(Drain.SHUTDOWN, at_once=True)
        await running
        await store.close()


class Line:
    """One chat over the home's socket: one connection to talk, one that follows the chat."""

    def __init__(self, home: Path, chat: str) -> None:
        self._home = home
        self._path = f"/api/chats/{chat}"
        self._body = json.dumps({"text": MESSAGE}).encode()
        self._token = (home / TOKEN).read_text().strip()
        self._heard: asyncio.Queue[None] = asyncio.Queue()

    async def open(self) -> None:
        self._reader, self._writer = await asyncio.open_unix_connection(self._home / SOCKET)
        events = listen(self._home, f"{self._path}/events")
        await anext(events)
        self._following = asyncio.create_task(self._follow(events))

    async def one(self) -> None:
        """Say something and read its answer."""
        lines = (f"Authorization: Bearer {self._token}", f"Content-Length: {len(self._body)}")
        head = "\r\n".join((f"POST {self._path}/messages HTTP/1.1", "Host: localhost", *lines))
        self._writer.write(head.encode() + b"\r\n\r\n" + self._body)
        answer = (await self._reader.readuntil(b"\r\n\r\n")).decode().lower()
        await self._reader.readexactly(int(answer.partition("content-length: ")[2].split()[0]))
        await self._heard.get()

    async def _follow(self, events: AsyncGenerator[Heard, None]) -> None:
        async with aclosing(events):
            async for event in events:
                if event.name == "delivery":
                    self._heard.put_nowait(None)

    async def close(self) -> None:
        self._following.cancel()
        with suppress(asyncio.CancelledError):
            await self._following
        self._writer.close()


@dataclass(frozen=True, slots=True)
class Lines:
    """Many chats at once with a gateway in its own process."""

    home: Path
    chats: int
    name: str
    _numbers: Iterator[int] = field(default_factory=count)

    async def run(self, messages: int) -> None:
        """Answer this many messages, spread over all chats at once."""
        await asyncio.gather(*(self._talk(messages // self.chats) for _ in range(self.chats)))

    async def _talk(self, messages: int) -> None:
        for first in range(0, messages, TOGETHER):
            line = Line(self.home, f"{self.name}{next(self._numbers)}")
            await line.open()
            for _ in range(first, min(first + TOGETHER, messages)):
                await line.one()
            await line.close()
