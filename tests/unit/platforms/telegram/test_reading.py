"""What people do reaches the ledger once: nothing is confirmed before it is kept, and nobody goes deaf."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from holdfast.model import SetAside
from holdfast.platforms import Arrival, PlatformDown, Revision
from holdfast.platforms.telegram.cursor import UpdateCursor, reached
from holdfast.policy.settings import DAY
from holdfast.testing.fakes.botapi import CutAfter, Flood, LostRequest, NoRanges, ServerError
from tests.support.loops import on_a_loop
from tests.unit.platforms.telegram.bots import MENU, stage

WEEK = 7 * DAY


@pytest.mark.guards("D5")
@on_a_loop
async def test_what_waited_before_the_bot_came_up_is_brought() -> None:
    async with stage(connect=False) as here:
        ada = here.people.add("Ada")
        ada.write("while you were away")
        await here.bot.connect()
        (arrival,) = await here.arrivals()
        assert (arrival.text, arrival.origin.person) == ("while you were away", f"telegram:{ada.id}")
        assert not any(asked.params.get("drop_pending_updates") == "true" for asked in here.api.log)


@on_a_loop
async def test_a_batch_that_was_not_committed_is_brought_again() -> None:
    async with stage() as here:
        here.people.add("Ada").write("one")
        first = await here.bot.receive(None)
        again = await here.bot.receive(None)
        assert again.events == first.events
        here.commit(again)
        here.people.add("Bob").write("two")
        assert [arrival.text for arrival in await here.arrivals()] == ["two"]
        assert len(here.api.updates.pending()) == 1, "the last is confirmed by the read after it"


@on_a_loop
async def test_after_a_week_of_silence_the_next_message_comes_whatever_its_update_is_called() -> None:
    async with stage() as here:
        ada = here.people.add("Ada")
        ada.write("one")
        await here.read()
        ada.write("two")
        await here.read()
        before = reached(here.position)
        here.clock.advance(WEEK)
        for number in range(5):
            ada.write(f"after the silence {number}")
        assert (before.update or 0) > here.api.updates.pending()[0].id, "or this proves nothing"
        texts = [arrival.text for arrival in await here.arrivals()]
        assert texts == [f"after the silence {number}" for number in range(5)]


def test_a_position_is_read_back_and_a_damaged_one_counts_as_none() -> None:
    here = UpdateCursor(7, 1_000, {"-100": "-1"})
    assert reached(here.value()) == here
    assert (here.offset(1_000), here.offset(1_000 + 6 * DAY), UpdateCursor().offset(5)) == (8, None, None)
    for damaged in (None, "", "{", "[]", '{"update": "x", "moved": 3}', "7"):
        assert reached(damaged) == UpdateCursor()


@on_a_loop
async def test_an_update_that_cannot_be_read_is_set_aside_and_the_rest_goes_on() -> None:
    async with stage() as here:
        ada = here.people.add("Ada")
        ada.write("before")
        here.people.babble("message", {"message_id": "seven", "chat": 3})
        ada.write("after")
        events = (await here.read()).events
        assert [type(event) for event in events] == [Arrival, SetAside, Arrival]


@on_a_loop
async def test_a_second_reader_is_said_aloud() -> None:
    async with stage() as here:
        reading = asyncio.ensure_future(here.bot.receive(None))
        await here.api.until(lambda: bool(here.api.asked("getUpdates")))
        here.api.updates.stop_polling("other getUpdates request")
        with pytest.raises(PlatformDown, match="409"):
            await reading


@on_a_loop
async def test_a_webhook_that_was_left_is_taken_away_and_what_waited_there_is_kept() -> None:
    async with stage(connect=False) as here:
        here.people.add("Ada").write("waits")
        here.api.deliverer.webhook.url = "http://127.0.0.1:1/nobody"
        await here.bot.connect()
        assert [arrival.text for arrival in await here.arrivals()] == ["waits"]


@pytest.mark.guards("O15")
@on_a_loop
async def test_a_bot_that_is_given_nothing_although_something_waits_says_that_it_is_deaf() -> None:
    async with stage() as here:
        real = here.api.updates.poll

        async def nothing(offset: int, limit: int, seconds: int) -> list[object]:
            here.clock.advance(seconds * 1_000)
            return []

        here.api.updates.poll = nothing  # type: ignore[method-assign, assignment]  # a server that lies
        here.people.add("Ada").write("hello?")
        with pytest.raises(PlatformDown, match="1 updates wait at Telegram"):
            await here.bot.receive(here.position)
        here.api.updates.poll = real  # type: ignore[method-assign]  # and stops lying
        assert [arrival.text for arrival in await here.arrivals()] == ["hello?"]


@on_a_loop
async def test_a_quiet_bot_is_not_deaf() -> None:
    async with stage() as here:
        reading = asyncio.ensure_future(here.arrivals())
        looks = len(here.api.asked("getWebhookInfo"))
        while len(here.api.asked("getWebhookInfo")) == looks:
            here.clock.advance(1_000)
            await asyncio.wait([reading], timeout=0.001)
        here.people.add("Ada").write("at last")
        assert [arrival.text for arrival in await reading] == ["at last"]


@pytest.mark.parametrize(
    ("code", "words"), [(401, "does not know the bot's token"), (500, "cannot be reached")]
)
def test_what_is_wrong_is_said_in_words_without_the_token(code: int, words: str) -> None:
    @on_a_loop
    async def run() -> None:
        async with stage(connect=False) as here:
            if code == 401:
                here.api.revoke("1000:another")
            else:
                here.api.faults.add(ServerError(code), "getMe")
            with pytest.raises(PlatformDown, match=words) as raised:
                await here.bot.connect()
            assert "a-token-for-tests" not in repr(raised.value) + str(raised.value.__cause__)

    run()


@on_a_loop
async def test_a_flood_of_reading_says_for_how_long() -> None:
    async with stage() as here:
        here.api.faults.add(Flood(7), "getUpdates")
        with pytest.raises(PlatformDown) as raised:
            await here.bot.receive(None)
        assert raised.value.retry_after == 7


@on_a_loop
async def test_the_menu_of_commands_is_there() -> None:
    async with stage() as here:
        (menu,) = here.api.commands.values()
        assert [(one["command"], one["description"]) for one in menu] == list(MENU)


@on_a_loop
async def test_an_edit_names_the_message_that_it_changes() -> None:
    async with stage() as here:
        ada = here.people.add("Ada")
        number = ada.write("one")
        ada.edit(number, "two")
        arrival, revision = (await here.read()).events
        assert isinstance(arrival, Arrival)
        assert isinstance(revision, Revision)
        assert (revision.message_id, revision.text, revision.place) == (
            arrival.message_id,
            "two",
            arrival.origin.place,
        )


# Files.


@on_a_loop
async def test_a_file_is_fetched_and_kept_by_its_hash() -> None:
    async with stage() as here:
        here.people.add("Ada").send_file(b"all of it", "a.txt", caption="look")
        (arrival,) = await here.arrivals()
        (file,) = arrival.attachments
        assert (arrival.text, file.name, file.media_type, file.size) == ("look", "a.txt", "text/plain", 9)
        assert here.kept[file.digest] == b"all of it"


@on_a_loop
async def test_a_download_that_breaks_off_goes_on_where_it_was() -> None:
    async with stage() as here:
        content = bytes(range(256)) * 40
        here.people.add("Ada").send_file(content)
        here.api.faults.add(CutAfter(4_000), "download")
        (arrival,) = await here.passing(here.arrivals())
        assert here.kept[arrival.attachments[0].digest] == content
        ranges = [asked.params["range"] for asked in here.api.asked("download")]
        assert ranges[0] == ""
        assert int(ranges[1].removeprefix("bytes=").rstrip("-")) > 0, "not from the beginning again"


@on_a_loop
async def test_a_download_goes_on_in_the_next_process(tmp_path: Path) -> None:
    content = bytes(range(256)) * 40
    async with stage(downloads=tmp_path) as here:
        here.people.add("Ada").send_file(content)
        here.api.faults.add(CutAfter(4_000), "download")
        here.api.faults.add(Flood(30), "getFile", skip=1)
        with pytest.raises(PlatformDown):
            await here.passing(here.bot.receive(None))
        at = here.clock.now() / 1_000
        os.utime(_begun(tmp_path)[0], (at, at))
    async with stage(downloads=tmp_path, api=here.api, clock=here.clock) as after:
        (arrival,) = await after.arrivals()
        assert after.kept[arrival.attachments[0].digest] == content
        (last,) = after.api.asked("download")[1:]
        assert int(last.params["range"].removeprefix("bytes=").rstrip("-")) > 0, "not from the beginning"
        assert _begun(tmp_path) == []


def _begun(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and path.stat().st_size]


@on_a_loop
async def test_a_server_that_knows_no_ranges_is_taken_at_its_word(tmp_path: Path) -> None:
    content = bytes(range(256)) * 40
    async with stage(downloads=tmp_path) as here:
        here.people.add("Ada").send_file(content)
        here.api.faults.add(CutAfter(4_000), "download")
        here.api.faults.add(NoRanges(), "download", times=None)
        (arrival,) = await here.passing(here.arrivals())
        assert here.kept[arrival.attachments[0].digest] == content


@on_a_loop
async def test_what_nobody_goes_on_with_is_removed_after_a_day(tmp_path: Path) -> None:
    other = tmp_path / "another start of the machine"
    other.mkdir()
    (other / "old").write_bytes(b"x")
    (other / "new").write_bytes(b"x")
    async with stage(downloads=tmp_path, connect=False) as here:
        for name, age in (("old", DAY), ("new", DAY - 1_000)):
            at = (here.clock.now() - age) / 1_000
            os.utime(other / name, (at, at))
        await here.bot.connect()
    assert [path.name for path in other.iterdir()] == ["new"]


@on_a_loop
async def test_a_file_that_cannot_be_had_is_spoken_of_and_holds_nobody_up() -> None:
    async with stage() as here:
        ada = here.people.add("Ada")
        ada.send_file(b"x", "huge.bin", size=21 * 1024 * 1024)
        ada.send_file(b"y", "never.bin", caption="this?")
        ada.write("and this")
        ada.send_file(b"z", "odd.bin", caption="or this?")
        here.api.faults.add(ServerError(500), "getFile", times=10)
        here.api.faults.add(LostRequest(), "download", times=None)
        texts = [arrival.text for arrival in await here.passing(here.arrivals())]
        assert "huge.bin" in texts[0]
        assert "this?" in texts[1] and "never.bin" in texts[1]
        assert texts[2] == "and this"
        assert "or this?" in texts[3] and "odd.bin" in texts[3]


@on_a_loop
async def test_an_album_is_one_message_also_when_its_items_come_one_by_one() -> None:
    async with stage() as here:
        ada = here.people.add("Ada")
        updates = here.api.updates
        ada.send_album([b"1", b"2", b"3"], "all of them")
        late = updates._waiting[1:]
        updates._waiting = updates._waiting[:1]
        reading = asyncio.ensure_future(here.arrivals())
        await here.api.until(lambda: len(here.api.asked("getUpdates")) == 1)
        updates._waiting += late
        (album,) = await here.passing(_given(reading))
        assert (album.text, len(album.attachments)) == ("all of them", 3)


async def _given(task: "asyncio.Future[list[Arrival]]") -> list[Arrival]:
    return await task


# Groups that move.


@on_a_loop
async def test_a_group_that_became_a_supergroup_stays_the_same_chat_to_us() -> None:
    async with stage() as here:
        ada = here.people.add("Ada")
        group = here.people.group("Small", ada, kind="group")
        ada.write("before", group)
        (before,) = await here.arrivals()
        large = here.people.upgrade(group, ada)
        ada.write("after", large)
        (after,) = await here.arrivals()
        assert after.origin.place == before.origin.place
        assert json.loads(here.position or "")["moved"] == {str(large): str(group)}
        number = ada.write("again", large)
        ada.edit(number, "again, better", large)
        again, better = (await here.read()).events
        assert isinstance(again, Arrival)
        assert isinstance(better, Revision)
        assert (again.origin.place, again.message_id) == (better.place, better.message_id)
