"""Who is let in: the token, links that are good once, cookies made from the token; and nothing else."""

import os
import re
import socket
from collections.abc import Callable
from http.cookies import SimpleCookie
from pathlib import Path

import httpx
import pytest

from holdfast.config.home import TOKEN
from holdfast.testing import ManualClock
from holdfast.web.auth import SignIn, TooManyTries
from holdfast.web.sign_ins import FILE, MOST
from tests.support.loops import on_a_loop
from tests.support.outside import Build, House
from tests.support.web import (
    browser,
    enter,
    following,
    key_of,
    link_of,
    program,
    signed_in,
    token_of,
    until,
    url_of,
)


@pytest.mark.guards("R14")
def test_nobody_is_let_in_without_the_token_and_everybody_with_it(house: House) -> None:
    house.up()
    assert (house.home / TOKEN).stat().st_mode & 0o777 == 0o600
    with browser(house.home) as client:
        for path in ("/api/chats", "/api/chats/home/events", "/api/status", "/metrics", "/openapi.json"):
            for headers in ({}, {"Authorization": "Bearer wrong"}, {"Cookie": "holdfast=1.2"}):
                answer = client.get(path, headers=headers)
                assert (answer.status_code, answer.json()["error"]["code"]) == (401, "not_signed_in")
        assert client.get("/healthz").status_code == 200
        assert client.get("/").status_code == 200
    with program(house.home) as client:
        assert client.get("/api/chats").status_code == 200


@pytest.mark.guards("R14")
def test_a_link_signs_in_once_and_its_key_is_sent_in_no_address(house: House) -> None:
    house.up()
    link = httpx.URL(link_of(house.home))
    assert link.path == "/login" and not link.query and link.fragment.startswith("key=")
    key = key_of(str(link))
    with browser(house.home) as client:
        answer = enter(client, key=key)
        (cookie,) = SimpleCookie(answer.headers["set-cookie"]).values()
        assert cookie["httponly"] and cookie["samesite"] == "strict" and cookie["path"] == "/"
        assert not cookie["secure"]
        assert answer.headers["cache-control"] == "no-store"
        proof = {"X-Holdfast": answer.json()["proof"]}
        assert client.get("/api/chats", headers=proof).status_code == 200
    with browser(house.home) as client:
        again = enter(client, key=key)
        assert (again.status_code, "set-cookie" in again.headers) == (401, False)
        assert client.get("/api/chats").status_code == 401


@pytest.mark.guards("R14")
def test_a_cookie_that_was_given_over_tls_is_for_tls_alone(build: Build) -> None:
    house = build('web.hosts = ["gateway.example.org"]\n')
    house.up()
    proxied = {"Host": "gateway.example.org", "Origin": "https://gateway.example.org"}
    with browser(house.home, **proxied) as client:
        answer = enter(client, token=token_of(house.home))
        (cookie,) = SimpleCookie(answer.headers["set-cookie"]).values()
        assert cookie["secure"]


def test_the_token_typed_into_the_form_signs_in_and_a_wrong_one_does_not(house: House) -> None:
    house.up()
    with browser(house.home) as client:
        assert "<form" in client.get("/login").text
        assert enter(client, token="wrong").status_code == 401
        client.headers["X-Holdfast"] = enter(client, token=token_of(house.home)).json()["proof"]
        assert client.get("/api/chats").status_code == 200
        assert client.post("/logout").status_code == 200
        assert client.get("/api/chats").status_code == 401


@pytest.mark.guards("R14", "O19")
def test_a_replaced_token_revokes_everything_and_one_that_is_too_short_lets_nobody_in(house: House) -> None:
    gateway = house.up()
    link = link_of(house.home)
    with signed_in(house.home) as client, program(house.home) as other:
        assert client.get("/api/chats").status_code == 200
        (house.home / TOKEN).write_text("f" * 64)
        for one in (client, other):
            assert one.get("/api/chats").status_code == 401
        assert enter(client, key=key_of(link)).status_code == 401
        (house.home / TOKEN).write_text("")
        assert client.get("/api/chats", headers={"Authorization": "Bearer"}).status_code == 401
    gateway.stop()
    assert house.starting().end() == 78
    (house.home / TOKEN).unlink()
    house.up()
    assert len(token_of(house.home)) == 64


def test_a_sign_in_is_good_after_a_restart(settled: tuple[House, int]) -> None:
    house, _ = settled
    gateway = house.up()
    with signed_in(house.home) as client:
        gateway.kill()
        house.up()
        assert client.get("/api/chats").status_code == 200


