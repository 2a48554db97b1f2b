"""Telegram keeps the contract of a platform: the real adapter and client, at the fake Bot API."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from holdfast.clock import SystemClock
from holdfast.model import Attachment, ChatAddress, Place
from holdfast.platforms import Platform
from holdfast.platforms.telegram.adapter import Telegram
from holdfast.platforms.telegram.bot import telegram_bot
from holdfast.testing.conformance import faults_of, left_out
from holdfast.testing.fakes.botapi import BotApi, BotPeople, LostAnswer, LostRequest, Person, serving

_NOWHERE = Path(__file__).parent / "downloads" / "none"
"""No file comes here."""


async def _kept(content: bytes, media_type: str) -> str:
    return "digest"


@dataclass
class TelegramStand:
    """One bot, and Ann, who has a chat with it that can have topics."""

    api: BotApi
    people: BotPeople
    ann: Person
    address: str
    server: AsyncExitStack
    cannot = frozenset[str]()
    made: list[Telegram] = field(default_factory=list)
    kept: Path = Path()

    def fresh(self) -> Platform:
        bot = telegram_bot(
            self.api.token,
            self.address,
            SystemClock(),
            _kept,
            stored=lambda digest: self.kept / digest,
            downloads=_NOWHERE,
        )
        self.made.append(bot)
        return self.made[-1]

    def chat(self, thread: str | None = None) -> ChatAddress:
        return Place("telegram", self.api.token.partition(":")[0], str(self.ann.id), thread).address

    async def write(self, text: str, thread: str | None = None) -> None:
        self.ann.write(text, thread=int(thread) if thread else None)

    async def seen(self, thread: str | None = None) -> list[str]:
        return self.ann.hears(thread=int(thread) if thread else None)

    def stored(self, content: bytes) -> Attachment:
        (self.kept / "digest").write_bytes(content)
        return Attachment("digest", "report.txt", "text/plain", len(content))

    async def files(self) -> list[bytes]:
        return [stored.content for stored in self.api.world.files.values()]

    async def open_thread(self) -> str:
        return str(self.ann.open_topic("a topic"))

    async def press(self, label: str) -> None:
        self.ann.press(label)

    async def babble(self) -> None:
        self.people.babble("message", {"nonsense": True})

    async def lose_answer(self) -> None:
        self.api.faults.add(LostAnswer(), "sendMessage")

    async def lose_request(self) -> None:
        self.api.faults.add(LostRequest(), "sendMessage")

    async def block(self) -> None:
        self.ann.block()

    async def go_away(self) -> None:
        await self.server.aclose()


@asynccontextmanager
async def stand() -> AsyncIterator[TelegramStand]:
    api = BotApi()
    people = BotPeople(api)
    async with AsyncExitStack() as server:
        kept = server.enter_context(TemporaryDirectory())
        address = await server.enter_async_context(serving(api))
        made = TelegramStand(api, people, people.add("Ann"), address, server, kept=Path(kept))
        try:
            yield made
        finally:
            for bot in made.made:
                await bot.close()


def test_telegram_does_what_its_capabilities_say() -> None:
    assert asyncio.run(faults_of(stand)) == ()


def test_nothing_but_what_telegram_cannot_do_is_left_out() -> None:
    assert asyncio.run(left_out(stand)) == {
        "shows a key once",
        "says what is there",
        "says what is not there",
    }
