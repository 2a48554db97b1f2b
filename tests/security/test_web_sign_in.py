"""Attacks on a sign-in: a cookie that another port receives, a cookie replayed after its owner signed out."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx
import pytest

from holdfast.config.home import TOKEN
from holdfast.web.sign_ins import FILE
from tests.support.commands import as_json, command
from tests.support.outside import House
from tests.support.web import browser, enter, following, program, signed_in, token_of, url_of

_PARTS = {"chat": "home", "position": "1", "session": "s", "delivery": "1", "digest": "0" * 64, "rule": "1"}


class Preview(HTTPServer):
    """What an agent starts to show its work, on another port; it keeps the cookies that it gets."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Visit)
        self.cookies: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_port}/"


class _Visit(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Preview)
        self.server.cookies.append(self.headers.get("Cookie", ""))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def previewing() -> Iterator[Preview]:
    with Preview() as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        yield server
        server.shutdown()
        serving.join()


def everything(house: House) -> list[tuple[str, str]]:
    """Every method and path of the API, the streams among them."""
    with program(house.home) as client:
        paths = client.get("/openapi.json").json()["paths"]
    found = [
        (method, path.format(**_PARTS))
        for path, methods in paths.items()
        for method in methods
        if path not in ("/healthz", "/readyz")
    ]
    assert len(found) > 25
    return [*found, ("get", "/metrics"), ("get", "/openapi.json")]


@pytest.mark.guards("R14", "R22.9")
def test_a_server_on_another_port_gets_the_cookie_and_can_do_nothing_with_it(house: House) -> None:
    house.up()
    with signed_in(house.home) as client, previewing() as preview:
        assert client.get("/api/chats").status_code == 200
        # What the browser sends of itself: its cookies for this host, and no header of our page.
        httpx.get(preview.url, cookies=client.cookies)
        (stolen,) = preview.cookies
        assert "holdfast-" in stolen, "the attack needs the cookie"
        port = httpx.URL(url_of(house.home)).port
        for proof in ({}, {"X-Holdfast": "1"}, {"X-Holdfast": ""}, {"X-Holdfast": "0" * 64}):
            headers = {"Cookie": stolen, "Origin": f"http://127.0.0.1:{port}", **proof}
            with browser(house.home, **headers) as thief:
                for method, path in everything(house):
                    answer = thief.request(method, path)
                    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "not_signed_in"), (
                        path
                    )
                thief.post("/logout")
        assert client.get("/api/chats").status_code == 200, "a stolen cookie does not even sign its owner out"


@pytest.mark.guards("R22.9")
def test_the_proof_alone_is_worth_nothing_either(house: House) -> None:
    house.up()
    with signed_in(house.home) as client:
        proof = client.headers["X-Holdfast"]
    with signed_in(house.home) as other, browser(house.home) as thief:
        assert thief.get("/api/chats", headers={"X-Holdfast": proof}).status_code == 401
        # Nor beside the cookie of another sign-in.
        assert other.get("/api/chats", headers={"X-Holdfast": proof}).status_code == 401


@pytest.mark.guards("R14", "R22.9")
def test_signing_out_revokes_the_sign_in_at_once_and_for_good_and_no_other(
    settled: tuple[House, int],
) -> None:
    house, _ = settled
    gateway = house.up()
    with signed_in(house.home) as client, signed_in(house.home) as other:
        kept = dict(client.cookies), client.headers["X-Holdfast"]
        with following(client, "/api/chats/home/events") as events:
            assert sorted(next(events).name for _ in range(2)) == ["following", "standing"]
            assert client.post("/logout").status_code == 200
            house.say("home", "do #a")
            assert [one.name for one in events] == [], "an open stream ends with the sign-in"
        cookies, proof = kept
        for start_again in (False, True):
            if start_again:
                gateway.kill()
                gateway = house.up()
            replayed = {"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())}
            with browser(house.home, **replayed, **{"X-Holdfast": proof}) as thief:
                assert thief.get("/api/chats").status_code == 401
            assert other.get("/api/chats").status_code == 200


@pytest.mark.guards("R22.9")
def test_the_owner_sees_who_is_signed_in_and_ends_one_or_all(house: House) -> None:
    house.up()
    with signed_in(house.home) as one, signed_in(house.home) as two, signed_in(house.home) as three:
        found = as_json("sign-ins", "--home", house.home)["sign_ins"]
        assert len(found) == 3 and all("httpx" in each["browser"] for each in found)
        newest = found[0]["id"]
        assert command("sign-ins", "--home", house.home, "--revoke", newest).code == 0
        answers = [each.get("/api/chats").status_code for each in (one, two, three)]
        assert answers == [200, 200, 401]
        assert command("sign-ins", "--home", house.home, "--revoke", newest).code == 1
        assert "Sign-ins ended: 2." in command("sign-ins", "--home", house.home, "--revoke", "all").out
        assert [each.get("/api/chats").status_code for each in (one, two)] == [401, 401]


@pytest.mark.guards("R14", "R22.9")
def test_the_list_of_sign_ins_gives_its_reader_no_way_in(house: House) -> None:
    house.up()
    with signed_in(house.home) as client:
        listed = (house.home / FILE).read_text()
        (cookie,) = client.cookies.values()
        for secret in (token_of(house.home), cookie, cookie.partition(".")[2], client.headers["X-Holdfast"]):
            assert secret not in listed
        (house.home / TOKEN).write_text("f" * 64)
        assert client.get("/api/chats").status_code == 401
        assert as_json("sign-ins", "--home", house.home)["sign_ins"] == []
        assert enter(client, token="f" * 64).status_code == 200
        assert len(as_json("sign-ins", "--home", house.home)["sign_ins"]) == 1
