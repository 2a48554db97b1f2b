"""Attacks by other programs of the same user: the home's socket without the token."""

import asyncio
import json
from pathlib import Path

import httpx
import pytest

from holdfast.api.client import NoToken, ask
from holdfast.config.home import SOCKET, TOKEN
from tests.support.commands import command
from tests.support.outside import House


def asked(home: Path, method: str, path: str, **headers: str) -> httpx.Response:
    with httpx.Client(transport=httpx.HTTPTransport(uds=str(home / SOCKET))) as client:
        return client.request(method, f"http://localhost{path}", headers=headers)


@pytest.mark.guards("R22.3")
def test_whoever_reaches_the_socket_without_the_token_learns_nothing_and_gets_no_link(house: House) -> None:
    house.up()
    paths = (
        ("POST", "/local/link"),
        ("POST", "/local/say"),
        ("POST", "/local/shutdown"),
        ("POST", "/local/no-such"),
        ("GET", "/api/status"),
        ("GET", "/api/chats/home/events"),
        ("GET", "/healthz"),
    )
    for headers in ({}, {"Authorization": "Bearer"}, {"Authorization": f"Bearer {'0' * 64}"}):
        for method, path in paths:
            answer = asked(house.home, method, path, **headers)
            assert (answer.status_code, answer.json()["error"]["code"]) == (401, "not_signed_in"), path
    token = (house.home / TOKEN).read_text().strip()
    link = asked(house.home, "POST", "/local/link", Authorization=f"Bearer {token}")
    assert link.json()["link"].startswith("http://127.0.0.1")
    assert command("status", "--home", house.home).code == 0


@pytest.mark.guards("R22.3")
def test_a_command_that_cannot_read_the_token_says_what_to_do(house: House) -> None:
    house.up()
    (house.home / TOKEN).rename(house.home / "away")
    with pytest.raises(NoToken):
        asyncio.run(ask(house.home, "status"))
    done = command("link", "--home", house.home, "--json")
    words = json.loads(done.err or done.out)
    assert done.code == 1 and "cannot be read (No such file or directory)" in str(words)
    assert "as the user that runs the gateway" in str(words)
    (house.home / "away").rename(house.home / TOKEN)
