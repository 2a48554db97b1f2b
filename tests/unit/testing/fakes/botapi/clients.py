"""The real client library, talking to the fake server in the same loop."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from aiogram import Bot
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import TelegramAPIServer
from starlette.routing import Route

from holdfast.testing import ManualClock
from holdfast.testing.fakes.botapi import BotApi, BotPeople, Rates, serving


class Scene(NamedTuple):
    bot: Bot
    api: BotApi
    people: BotPeople
    clock: ManualClock
    address: str


@asynccontextmanager
async def client(address: str, token: str) -> AsyncIterator[Bot]:
    bot = Bot(token, session=AiohttpSession(api=TelegramAPIServer.from_base(address)))
    try:
        yield bot
    finally:
        await bot.session.close()


@asynccontextmanager
async def scene(rates: Rates | None = None, more: tuple[Route, ...] = ()) -> AsyncIterator[Scene]:
    """A bot, its server and its people; time stands still until it is told to pass."""
    clock = ManualClock()
    api = BotApi(clock, rates=rates)
    async with serving(api, more=more) as address, client(address, api.token) as bot:
        yield Scene(bot, api, BotPeople(api), clock, address)


async def let_pass(clock: ManualClock, until: asyncio.Future[Any]) -> None:
    """Let time pass until this is done, however late it began to wait."""
    while not until.done():
        clock.advance(1_000)
        await asyncio.wait([until], timeout=0.01)
