"""Attacks on the page's port: a thousand half-sent bodies, and a log that must not grow with them."""

import resource
import selectors
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import httpx
import pytest

from tests.support.commands import command
from tests.support.outside import House
from tests.support.web import browser, following, program, signed_in, told, until, url_of

_MANY = 1_100
_BODY = "POST /login HTTP/1.1\r\nHost: {host}\r\nContent-Length: 100\r\n\r\ntoken=half"
_HEAD = "POST /login HTTP/1.1\r\nHost: {host}\r\nX: "


@pytest.fixture
def files() -> Iterator[None]:
    """The gateway gets as many files as on an ordinary machine; the attacker takes more later."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(1_024, before[1]), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@contextmanager
def flood(
    where: httpx.URL, words: str, many: int = _MANY, reads: int | None = None
) -> Iterator[list[socket.socket]]:
    """So many connections, each with half a request, held for as long as the gateway lets them.

    `reads` says how many bytes may be on their way to each.
    """
    with ExitStack() as all_of_them:
        held = []
        for _ in range(many):
            one = all_of_them.enter_context(socket.socket())
            one.settimeout(60)
            if reads is not None:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, reads)
            one.connect((where.host, where.port or 0))
            one.sendall(words.format(host=f"{where.host}:{where.port}").encode())
            held.append(one)
        yield held


def still_open(held: list[socket.socket]) -> int:
    with selectors.DefaultSelector() as selector:
        for one in held:
            selector.register(one, selectors.EVENT_READ)
        return len(held) - len(selector.select(0))


@pytest.mark.guards("R16", "R22.9")
@pytest.mark.parametrize("words", [_BODY, _HEAD], ids=["bodies", "heads"])
def test_page_streams_and_command_line_work_while_a_thousand_requests_are_half_sent(
    house: House, files: None, words: str
) -> None:
    gateway = house.up()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most[1], most[1]))
    where = httpx.URL(url_of(house.home))
    with (
        signed_in(house.home) as page,
        following(page, "/api/chats/home/events") as events,
        flood(where, words) as held,
    ):
        assert page.get("/api/chats").status_code == 200
        assert still_open(held) <= 512, "the gateway keeps some of its files for others"
        with program(house.home) as other:
            assert other.get("/api/status").status_code == 200
        assert command("status", "--home", house.home).code == 0
        house.say("home", "do #a")
        until(events, told("answer to a"))
        with flood(where, words, 100):
            assert page.get("/api/chats").status_code == 200
    log = gateway.words
    lines = [line for line in log.splitlines() if "too many connections" in line]
    assert 1 <= len(lines) < 200 and any("more like this" in line for line in lines), lines
    assert "Traceback" not in log and len(log) < 200_000
    gateway.stop()


_ASKED = "GET /style.css HTTP/1.1\r\nHost: {host}\r\n\r\n" * 300


@pytest.mark.guards("R22.9")
def test_the_page_answers_while_hundreds_do_not_read_what_they_asked_for(house: House, files: None) -> None:
    """Each asks, signed in or not, for more than fits on the way, and reads nothing of it."""
    gateway = house.up()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most[1], most[1]))
    with flood(httpx.URL(url_of(house.home)), _ASKED, 450, reads=2_048):
        # At first the gateway is busy with what they asked for, for longer on a slow machine.
        until_answered(house, 120.0)
        assert command("status", "--home", house.home).code == 0
    assert "Traceback" not in gateway.words
    gateway.stop()


def until_answered(house: House, seconds: float) -> None:
    """Ask until several in a row are answered, each over a connection of its own."""
    over = time.monotonic() + seconds
    answered = 0
    while answered < 5:
        assert time.monotonic() < over, "the page is dead for as long as they do not read"
        try:
            with browser(house.home) as newcomer:
                answered = answered + 1 if newcomer.get("/healthz").status_code == 200 else 0
        except httpx.TransportError:
            answered = 0
