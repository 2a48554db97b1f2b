"""The real adapter with the real client, at the fake Bot API in the same loop; time stands still."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from holdfast.model import ChatAddress, QuestionId
from holdfast.platforms import Arrival, Incoming
from holdfast.platforms.telegram.adapter import Telegram
from holdfast.platforms.telegram.bot import telegram_bot
from holdfast.platforms.telegram.client import WebhookAddress
from holdfast.testing import ManualClock
from holdfast.testing.fakes.botapi import BotApi, BotPeople, Rates, serving
from tests.unit.testing.fakes.botapi.clients import let_pass

T = TypeVar("T")

MENU = (("new", "begin anew"), ("stop", "stop the work"))


@dataclass
class Stage:
    """A bot, its server and its people, and what the ledger would hold for it."""

    bot: Telegram
    api: BotApi
    people: BotPeople
    clock: ManualClock
    address: str
    kept: dict[str, bytes] = field(default_factory=dict)
    asked: list[QuestionId] = field(default_factory=list)
    position: str | None = None
    reports: list[str] = field(default_factory=list)

    async def read(self) -> Incoming:
        """The next batch, committed and confirmed."""
        incoming = await self.bot.receive(self.position)
        self.commit(incoming)
        await self.bot.confirm(incoming, ())
        return incoming

    def commit(self, incoming: Incoming) -> None:
        assert incoming.cursor is not None
        self.position = incoming.cursor.value

    async def arrivals(self) -> list[Arrival]:
        return [event for event in (await self.read()).events if isinstance(event, Arrival)]

    async def passing(self, work: Coroutine[Any, Any, T]) -> T:
        """What this gives, while time passes."""
        task = asyncio.ensure_future(work)
        await let_pass(self.clock, task)
        return await task


@asynccontextmanager
async def stage(
    rates: Rates | None = None,
    listening: WebhookAddress | None = None,
    connect: bool = True,
    address: str | None = None,
    downloads: Path | None = None,
    api: BotApi | None = None,
    clock: ManualClock | None = None,
    folder: Path = Path("/nowhere"),
) -> AsyncIterator[Stage]:
    clock = clock or ManualClock()
    api = api or BotApi(clock, rates=rates)
    async with AsyncExitStack() as end:
        served_at = await end.enter_async_context(serving(api))
        empty = end.enter_context(TemporaryDirectory())
        address = address or served_at

        async def keep(content: bytes, media_type: str) -> str:
            digest = hashlib.sha256(content).hexdigest()
            found.kept[digest] = content
            return digest

        async def asked(chat: ChatAddress) -> Sequence[QuestionId]:
            return found.asked

        def report(what: str, fault: BaseException) -> None:
            found.reports.append(f"{what}: {fault!r}")

        bot = telegram_bot(
            api.token,
            address,
            clock,
            keep,
            asked,
            MENU,
            listening,
            report,
            lambda digest: folder / digest,
            downloads=(downloads or Path(empty)) / "boot",
        )
        found = Stage(bot, api, BotPeople(api), clock, address)
        try:
            if connect:
                await bot.connect()
            yield found
        finally:
            await bot.close()
