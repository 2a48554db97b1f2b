"""Updates that Telegram brings: answered once they are committed, and brought again until then."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from holdfast.model import SetAside
from holdfast.platforms import Ack, Arrival, PlatformDown
from holdfast.platforms.telegram.client import WebhookAddress
from holdfast.platforms.telegram.cursor import reached
from tests.support.loops import on_a_loop
from tests.unit.platforms.telegram.bots import Stage, stage
from tests.unit.platforms.telegram.payloads import message, update


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


@asynccontextmanager
async def brought() -> AsyncIterator[tuple[Stage, str]]:
    port = free_port()
    url = f"http://127.0.0.1:{port}/bring"
    async with stage(listening=WebhookAddress(url, "127.0.0.1", port)) as here:
        yield here, url


@pytest.mark.guards("O2")
@on_a_loop
async def test_an_update_is_answered_only_once_it_is_committed() -> None:
    async with brought() as (here, _):
        assert here.bot.capabilities.ack is Ack.ANSWER
        here.people.add("Ada").write("hello")
        incoming = await here.bot.receive(None)
        assert [event.event_id for event in incoming.events] == [f"message:{1001}:1"]
        again = await here.bot.receive(None)
        assert (again.events, here.api.deliverer.tried) == (incoming.events, []), "it waits for our word"
        here.commit(again)
        assert reached(here.position).update is None, "nobody says later that all before it was kept"
        await here.bot.confirm(again, ())
        await here.api.until(lambda: not here.api.updates.pending())
        assert [one.code for one in here.api.deliverer.tried] == [200]


@pytest.mark.guards("O2")
@on_a_loop
async def test_an_update_that_comes_between_the_read_and_its_commit_is_not_answered_with_it() -> None:
    async with brought() as (here, url), httpx.AsyncClient() as telegram:
        headers = {"X-Telegram-Bot-Api-Secret-Token": str(here.api.deliverer.webhook.secret)}

        def post(number: int) -> asyncio.Future[httpx.Response]:
            content = update("message", message(number, text=f"word {number}"), 100 + number)
            return asyncio.ensure_future(telegram.post(url, json=content, headers=headers))

        first = post(7)
        incoming = await here.bot.receive(None)
        second = post(8)
        while len(here.bot._source._posts) < 2:  # type: ignore[attr-defined]  # both are there
            await asyncio.wait([first, second], timeout=0.01)
        here.commit(incoming)
        await here.bot.confirm(incoming, ())
        assert (await first).status_code == 200
        assert not second.done(), "it is not committed yet"
        (arrival,) = await here.arrivals()
        assert arrival.text == "word 8"
        assert (await second).status_code == 200


@on_a_loop
async def test_telegram_is_told_where_to_bring_updates_once_somebody_listens_there() -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}/bring"
    async with stage(listening=WebhookAddress(url, "127.0.0.1", port), connect=False) as here:
        await here.bot._client.open()
        real, listens = here.bot._client.call, list[bool]()

        async def call(method: str, parameters: Any = None, within: int = 60) -> Any:
            if method == "setWebhook":
                with socket.socket() as caller:
                    listens.append(caller.connect_ex(("127.0.0.1", port)) == 0)
            return await real(method, parameters, within)

        here.bot._client.call = call  # type: ignore[method-assign]  # somebody looks at that moment
        await here.bot.connect()
        assert listens == [True]


@on_a_loop
async def test_what_nobody_kept_is_brought_again() -> None:
    async with brought() as (here, _):
        here.people.add("Ada").write("hello")
        await here.bot.receive(None)
        await here.passing(here.api.until(lambda: bool(here.api.deliverer.tried)))
        assert here.api.deliverer.tried[0].code == 503
        (arrival,) = await here.passing(here.arrivals())
        assert arrival.text == "hello"


@on_a_loop
async def test_nobody_but_telegram_is_listened_to() -> None:
    async with brought() as (here, url), httpx.AsyncClient() as stranger:
        update = {"update_id": 1, "message": {}}
        for headers in ({}, {"X-Telegram-Bot-Api-Secret-Token": "guess"}):
            assert (await stranger.post(url, json=update, headers=headers)).status_code == 403
        secret = here.api.deliverer.webhook.secret
        assert secret is not None
        assert "canary" not in secret and here.api.token not in secret


@on_a_loop
async def test_a_body_that_is_none_is_set_aside() -> None:
    async with brought() as (here, url), httpx.AsyncClient() as telegram:
        headers = {"X-Telegram-Bot-Api-Secret-Token": str(here.api.deliverer.webhook.secret)}
        posting = asyncio.ensure_future(telegram.post(url, content=b"{no", headers=headers))
        (event,) = (await here.read()).events
        assert isinstance(event, SetAside)
        assert (await posting).status_code == 200


@on_a_loop
async def test_items_of_an_album_are_one_message_and_known_when_one_of_them_comes_again() -> None:
    async with brought() as (here, url), httpx.AsyncClient() as telegram:
        headers = {"X-Telegram-Bot-Api-Secret-Token": str(here.api.deliverer.webhook.secret)}
        items = [message(number, caption=f"item {number}", media_group_id="A") for number in (7, 8)]
        posts = [
            asyncio.ensure_future(telegram.post(url, json=update("message", item, 100 + n), headers=headers))
            for n, item in enumerate(items)
        ]
        while len(here.bot._source._posts) < 2:  # type: ignore[attr-defined]  # both are there
            await asyncio.wait(posts, timeout=0.01)
        album, rest = (await here.passing(here.read())).events
        assert isinstance(album, Arrival)
        assert album.text == "item 7\n\nitem 8"
        assert isinstance(rest, SetAside)
        assert rest.event_id == "message:1001:8"
        assert [(await post).status_code for post in posts] == [200, 200]


@pytest.mark.guards("O15")
@on_a_loop
async def test_a_webhook_that_somebody_took_away_is_said_aloud_and_set_again() -> None:
    async with brought() as (here, url):
        here.api.deliverer.webhook.url = ""
        with pytest.raises(PlatformDown, match="removed this bot"):
            await here.passing(here.bot.receive(None))
        await here.bot.connect()
        assert here.api.deliverer.webhook.url == url
