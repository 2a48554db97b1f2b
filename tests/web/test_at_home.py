"""The home's socket: the API for the holder of the token, and what can be asked by name."""

import asyncio
import json
import os
import stat
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.responses import Response

from holdfast.api.arguments import Operation
from holdfast.api.client import Heard, NotRunning, RequestDeclined, ask, listen, request
from holdfast.api.to_json import Json
from holdfast.clock import SystemClock
from holdfast.config.home import SOCKET, TOKEN
from holdfast.errors import BadConfig, DiskFull, NotFound
from holdfast.web.events import StreamEvent, Streams
from holdfast.web.routes.route import LONGEST_BODY, ApiRoute
from holdfast.web.server import listen_in
from tests.support.at_home import served
from tests.support.loops import on_a_loop
from tests.support.outside import House


async def _echo(given: Json) -> Json:
    return {"given": given}


async def _missing(given: Json) -> Json:
    raise NotFound("session", "s1")


async def _full(given: Json) -> Json:
    raise DiskFull("no room left")


async def _buggy(given: Json) -> Json:
    raise RuntimeError("secret detail")


VERBS = {
    "echo": Operation({"text": "text", "many": "number?", "really": "flag?"}, _echo),
    "missing": Operation({}, _missing),
    "full": Operation({}, _full),
    "buggy": Operation({}, _buggy),
}


async def _count(last: int) -> AsyncGenerator[StreamEvent, None]:
    for number in range(last, 3):
        yield StreamEvent("number", {"number": number}, str(number))
    await asyncio.get_running_loop().create_future()


@asynccontextmanager
async def counting(home: Path) -> AsyncIterator[Streams]:
    """A home that also counts, from what was heard last on."""
    streams = Streams(SystemClock())

    async def count(asked: Request) -> Response:
        return streams.answer(asked, _count(int(asked.headers.get("last-event-id", 0))))

    async with served(home, VERBS, ApiRoute("GET", "/count", "", handler=count)):
        yield streams


async def said(home: Path, body: bytes, length: int | None = None) -> Json:
    """What is answered to exactly this body."""
    reader, writer = await asyncio.open_unix_connection(home / SOCKET)
    token = f"Authorization: Bearer {(home / TOKEN).read_text().strip()}"
    head = f"POST /local/echo HTTP/1.0\r\n{token}\r\nContent-Length: "
    writer.write(f"{head}{len(body) if length is None else length}\r\n\r\n".encode() + body)
    writer.write_eof()
    answer = await reader.read()
    writer.close()
    found: Json = json.loads(answer.partition(b"\r\n\r\n")[2] or b"{}")
    return found


@on_a_loop
async def test_what_is_asked_by_name_is_answered(tmp_path: Path) -> None:
    async with served(tmp_path, VERBS):
        assert await ask(tmp_path, "echo", text="hi", many=3) == {"given": {"text": "hi", "many": 3}}


@on_a_loop
async def test_only_the_homes_owner_can_open_the_socket(tmp_path: Path) -> None:
    async with served(tmp_path, VERBS):
        assert stat.S_IMODE(os.stat(tmp_path / SOCKET).st_mode) == 0o600


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"{", "one JSON object"),
        (b"\xff\xfe", "one JSON object"),
        (b"[1]", "one JSON object"),
        (b"[" * 200_000, "one JSON object"),
        (b"{}", "missing: text"),
        (b'{"text": 5}', "text = 5 is not allowed; allowed: text"),
        (b'{"text": null}', "text = None is not allowed"),
        (b'{"text": "a", "many": -1}', "a whole number from 0"),
        (b'{"text": "a", "many": true}', "a whole number from 0"),
        (b'{"text": "a", "many": 9223372036854775808}', "a whole number from 0"),
        (b'{"text": "a", "really": 1}', "true or false"),
        (b'{"text": "a", "more": 1}', "unknown argument 'more'; arguments here: text, many"),
    ],
)
def test_a_bad_request_gets_an_error_that_says_what_is_allowed(
    tmp_path: Path, body: bytes, words: str
) -> None:
    @on_a_loop
    async def run() -> None:
        async with served(tmp_path, VERBS):
            error = (await said(tmp_path, body))["error"]
            assert error["code"] == "bad_request"
            assert words in error["words"]

    run()


