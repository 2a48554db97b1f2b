"""The page as programs and browsers see it: real HTTP to a real gateway process."""

import asyncio
import json
import select
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from holdfast.api.client import ask

_MOST_SILENCES = 4
LONG = 60.0
"""Seconds after which an answer that does not come fails its test; never waited for otherwise."""


@dataclass(frozen=True, slots=True)
class Heard:
    """One server-sent event."""

    name: str
    data: Any
    id: str | None


def url_of(home: Path) -> str:
    """Where the running gateway of this home is."""
    found: str = json.loads((home / "web.json").read_text())["url"]
    return found


def token_of(home: Path) -> str:
    return (home / "token").read_text().strip()


def program(home: Path) -> httpx.Client:
    """Somebody who has the token."""
    headers = {"Authorization": f"Bearer {token_of(home)}"}
    return httpx.Client(base_url=url_of(home), headers=headers, timeout=LONG)


def browser(home: Path, **headers: str) -> httpx.Client:
    """Somebody who has nothing but what the gateway gives them."""
    return httpx.Client(base_url=url_of(home), timeout=LONG, headers=headers)


@contextmanager
def signed_in(home: Path) -> Iterator[httpx.Client]:
    """The page of a browser that came in by a link: it has the cookie, and always sends the proof."""
    with browser(home) as client:
        answer = enter(client, key=key_of(link_of(home)))
        assert answer.status_code == 200, answer.text
        client.headers["X-Holdfast"] = answer.json()["proof"]
        yield client


def enter(client: httpx.Client, **what: str) -> httpx.Response:
    """Sign in with a token or a link's key, as the sign-in page does."""
    return client.post("/login", data=what)


def link_of(home: Path) -> str:
    """A fresh link that signs its bearer in."""
    found: str = asyncio.run(ask(home, "link"))["link"]
    return found


def key_of(link: str) -> str:
    return link.partition("#key=")[2]


@contextmanager
def posted(home: Path, path: str, **body: object) -> Iterator[socket.socket]:
    """The connection of a program that has posted something; it goes without having read an answer."""
    with program(home) as client:
        asked = client.build_request("POST", path, json=body)
    head = b"".join(b"%s: %s\r\n" % line for line in asked.headers.raw)
    with socket.create_connection((asked.url.host, asked.url.port or 0), timeout=LONG) as connection:
        connection.sendall(b"POST %s HTTP/1.1\r\n%s\r\n%s" % (asked.url.raw_path, head, asked.read()))
        yield connection


def is_silent(connection: socket.socket) -> bool:
    """Whether nothing has come."""
    return not select.select([connection], [], [], 0)[0]


def asked_until(client: httpx.Client, path: str, status: int) -> httpx.Response:
    """The first answer with this status; what never comes is what the test's time is limited for."""
    while True:
        answer = client.get(path)
        if answer.status_code == status:
            return answer


@contextmanager
def following(client: httpx.Client, path: str, **headers: str) -> Iterator[Iterator[Heard]]:
    """An open stream of events."""
    with client.stream("GET", path, headers=headers) as answer:
        assert answer.status_code == 200, answer.read()
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield _events(answer.iter_lines())


def _events(lines: Iterator[str]) -> Iterator[Heard]:
    fields: dict[str, str] = {}
    silences = 0
    for line in lines:
        if line.startswith(":"):
            silences += 1
            assert silences < _MOST_SILENCES, "nothing more came"
        elif line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif "event" in fields:
            yield Heard(fields["event"], json.loads(fields["data"]), fields.get("id"))
            fields = {}


def until(events: Iterator[Heard], last: Callable[[Heard], bool]) -> list[Heard]:
    """Everything up to the event that is waited for."""
    found = []
    for event in events:
        found.append(event)
        if last(event):
            return found
    raise AssertionError(f"the stream ended after {found}")


def told(text: str) -> Callable[[Heard], bool]:
    """The chat is told this."""
    return lambda event: event.name == "delivery" and event.data["text"] == text


def answered(text: str) -> Callable[[Heard], bool]:
    """The chat is told this, and the entry of the transcript has come as well, in whatever order."""
    left = {"delivery", "entry"}

    def last(event: Heard) -> bool:
        said = event.data.get("entry", event.data) if event.name in left else {}
        if said.get("text") == text:
            left.discard(event.name)
        return not left

    return last
