"""What others try: pages of other sites, programs of this machine, clients that do not play by the rules."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest
import uvicorn
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from holdfast.config.home import TOKEN
from holdfast.config.load import load_settings
from holdfast.errors import BadConfig
from holdfast.policy.connections import ConnectionLimits
from holdfast.web.connections import Connections
from holdfast.web.security import HostNames
from tests.support.loops import on_a_loop
from tests.support.outside import House
from tests.support.web import (
    browser,
    enter,
    following,
    key_of,
    link_of,
    program,
    signed_in,
    token_of,
    told,
    until,
    url_of,
)


@pytest.mark.guards("R14")
def test_other_pages_cannot_lock_the_owner_out_by_failing_to_sign_in(house: House) -> None:
    house.up()
    with browser(house.home) as client:
        # What other programs of this machine try: no Origin, no cookie, a link that is wrong.
        for number in range(30):
            assert enter(client, key=f"wrong{number}").status_code == 401
        refused = client.post("/login", data={"token": "x"}, headers={"Origin": "http://evil.example"})
        assert refused.status_code == 403
        assert enter(client, token=token_of(house.home)).status_code == 200
    with browser(house.home) as client:
        # A program of this machine can use up the tries of the form; a link is good all the same.
        tries = [client.post("/login", data={"token": f"wrong {n}"}).status_code for n in range(11)]
        assert tries[-1] == 429
        assert enter(client, key=key_of(link_of(house.home))).status_code == 200


def test_the_token_itself_is_no_link(house: House) -> None:
    house.up()
    with browser(house.home) as client:
        assert enter(client, key=token_of(house.home)).status_code == 401


def test_a_link_is_spent_by_signing_in_and_by_no_look_at_its_page(
    settled: tuple[House, int],
) -> None:
    house, _ = settled
    gateway = house.up()
    link, other = link_of(house.home), link_of(house.home)
    with browser(house.home) as client:
        for look in (client.head, client.get):
            assert (look(link).status_code, "set-cookie" in look(link).headers) == (200, False)
        client.headers["X-Holdfast"] = enter(client, key=key_of(link)).json()["proof"]
        gateway.kill()
        house.up()
        assert enter(client, key=key_of(other)).status_code == 401, "a link ends with its process"
        assert client.get("/api/chats").status_code == 200, "a sign-in does not"


@pytest.mark.guards("R14")
def test_a_replaced_token_ends_streams_that_were_opened_with_the_one_before(house: House) -> None:
    house.up()
    with program(house.home) as client, following(client, "/api/chats/home/events") as events:
        # Both come at the beginning, in either order.
        begun = [next(events).name for _ in range(2)]
        assert sorted(begun) == ["following", "standing"]
        (house.home / TOKEN).write_text("f" * 64)
        house.say("home", "do #a")
        assert [one.name for one in events] == []
    with program(house.home) as client, following(client, "/api/chats/home/events") as events:
        until(events, told("answer to a"))


def test_cookies_of_other_pages_of_this_machine_do_not_hide_ours(house: House) -> None:
    house.up()
    with signed_in(house.home) as client:
        ((name, value),) = client.cookies.items()
        proof = client.headers["X-Holdfast"]
    with browser(house.home, **{"X-Holdfast": proof}) as client:
        odd = 'prefs={"a": [1, 2]}; flag; x="; =; '
        assert client.get("/api/chats", headers={"Cookie": f"{odd}{name}={value}"}).status_code == 200


@pytest.mark.parametrize(
    ("host", "good"),
    [
        ("127.0.0.1:8787", True),
        ("LOCALHOST:8787", True),
        ("[::1]:8787", True),
        ("gateway.example.org", True),
        ("gateway.example.org:8787", True),
        ("localhost", False),
        ("localhost:80", False),
        ("127.0.0.1:8787.evil.example", False),
        ("evil.example:8787", False),
        ("user@127.0.0.1:8787", False),
        ("127.0.0.1:08787", False),
        ("127.1:8787", False),
        ("", False),
    ],
)
def test_names_are_known_in_any_case_and_only_with_their_port(host: str, good: bool) -> None:
    names = HostNames.of("127.0.0.1", 8787, frozenset({"Gateway.example.org"}))
    assert names.has(host) is good
    assert names.is_origin(f"http://{host}") is good
    assert not names.is_origin(host)


def test_at_the_port_of_http_names_stand_without_it() -> None:
    names = HostNames.of("127.0.0.1", 80, frozenset())
    assert names.has("localhost") and names.has("localhost:80")


@pytest.mark.parametrize(
    "path",
    [
        "/..%2f..%2fserver.py",
        "/%2e%2e%2findex.html",
        "/static/../index.html",
        "/index.html%00.js",
        "/.%2findex.html",
        "/INDEX.HTML",
        f"/{'a' * 3_000}.html",
        "//index.html",
    ],
)
def test_odd_paths_name_no_file_and_break_nothing(house: House, path: str) -> None:
    house.up()
    where = httpx.URL(url_of(house.home))
    host = f"{where.host}:{where.port}"
    answer = raw(where, f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")
    assert answer.split()[1] in (b"404", b"400"), answer[:200]


def test_who_asks_only_for_the_head_of_a_stream_has_it_at_once(house: House) -> None:
    house.up()
    with program(house.home) as client:
        for path in ("/api/events", "/api/chats/home/events"):
            head = client.head(path)
            assert (head.status_code, head.headers["content-type"]) == (
                200,
                "text/event-stream; charset=utf-8",
            )


@contextmanager
def connected(where: httpx.URL) -> Iterator[socket.socket]:
    with socket.create_connection((where.host, where.port or 0), timeout=60) as connection:
        yield connection


def raw(where: httpx.URL, request: str) -> bytes:
    """What is answered to these very bytes."""
    with connected(where) as connection:
        connection.sendall(request.encode())
        answer = b""
        while more := connection.recv(65_536):
            answer += more
        return answer


@pytest.mark.guards("R14")
def test_requests_that_break_the_rules_of_http_are_refused(house: House) -> None:
    house.up()
    where = httpx.URL(url_of(house.home))
    own = f"{where.host}:{where.port}"
    token = f"Authorization: Bearer {token_of(house.home)}\r\n"
    chunked = 'd\r\n{"text": "x"}\r\n0\r\n\r\n'
    for request in (
        "GET /api/chats HTTP/1.1\r\nConnection: close\r\n\r\n",
        f"GET /api/chats HTTP/1.0\r\n{token}\r\n",
        *(
            f"POST /api/chats/home/messages HTTP/1.1\r\nHost: {own}\r\n{token}{framing}\r\n\r\n{chunked}"
            for framing in (
                "Content-Length: 5\r\nTransfer-Encoding: chunked",
                "Transfer-Encoding: chunked\r\nContent-Length: 5",
                "Content-Length: 5\r\nContent-Length: 6",
                "Transfer-Encoding: gzip, chunked",
            )
        ),
        f"GET /api/chats HTTP/1.1\r\nHost: {own}\r\nHost: evil.example\r\n{token}Connection: close\r\n\r\n",
    ):
        assert raw(where, request).split()[1] in (b"400", b"403", b"501"), request
    with suppress(ConnectionError):
        # Answered, or cut off in the middle of what is too long.
        head = f"GET /api/chats HTTP/1.1\r\nHost: {own}\r\n{token}X: {'a' * 200_000}\r\n\r\n"
        assert raw(where, head).split()[1] in (b"400", b"431")
    with program(house.home) as client:
        assert client.get("/api/chats").status_code == 200


def test_clients_that_never_finish_do_not_hold_a_stop(house: House) -> None:
    gateway = house.up()
    where = httpx.URL(url_of(house.home))
    head = f"POST /api/chats/home/messages HTTP/1.1\r\nHost: {where.host}:{where.port}\r\n"
    token = f"Authorization: Bearer {token_of(house.home)}\r\n"
    with connected(where) as half_a_head, connected(where) as half_a_body, connected(where) as deaf:
        half_a_head.sendall(head.encode())
        half_a_body.sendall(f'{head}{token}Content-Length: 100\r\n\r\n{{"text"'.encode())
        follow = head.replace("POST", "GET").replace("messages", "events")
        deaf.sendall(f"{follow}{token}\r\n".encode())
        with program(house.home) as client, following(client, "/api/chats/home/events") as events:
            until(events, lambda event: event.name == "standing")
            gateway.stop()
        assert b" 503 " in half_a_body.recv(65_536)
    assert "Traceback" not in gateway.words
    assert not (house.home / "web.json").exists()
    assert house.look("runs")["runs"][0]["stopped"] == "stopped"


@on_a_loop
async def test_a_connection_whose_client_keeps_us_waiting_is_closed_and_one_that_is_answered_is_not() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/body":
            while (await receive()).get("more_body"):
                pass
        else:
            await went.wait()
        await Response("late, and there")(scope, receive, send)

    went = asyncio.Event()
    limits = ConnectionLimits(100, 100, head=0.2, body=0.2, silence=0.2)
    protocol = Connections(limits).protocol()
    config = uvicorn.Config(app, lifespan="off", log_config=None)
    state = ServerState()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: protocol(config, state, {}), "127.0.0.1", 0)
    where = server.sockets[0].getsockname()

    async def sent(words: bytes) -> asyncio.StreamReader:
        reader, writer = await asyncio.open_connection(*where)
        writer.write(words)
        writers.append(writer)
        return reader

    writers: list[asyncio.StreamWriter] = []
    asks = await sent(b"GET / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
    for half in (
        b"",
        b"GET / HTTP/1.1\r\nHo",
        b"POST /body HTTP/1.1\r\nHost: here\r\nContent-Length: 9\r\n\r\nhalf",
    ):
        reader = await sent(half)
        with suppress(ConnectionResetError):
            assert await reader.read() == b""
    went.set()
    assert b"late, and there" in await asks.read()
    for writer in writers:
        writer.close()
    server.close()


@pytest.mark.guards("R14")
@pytest.mark.parametrize(
    "host",
    ["::", "[::]", "0", "", "192.0.2.1", "0x7f.0.0.1", "2130706433", "127.0.0.1.evil", "localhost.x"],
)
def test_no_way_to_write_an_address_gets_beyond_this_machine_unasked(tmp_path: Path, host: str) -> None:
    (tmp_path / "holdfast.toml").write_text(f'web.host = "{host}"\n')
    with pytest.raises(BadConfig, match="web.host"):
        load_settings(tmp_path)