@on_a_loop
async def test_what_is_too_large_or_half_there_is_not_carried_out(tmp_path: Path) -> None:
    async with served(tmp_path, VERBS):
        assert (await said(tmp_path, b" " * (LONGEST_BODY + 1)))["error"]["code"] == "too_large"
        assert await said(tmp_path, b'{"text": "hi"}', length=100) == {}


@on_a_loop
async def test_faults_have_codes_and_our_own_bugs_tell_nothing_of_the_inside(tmp_path: Path) -> None:
    async with served(tmp_path, VERBS):
        faults = (
            ("missing", "not_found"),
            ("full", "try_again"),
            ("buggy", "broken"),
            ("dance", "not_found"),
        )
        for do, code in faults:
            with pytest.raises(RequestDeclined) as declined:
                await ask(tmp_path, do)
            assert declined.value.code == code
            assert "secret" not in str(declined.value)


@on_a_loop
async def test_a_stream_goes_on_behind_what_was_heard_until_the_listener_goes(tmp_path: Path) -> None:
    async with counting(tmp_path):
        events = listen(tmp_path, "/count", "1")
        assert [await anext(events), await anext(events)] == [
            Heard("number", {"number": 1}, "1"),
            Heard("number", {"number": 2}, "2"),
        ]
        await events.aclose()
        assert await ask(tmp_path, "echo", text="after it") == {"given": {"text": "after it"}}
        with pytest.raises(RequestDeclined, match="no such path"):
            await anext(listen(tmp_path, "/nothing"))


@on_a_loop
async def test_who_listens_is_let_go_when_the_gateway_closes(tmp_path: Path) -> None:
    async with counting(tmp_path) as streams:
        events = listen(tmp_path, "/count", "2")
        assert (await anext(events)).data == {"number": 2}
        streams.close()
        assert [event async for event in events] == []


@on_a_loop
async def test_without_a_gateway_one_is_told_so_also_by_a_socket_left_behind(tmp_path: Path) -> None:
    with pytest.raises(NotRunning):
        await ask(tmp_path, "echo", text="x")
    listen_in(tmp_path).close()
    with pytest.raises(NotRunning):
        await ask(tmp_path, "echo", text="x")
    async with served(tmp_path, VERBS):
        assert await ask(tmp_path, "echo", text="x")


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 20",
        b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"half',
        b"HTTP/1.1 500 \r\ncontent-type: text/plain; charset=utf-8\r\n\r\nInternal Server Error",
    ],
)
def test_a_gateway_that_goes_before_its_answer_is_there_is_not_running(tmp_path: Path, answer: bytes) -> None:
    async def cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    @on_a_loop
    async def run() -> None:
        (tmp_path / TOKEN).write_text("a token for tests")
        async with await asyncio.start_unix_server(cut, tmp_path / SOCKET):
            with pytest.raises(NotRunning):
                await ask(tmp_path, "echo", text="x")

    run()


@on_a_loop
async def test_an_event_that_was_cut_off_is_not_heard(tmp_path: Path) -> None:
    async def cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(
            b"HTTP/1.1 200 OK\r\n\r\n: hello\n\nid: 1\nevent: a\ndata: {}\n\nid: 2\nevent: b\ndata: {}\n"
        )
        writer.close()

    (tmp_path / TOKEN).write_text("a token for tests")
    async with await asyncio.start_unix_server(cut, tmp_path / SOCKET):
        assert [event.name async for event in listen(tmp_path, "/any")] == ["a"]


@on_a_loop
async def test_a_home_too_deep_for_a_socket_is_named(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 100)
    deep.mkdir()
    with pytest.raises(BadConfig, match="home = "):
        listen_in(deep)


def test_the_whole_api_is_there_and_the_socket_goes_with_the_gateway(house: House) -> None:
    gateway = house.up()
    status = asyncio.run(request(house.home, "GET", "/api/status"))
    assert (status["pid"], status["url"][:17]) == (gateway.process.pid, "http://127.0.0.1:")
    said = asyncio.run(request(house.home, "POST", "/api/chats/home/messages", {"text": "do read #a"}))
    assert said["position"] == 1
    assert house.ask("status")["url"] == status["url"]
    gateway.stop()
    assert not (house.home / SOCKET).exists()