@pytest.mark.guards("R14")
@pytest.mark.parametrize("path", ["/api/chats", "/api/chats/home/events", "/api/events", "/login", "/"])
def test_other_hosts_and_origins_are_refused_for_streams_too(house: House, path: str) -> None:
    house.up()
    port = httpx.URL(url_of(house.home)).port
    with signed_in(house.home) as client:
        for headers in (
            {"Host": "evil.example"},
            {"Host": f"evil.example:{port}"},
            {"Host": f"127.0.0.1:{(port or 0) + 1}"},
            {"Host": "127.0.0.1"},
            {"Origin": "http://evil.example"},
            {"Origin": "null"},
            {"Origin": f"http://127.0.0.1:{(port or 0) + 1}"},
        ):
            assert client.get(path, headers=headers).status_code == 403, headers
    with signed_in(house.home) as client:
        own = {"Origin": f"http://127.0.0.1:{port}"}
        if "events" in path:
            with following(client, path, **own) as events:
                until(events, lambda event: True)
        else:
            assert client.get(path, headers=own).status_code == 200


def test_more_names_may_be_allowed(build: Build) -> None:
    house = build('web.hosts = ["Gateway.example.org"]\n')
    house.up()
    with program(house.home) as client:
        headers = {"Host": "gateway.example.org", "Origin": "https://gateway.example.org"}
        assert client.get("/api/chats", headers=headers).status_code == 200
        assert client.get("/api/chats", headers={"Host": "example.org"}).status_code == 403


def test_failing_to_sign_in_is_soon_listened_to_no_more(house: House) -> None:
    house.up()
    with browser(house.home) as client:
        codes = [client.post("/login", data={"token": f"wrong {n}"}).status_code for n in range(12)]
        assert codes == [401] * 10 + [429] * 2
        answer = client.post("/login", data={"token": token_of(house.home)})
        assert answer.status_code == 429
        assert 0 < int(answer.headers["retry-after"]) <= 60
    with program(house.home) as client:
        assert client.get("/api/chats").status_code == 200


def test_every_answer_tells_browsers_to_be_strict(house: House) -> None:
    house.up()
    with program(house.home) as client:
        for path in ("/", "/login", "/api/chats", "/api/nothing", "/healthz", "/metrics"):
            headers = client.get(path).headers
            assert "default-src 'none'" in headers["content-security-policy"]
            assert "unsafe-inline" not in headers["content-security-policy"]
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "same-origin"
            assert headers["cache-control"] == ("no-cache" if path in ("/", "/login") else "no-store")


@pytest.mark.guards("R14")
def test_no_secret_stands_in_any_log_line_or_file_but_its_own(house: House) -> None:
    gateway = house.up()
    link = link_of(house.home)
    key = key_of(link)
    with browser(house.home) as client:
        enter(client, key=key)
        enter(client, key=key)
        client.get(f"/api/chats?key={key}")
        proof = enter(client, token=token_of(house.home)).json()["proof"]
        given = [proof, *client.cookies.values(), *(one.partition(".")[2] for one in client.cookies.values())]
    with program(house.home) as client:
        client.post("/api/chats/home/messages", content=b"{")
    gateway.stop()
    secrets = [token_of(house.home), key, *given]
    assert len(secrets) == 5 and all(secrets)
    for path in house.home.rglob("*"):
        if path.is_file() and path.name != TOKEN:
            found = path.read_bytes()
            assert [one for one in secrets if one.encode() in found] == [], path


@pytest.mark.guards("R14")
def test_a_page_is_where_other_machines_reach_it_only_if_that_is_wanted(build: Build) -> None:
    house = build('web.host = "0.0.0.0"\n')
    refused = house.starting()
    assert refused.end() == 78
    assert "web.host = '0.0.0.0' is not allowed" in refused.words
    with (house.home / "holdfast.toml").open("a") as settings:
        settings.write("web.allow_remote = true\n")
    house.up()


def test_any_free_port_is_the_same_one_for_the_next_process_unless_somebody_took_it(house: House) -> None:
    killed = house.up()
    before = url_of(house.home)
    killed.kill()
    stopped = house.up()
    assert url_of(house.home) == before
    stopped.stop()
    again = house.up()
    assert url_of(house.home) == before
    again.stop()
    with socket.create_server(("127.0.0.1", httpx.URL(before).port or 0)):
        house.up()
        assert url_of(house.home) != before


