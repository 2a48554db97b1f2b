"""Updates: offsets confirm, nothing else does; one reader; a day at most; polling or a webhook."""

import asyncio

import pytest
from aiogram.exceptions import TelegramConflictError, TelegramUnauthorizedError
from aiogram.types import Update
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.support.loops import on_a_loop
from tests.unit.testing.fakes.botapi.clients import client, let_pass, scene

DAY = 24 * 60 * 60 * 1_000


def texts(updates: list[Update]) -> list[str | None]:
    return [update.message.text if update.message else None for update in updates]


@on_a_loop
async def test_an_update_stays_until_a_higher_offset_confirms_it() -> None:
    async with scene() as (bot, _, people, _, _):
        ada = people.add("Ada")
        for text in ("one", "two", "three"):
            ada.write(text)
        first = await bot.get_updates()
        assert texts(first) == ["one", "two", "three"]
        assert texts(await bot.get_updates()) == ["one", "two", "three"]
        assert texts(await bot.get_updates(limit=1)) == ["one"]
        assert texts(await bot.get_updates(offset=first[1].update_id)) == ["two", "three"]
        assert texts(await bot.get_updates(offset=0)) == ["two", "three"]
        assert texts(await bot.get_updates(offset=-1)) == ["three"]
        assert texts(await bot.get_updates(offset=first[2].update_id + 1)) == []


@on_a_loop
async def test_a_long_poll_answers_with_the_first_update_or_at_its_end() -> None:
    async with scene() as (bot, api, people, clock, _):
        ada = people.add("Ada")
        poll = asyncio.ensure_future(bot.get_updates(timeout=30))
        await api.until(lambda: bool(api.asked("getUpdates")))
        assert not poll.done()
        ada.write("hello")
        (update,) = await poll
        poll = asyncio.ensure_future(bot.get_updates(offset=update.update_id + 1, timeout=30))
        await let_pass(clock, poll)
        assert await poll == []


@on_a_loop
async def test_a_second_reader_ends_the_first() -> None:
    async with scene() as (bot, api, people, _, _):
        first = asyncio.ensure_future(bot.get_updates(timeout=30))
        await api.until(lambda: bool(api.asked("getUpdates")))
        second = asyncio.ensure_future(bot.get_updates(timeout=30))
        with pytest.raises(TelegramConflictError, match="terminated by other getUpdates request"):
            await first
        people.add("Ada").write("hello")
        assert texts(await second) == ["hello"]


@on_a_loop
async def test_updates_are_kept_for_a_day() -> None:
    async with scene() as (bot, api, people, clock, _):
        ada = people.add("Ada")
        ada.write("old")
        clock.advance(DAY - 1)
        ada.write("new")
        assert texts(await bot.get_updates()) == ["old", "new"]
        clock.advance(1)
        assert texts(await bot.get_updates()) == ["new"]
        assert len(api.updates.expired) == 1


@on_a_loop
async def test_after_a_week_of_silence_ids_begin_anywhere() -> None:
    async with scene() as (bot, _, people, clock, _):
        ada = people.add("Ada")
        ada.write("one")
        (before,) = await bot.get_updates()
        clock.advance(8 * DAY)
        ada.write("two")
        (after,) = await bot.get_updates()
        assert after.update_id != before.update_id + 1


@on_a_loop
async def test_only_the_kinds_that_were_asked_for_are_kept() -> None:
    async with scene() as (bot, _, people, _, _):
        ada = people.add("Ada")
        await bot.get_updates(allowed_updates=["edited_message"])
        id_ = ada.write("one")
        ada.edit(id_, "two")
        (only,) = await bot.get_updates()
        assert only.edited_message and only.edited_message.text == "two"
        assert only.edited_message.message_id == id_
        await bot.get_updates(offset=only.update_id + 1, allowed_updates=[])
        ada.write("three")
        assert texts(await bot.get_updates()) == ["three"]


@on_a_loop
async def test_a_wrong_token_is_refused_and_written_nowhere() -> None:
    async with scene() as at:
        async with client(at.address, "1000:another-token-canary") as stranger:
            with pytest.raises(TelegramUnauthorizedError):
                await stranger.get_me()
        assert "canary" not in repr(at.api.log)
        me = await at.bot.get_me()
        assert (me.id, me.is_bot, me.first_name) == (1000, True, "Holdfast")
        at.api.revoke("1000:new")
        with pytest.raises(TelegramUnauthorizedError):
            await at.bot.get_updates()


class Receiver:
    """A webhook that answers with these codes, then 200."""

    def __init__(self, *codes: int) -> None:
        self.received: list[tuple[str | None, str]] = []
        self._codes = list(codes)
        self.route = Route("/hook", self._take, methods=["POST"])

    async def _take(self, request: Request) -> Response:
        secret = request.headers.get("X-Telegram-Bot-Api-Secret-Token")
        self.received.append((secret, (await request.json())["message"]["text"]))
        return Response(status_code=self._codes.pop(0) if self._codes else 200)


@on_a_loop
async def test_a_webhook_gets_each_update_until_it_answers_2xx_in_order_and_with_the_secret() -> None:
    hook = Receiver(500, 503)
    async with scene(more=(hook.route,)) as at:
        assert await at.bot.set_webhook(f"{at.address}/hook", secret_token="s3cret")
        ada, bob = at.people.add("Ada"), at.people.add("Bob")
        ada.write("one")
        await at.api.until(lambda: len(at.api.deliverer.tried) == 1)
        ada.write("two")
        bob.write("other chat")
        await at.api.until(lambda: len(at.api.deliverer.tried) == 2)
        info = await at.bot.get_webhook_info()
        assert info.pending_update_count == 3
        assert info.last_error_message == "Wrong response from the webhook: 503 Service Unavailable"
        await let_pass(at.clock, asyncio.ensure_future(at.api.until(lambda: not at.api.updates.pending())))
        assert {secret for secret, _ in hook.received} == {"s3cret"}
        assert [text for _, text in hook.received if text != "other chat"] == ["one", "one", "two"]
        assert (await at.bot.get_webhook_info()).pending_update_count == 0


@on_a_loop
async def test_polling_and_a_webhook_exclude_each_other() -> None:
    async with scene() as (bot, api, people, _, _):
        poll = asyncio.ensure_future(bot.get_updates(timeout=30))
        await api.until(lambda: bool(api.asked("getUpdates")))
        await bot.set_webhook("http://127.0.0.1:1/nobody")
        with pytest.raises(TelegramConflictError, match="terminated by setWebhook"):
            await poll
        with pytest.raises(TelegramConflictError, match="webhook is active"):
            await bot.get_updates()
        people.add("Ada").write("hello")
        await api.until(lambda: bool(api.deliverer.tried))
        assert (await bot.get_webhook_info()).last_error_message == "Connection refused"
        await bot.delete_webhook()
        assert texts(await bot.get_updates()) == ["hello"]
        await bot.delete_webhook(drop_pending_updates=True)
        assert await bot.get_updates() == []
