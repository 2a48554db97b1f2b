"""Files, and everything that goes wrong on demand: what took effect is known from outside."""

import asyncio

import httpx
import pytest
from aiogram.exceptions import (
    TelegramBadRequest,
    TelegramNetworkError,
    TelegramRetryAfter,
    TelegramServerError,
)
from aiogram.types import BufferedInputFile

from holdfast.testing.fakes.botapi import CutAfter, Flood, LostAnswer, LostRequest, Rates, ServerError, Slow
from tests.support.loops import on_a_loop
from tests.unit.testing.fakes.botapi.clients import let_pass, scene


@on_a_loop
async def test_a_flood_says_how_long_to_wait_for_one_chat_and_for_all() -> None:
    async with scene() as (bot, api, people, _, _):
        ada, bob = people.add("Ada"), people.add("Bob")
        ada.write("hi")
        bob.write("hi")
        api.faults.add(Flood(7), "sendMessage", chat=ada.id)
        with pytest.raises(TelegramRetryAfter) as flood:
            await bot.send_message(ada.id, "one")
        assert flood.value.retry_after == 7
        await bot.send_message(bob.id, "one")
        await bot.send_message(ada.id, "one")
        api.faults.add(Flood(3), times=None)
        for chat in (ada.id, bob.id):
            with pytest.raises(TelegramRetryAfter):
                await bot.send_message(chat, "two")
        api.faults.clear()
        assert (ada.hears(), bob.hears()) == (["one"], ["one"])


@on_a_loop
async def test_rates_are_kept_to_by_chat_group_and_bot() -> None:
    async with scene(Rates(chat_each_second=1, group_each_minute=2, all_each_second=3)) as at:
        people = [at.people.add(name) for name in ("Ada", "Bob", "Cy", "Di")]
        for person in people:
            person.write("hi")
        group = at.people.group("Plain", *people)
        await at.bot.send_message(people[0].id, "one")
        with pytest.raises(TelegramRetryAfter) as flood:
            await at.bot.send_message(people[0].id, "two")
        assert flood.value.retry_after == 1
        for person in people[1:3]:
            await at.bot.send_message(person.id, "one")
        with pytest.raises(TelegramRetryAfter):
            await at.bot.send_message(people[3].id, "one")
        for number in range(2):
            at.clock.advance(1_000)
            await at.bot.send_message(group, f"group {number}")
        at.clock.advance(1_000)
        with pytest.raises(TelegramRetryAfter) as flood:
            await at.bot.send_message(group, "group 2")
        assert flood.value.retry_after == 58


@on_a_loop
async def test_a_lost_answer_took_effect_and_a_lost_request_did_not() -> None:
    async with scene() as (bot, api, people, _, _):
        ada = people.add("Ada")
        ada.write("hi")
        api.faults.add(LostRequest(), "sendMessage")
        with pytest.raises(TelegramNetworkError):
            await bot.send_message(ada.id, "lost on the way")
        api.faults.add(LostAnswer(), "sendMessage")
        with pytest.raises(TelegramNetworkError):
            await bot.send_message(ada.id, "arrived")
        await bot.send_message(ada.id, "after")
        assert ada.hears() == ["arrived", "after"]
        assert [one.outcome for one in api.asked("sendMessage")] == [
            "lost request",
            "lost answer",
            "answered",
        ]
        by_request = {one.text: api.log[one.request - 1].outcome for one in api.shown}
        assert by_request == {"arrived": "lost answer", "after": "answered"}
        assert api.shown[0].to == (ada.id,)


@on_a_loop
async def test_updates_whose_answer_was_lost_are_still_there() -> None:
    async with scene() as (bot, api, people, _, _):
        people.add("Ada").write("hi")
        api.faults.add(LostAnswer(), "getUpdates")
        with pytest.raises(TelegramNetworkError):
            await bot.get_updates()
        assert len(await bot.get_updates()) == 1