def test_a_port_that_is_taken_is_said_in_words_and_is_no_crash(settled: tuple[House, int]) -> None:
    house, port = settled

    with socket.create_server(("127.0.0.1", port)):
        refused = house.starting()
        assert refused.end() == 78
    assert f"web.port = {port} is not allowed" in refused.words
    assert "--port" in refused.words
    assert house.look("runs")["runs"][0]["stopped"] == "failed"
    house.up()
    assert url_of(house.home) == f"http://127.0.0.1:{port}/"


# The rules by themselves.


@on_a_loop
async def test_a_code_is_good_for_a_quarter_of_an_hour_and_a_sign_in_for_thirty_days(tmp_path: Path) -> None:
    clock = ManualClock()
    sign_in = SignIn(tmp_path, clock)
    sign_in.prepare()
    late, spent = sign_in.new_code(), sign_in.new_code()
    assert late is not None and spent is not None
    given = await sign_in.follow(spent, "")
    assert given is not None and sign_in.is_signed_in(given.cookie, given.proof)
    assert await sign_in.follow(spent, "") is None
    clock.advance(15 * 60_000)
    assert await sign_in.follow(late, "") is None
    clock.advance(30 * 24 * 3_600_000 - 15 * 60_000 - 1)
    assert sign_in.is_signed_in(given.cookie, given.proof)
    clock.advance(1)
    assert not sign_in.is_signed_in(given.cookie, given.proof)


@pytest.mark.parametrize(
    "change", [lambda c: c[:-1], lambda c: f"9{c}", lambda c: "", lambda c: ".", lambda c: "é.é"]
)
def test_a_secret_that_was_changed_is_none(tmp_path: Path, change: Callable[[str], str]) -> None:
    @on_a_loop
    async def run() -> None:
        sign_in = SignIn(tmp_path, ManualClock())
        sign_in.prepare()
        given = await sign_in.enter((tmp_path / TOKEN).read_text().strip(), "")
        assert given is not None and sign_in.is_signed_in(given.cookie, given.proof)
        assert not sign_in.is_signed_in(change(given.cookie), given.proof)
        assert not sign_in.is_signed_in(given.cookie, change(given.proof))
        assert not sign_in.is_signed_in(given.proof, given.cookie)

    run()


@on_a_loop
async def test_failures_are_forgotten_after_a_minute(tmp_path: Path) -> None:
    clock = ManualClock()
    sign_in = SignIn(tmp_path, clock)
    sign_in.prepare()
    token = (tmp_path / TOKEN).read_text().strip()
    for _ in range(10):
        assert await sign_in.enter("wrong", "") is None
    with pytest.raises(TooManyTries) as refused:
        await sign_in.enter(token, "")
    assert refused.value.retry_after == 60
    clock.advance(60_000)
    assert await sign_in.enter(token, "") is not None


@on_a_loop
async def test_the_list_of_sign_ins_is_short_and_a_damaged_one_only_asks_people_to_sign_in_again(
    tmp_path: Path,
) -> None:
    sign_in = SignIn(tmp_path, ManualClock())
    sign_in.prepare()
    token = (tmp_path / TOKEN).read_text().strip()
    given = [await sign_in.enter(token, "a browser\n" * 100) for _ in range(MOST + 1)]
    first, last = given[0], given[-1]
    assert first is not None and last is not None
    again = SignIn(tmp_path, ManualClock())
    assert len(again.everyone()) == MOST
    assert not again.is_signed_in(first.cookie, first.proof)
    assert again.is_signed_in(last.cookie, last.proof)
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
    for damaged in ("", "{}", "[1]", '[{"id": 1}]', '[{"id": {}}]', "[[]]"):
        (tmp_path / FILE).write_text(damaged)
        assert SignIn(tmp_path, ManualClock()).everyone() == ()


def test_a_token_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    sign_in = SignIn(tmp_path, ManualClock())
    sign_in.prepare()
    os.chmod(tmp_path / TOKEN, 0o644)
    SignIn(tmp_path, ManualClock()).prepare()
    assert (tmp_path / TOKEN).stat().st_mode & 0o777 == 0o600
    assert re.fullmatch(r"[0-9a-f]{64}\n", (tmp_path / TOKEN).read_text())


def test_a_start_cut_off_while_it_makes_the_token_does_not_keep_the_next_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut_off(handle: int) -> None:
        raise OSError("no room")

    with monkeypatch.context() as full:
        full.setattr(os, "fsync", cut_off)
        with pytest.raises(OSError, match="no room"):
            SignIn(tmp_path, ManualClock()).prepare()
    SignIn(tmp_path, ManualClock()).prepare()
    assert re.fullmatch(r"[0-9a-f]{64}\n", (tmp_path / TOKEN).read_text())
    assert [file.name for file in tmp_path.iterdir()] == [TOKEN]
