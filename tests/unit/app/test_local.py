"""The local API over a real socket."""

import asyncio
import json
import os
import stat
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from holdfast.app.client import Declined, NotRunning, ask, listen
from holdfast.app.local import LONGEST_LINE, SOCKET, LocalApi, Verb
from holdfast.app.shown import Json
from holdfast.errors import BadConfig, DiskFull, NotFound
from tests.support.loops import on_a_loop


async def _echo(given: Json) -> Json:
    return {"given": given}


async def _missing(given: Json) -> Json:
    raise NotFound("session", "s1")


async def _full(given: Json) -> Json:
    raise DiskFull("no room left")


async def _buggy(given: Json) -> Json:
    raise RuntimeError("secret detail")


async def _count(given: Json) -> AsyncGenerator[Json, None]:
    for number in range(given.get("after", 0), 3):
        yield {"number": number}
    await asyncio.get_running_loop().create_future()


VERBS = {
    "echo": Verb({"text": "text", "many": "number?", "really": "flag?"}, _echo),
    "missing": Verb({}, _missing),
    "full": Verb({}, _full),
    "buggy": Verb({}, _buggy),
    "count": Verb({"after": "number?"}, stream=_count),
}


@asynccontextmanager
async def served(home: Path) -> AsyncIterator[LocalApi]:
    api = LocalApi(home, VERBS)
    await api.open()
    try:
        yield api
    finally:
        await api.close()


class Talk:
    """A client that says exactly what a test wants it to."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, line: bytes) -> Any:
        self._writer.write(line + b"\n")
        await self._writer.drain()
        return await self.hear()

    async def hear(self) -> Any:
        line = await self._reader.readline()
        return json.loads(line) if line else None

    def close(self) -> None:
        self._writer.close()


@asynccontextmanager
async def talking(home: Path) -> AsyncIterator[Talk]:
    reader, writer = await asyncio.open_unix_connection(home / SOCKET, limit=10 * LONGEST_LINE)
    try:
        yield Talk(reader, writer)
    finally:
        writer.close()


@on_a_loop
async def test_a_request_is_answered_under_its_id(tmp_path: Path) -> None:
    async with served(tmp_path), talking(tmp_path) as talk:
        answer = await talk.send(b'{"id": 7, "do": "echo", "text": "hi", "many": 3}')
        assert answer == {"id": 7, "ok": {"given": {"text": "hi", "many": 3}}}


@on_a_loop
async def test_only_the_homes_owner_can_open_the_socket(tmp_path: Path) -> None:
    async with served(tmp_path):
        assert stat.S_IMODE(os.stat(tmp_path / SOCKET).st_mode) == 0o600
    assert not (tmp_path / SOCKET).exists()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"{", "one JSON object"),
        (b"\xff\xfe", "one JSON object"),
        (b"[1]", "one JSON object"),
        (b"[" * 200_000, "one JSON object"),
        (b"{}", "allowed: buggy, count, echo, full, missing"),
        (b'{"do": "dance"}', "do = 'dance' is not allowed"),
        (b'{"do": ["echo"]}', "is not allowed"),
        (b'{"do": "echo"}', "missing: text"),
        (b'{"do": "echo", "text": 5}', "text = 5 is not allowed; allowed: text"),
        (b'{"do": "echo", "text": null}', "text = None is not allowed"),
        (b'{"do": "echo", "text": "a", "many": -1}', "a whole number from 0"),
        (b'{"do": "echo", "text": "a", "many": true}', "a whole number from 0"),
        (b'{"do": "echo", "text": "a", "many": 9223372036854775808}', "a whole number from 0"),
        (b'{"do": "echo", "text": "a", "really": 1}', "true or false"),
        (b'{"do": "echo", "text": "a", "more": 1}', "unknown argument 'more'; arguments here: text, many"),
    ],
)
def test_a_bad_request_gets_an_error_object_and_the_next_one_its_answer(
    tmp_path: Path, line: bytes, words: str
) -> None:
    @on_a_loop
    async def run() -> None:
        async with served(tmp_path), talking(tmp_path) as talk:
            error = (await talk.send(line))["error"]
            assert error["code"] == "bad_request"
            assert words in error["words"]
            assert "ok" in await talk.send(b'{"do": "echo", "text": "still here"}')

    run()


@on_a_loop
async def test_a_line_without_end_is_cut_off_with_a_word_and_nobody_else_notices(tmp_path: Path) -> None:
    async with served(tmp_path), talking(tmp_path) as endless, talking(tmp_path) as other:
        error = (await endless.send(b"x" * (LONGEST_LINE + 10)))["error"]
        assert (error["code"], str(LONGEST_LINE) in error["words"]) == ("bad_request", True)
        assert await endless.hear() is None
        assert "ok" in await other.send(b'{"do": "echo", "text": "fine"}')


@on_a_loop
async def test_half_a_request_of_somebody_who_left_is_not_carried_out(tmp_path: Path) -> None:
    async with served(tmp_path):
        reader, writer = await asyncio.open_unix_connection(tmp_path / SOCKET)
        writer.write(b'{"do": "echo", "text": "hi"}')
        writer.write_eof()
        assert await reader.read() == b""
        writer.close()


@on_a_loop
async def test_faults_have_codes_and_our_own_bugs_tell_nothing_of_the_inside(tmp_path: Path) -> None:
    async with served(tmp_path):
        for do, code in (("missing", "not_found"), ("full", "try_again"), ("buggy", "broken")):
            with pytest.raises(Declined) as declined:
                await ask(tmp_path, do)
            assert declined.value.code == code
            assert "secret" not in str(declined.value)


@on_a_loop
async def test_a_stream_gives_its_events_until_the_listener_goes(tmp_path: Path) -> None:
    async with served(tmp_path):
        events = listen(tmp_path, "count", after=1)
        assert [await anext(events), await anext(events)] == [{"number": 1}, {"number": 2}]
        await events.aclose()
        assert await ask(tmp_path, "echo", text="after it") == {"given": {"text": "after it"}}


@on_a_loop
async def test_who_listens_is_let_go_when_the_gateway_closes(tmp_path: Path) -> None:
    async with served(tmp_path) as api, talking(tmp_path) as talk:
        assert await talk.send(b'{"do": "count", "after": 2}') == {"id": None, "event": {"number": 2}}
        await api.close()
        assert await talk.hear() is None


@on_a_loop
async def test_without_a_gateway_one_is_told_so_also_by_a_socket_left_behind(tmp_path: Path) -> None:
    with pytest.raises(NotRunning):
        await ask(tmp_path, "echo", text="x")
    server = await asyncio.start_unix_server(lambda *_: None, tmp_path / SOCKET)
    server.close()
    with pytest.raises(NotRunning):
        await ask(tmp_path, "echo", text="x")
    async with served(tmp_path):
        assert await ask(tmp_path, "echo", text="x")


@on_a_loop
async def test_a_home_too_deep_for_a_socket_is_named(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 100)
    deep.mkdir()
    with pytest.raises(BadConfig, match="home = "):
        await LocalApi(deep, VERBS).open()