@on_a_loop
async def test_a_broken_server_does_nothing_and_a_slow_one_does_it_first() -> None:
    async with scene() as (bot, api, people, clock, _):
        ada = people.add("Ada")
        ada.write("hi")
        api.faults.add(ServerError(502), "sendMessage")
        with pytest.raises(TelegramServerError):
            await bot.send_message(ada.id, "no")
        api.faults.add(Slow(20), "sendMessage")
        sending = asyncio.ensure_future(bot.send_message(ada.id, "slow"))
        await api.until(lambda: ada.hears() == ["slow"])
        assert not sending.done()
        await let_pass(clock, sending)
        assert (await sending).text == "slow"


@on_a_loop
async def test_files_go_both_ways() -> None:
    async with scene() as (bot, _, people, _, _):
        ada = people.add("Ada")
        ada.send_file(b"\r\n--content\x00", "notes.txt", caption="look")
        ada.send_album([b"photo one", b"photo two"], "both")
        updates = [one.message for one in await bot.get_updates() if one.message]
        assert updates[0].document and updates[0].caption == "look"
        got = await bot.download(updates[0].document)
        assert got is not None and got.read() == b"\r\n--content\x00"
        albums = {one.media_group_id for one in updates[1:]}
        assert len(albums) == 1 and None not in albums
        assert [one.caption for one in updates[1:]] == ["both", None]
        sent = await bot.send_document(ada.id, BufferedInputFile(b"\r\nab\r\n\r\n", "r.bin"), caption="here")
        assert sent.document and sent.document.file_size == 8
        back = await bot.download(sent.document)
        assert back is not None and back.read() == b"\r\nab\r\n\r\n"
        photo = await bot.send_photo(ada.id, BufferedInputFile(b"\xff\xd8\xffjpg", "p.jpg"))
        assert photo.photo
        again = await bot.send_photo(ada.id, photo.photo[0].file_id)
        assert again.photo and again.photo[0].file_unique_id == photo.photo[0].file_unique_id
        assert [one.media for one in ada.sees()[-3:]] == [("document",), ("photo",), ("photo",)]
        with pytest.raises(TelegramBadRequest, match="caption is too long"):
            await bot.send_photo(ada.id, photo.photo[0].file_id, caption="x" * 1025)
        with pytest.raises(TelegramBadRequest, match="non-empty"):
            await bot.send_document(ada.id, BufferedInputFile(b"", "empty"))


@on_a_loop
async def test_a_download_that_was_cut_goes_on_where_it_ended() -> None:
    async with scene() as (bot, api, people, clock, address):
        ada = people.add("Ada")
        ada.send_file(bytes(range(100)))
        message = (await bot.get_updates())[0].message
        assert message and message.document
        path = (await bot.get_file(message.document.file_id)).file_path
        url = f"{address}/file/bot{api.token}/{path}"
        api.faults.add(CutAfter(40), "download")
        async with httpx.AsyncClient() as client:
            got = b""
            with pytest.raises(httpx.RemoteProtocolError):
                async with client.stream("GET", url) as answer:
                    async for piece in answer.aiter_raw():
                        got += piece
            rest = await client.get(url, headers={"Range": f"bytes={len(got)}-"})
            assert (len(got), rest.status_code, rest.headers["Content-Range"]) == (40, 206, "bytes 40-99/100")
            assert got + rest.content == bytes(range(100))
            beyond = await client.get(url, headers={"Range": "bytes=100-"})
            assert beyond.status_code == 416
            clock.advance(60 * 60 * 1_000)
            assert (await client.get(url)).status_code == 404


@on_a_loop
async def test_large_and_unknown_files_cannot_be_fetched() -> None:
    async with scene() as (bot, _, people, _, _):
        people.add("Ada").send_file(b"x", size=20 * 1024 * 1024 + 1)
        message = (await bot.get_updates())[0].message
        assert message and message.document
        with pytest.raises(TelegramBadRequest, match="file is too big"):
            await bot.get_file(message.document.file_id)
        with pytest.raises(TelegramBadRequest, match="wrong file_id"):
            await bot.get_file("nothing")
