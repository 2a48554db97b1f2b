"""What operators do over HTTP; files that go with messages and those of the page; figures."""

import asyncio
import gzip
import signal
from pathlib import Path

import pytest
from starlette.requests import Request

from holdfast.web.assets import Assets
from holdfast.web.errors import HttpError
from tests.support.commands import gateway_pid
from tests.support.outside import Build, House
from tests.support.web import following, program, told, until


def test_an_operator_sees_sessions_traces_and_what_a_restart_would_cut(house: House) -> None:
    house.hold("model b 0")
    house.up()
    with program(house.home) as client:
        kept = client.post("/api/chats/home/messages", json={"text": "do read #a"}).json()
        house.heard("home", "answer to a")
        (line,) = client.get("/api/sessions").json()["sessions"]
        session = client.get(f"/api/sessions/{line['id']}").json()
        assert session["turns"][0]["state"] == "done"
        trace = client.get(f"/api/trace/{kept['position']}").json()
        assert trace["message"]["text"] == "do read #a"
        assert client.get("/api/plan").json() == {"running": []}
        client.post("/api/chats/home/messages", json={"text": "do #b"})
        house.reached("model b 0")
        (running,) = client.get("/api/plan").json()["running"]
        assert running["session"] == line["id"]
        status = client.get("/api/status").json()
        assert (status["state"], status["running"], status["pid"]) == ("running", 1, gateway_pid(house.home))
        assert client.get("/api/continuity").json()["reports"]
        assert client.get("/api/sessions/nobody").status_code == 404
        assert client.get("/api/trace/999").status_code == 404


def test_commands_are_given_in_a_session_by_the_owner(house: House) -> None:
    house.hold("model a 0")
    house.up()
    with program(house.home) as client:
        client.post("/api/chats/home/messages", json={"text": "do #a"})
        house.reached("model a 0")
        (line,) = client.get("/api/sessions").json()["sessions"]
        done = client.post(f"/api/sessions/{line['id']}/stop", json={"event_id": "once"})
        assert (done.status_code, done.json()["state"]) == (200, "executed")
        again = client.post(f"/api/sessions/{line['id']}/stop", json={"event_id": "once"}).json()
        assert (again["position"], again["fresh"]) == (done.json()["position"], False)
        house.hold()
        assert client.post(f"/api/sessions/{line['id']}/new").json()["state"] == "executed"
        assert client.get(f"/api/sessions/{line['id']}").json()["session"]["ended_why"] == "new"
        assert client.post("/api/sessions/nobody/stop").status_code == 404
        assert client.post(f"/api/sessions/{line['id']}/dance").status_code == 404
    assert [turn["state"] for turn in house.turns("home")] == ["cancelled"]


def test_a_send_nobody_knows_cannot_be_settled(house: House) -> None:
    house.up()
    with program(house.home) as client:
        for how in ("sent", "retry", "drop"):
            refused = client.post(f"/api/outbox/999/{how}")
            assert (refused.status_code, refused.json()["error"]["code"]) == (409, "refused")
            assert client.post(f"/api/outbox/x/{how}").status_code == 400
        assert client.post("/api/outbox/1/dance").status_code == 404


def test_a_restart_is_asked_for_once_and_a_stop_ends_it_for_good(house: House) -> None:
    gateway = house.up()
    with program(house.home) as client:
        assert client.post("/api/gateway/restart", json={"event_id": "once"}).json()["fresh"] is True
    assert gateway.end() == 75
    gateway = house.up()
    with program(house.home) as client:
        assert client.post("/api/gateway/restart", json={"event_id": "once"}).json()["fresh"] is False
        assert client.post("/api/gateway/stop").json()["asked"] == "the gateway itself"
    assert gateway.end() == 0


@pytest.mark.guards("B4")
def test_the_button_that_kills_is_for_demonstrations_and_the_answer_goes_on(build: Build) -> None:
    house = build("web.demo = true\n")
    house.hold("read a")
    gateway = house.up()
    with program(house.home) as client:
        client.post("/api/chats/home/messages", json={"text": "do effect read #a"})
        house.reached("read a")
        assert client.post("/api/gateway/kill").json() == {"asked": "kill"}
    assert gateway.end() == -signal.SIGKILL
    house.hold()
    house.up()
    with program(house.home) as client, following(client, "/api/chats/home/events") as events:
        until(events, told("answer to a"))
    assert house.times("effects", "a") == 1


def test_no_gateway_but_a_demonstration_can_be_killed_from_the_page(house: House) -> None:
    house.up()
    with program(house.home) as client:
        assert client.post("/api/gateway/kill").status_code == 403
        assert client.get("/healthz").status_code == 200


@pytest.mark.guards("R14", "O21")
def test_a_file_is_kept_by_its_hash_and_goes_with_a_message(house: House) -> None:
    gateway = house.up()
    with program(house.home) as client:
        kept = [
            client.post("/api/blobs", content=b"<script>", headers={"Content-Type": kind})
            for kind in ("text/html; charset=utf-8", "nonsense")
        ]
        assert [one.status_code for one in kept] == [201, 201]
        digest = kept[0].json()["digest"]
        assert kept[0].json() == {"digest": digest, "size": 8, "media_type": "text/html"}
        attachments = [{"digest": digest, "name": "a page " * 20 + ".html"}]
        said = client.post("/api/chats/home/messages", json={"text": "do #a", "attachments": attachments})
        assert said.status_code == 202
        house.heard("home", "answer to a")
        (entry,) = client.get("/api/chats/home").json()["said"]
        assert entry["attachments"][0]["name"].endswith(".html"), "a name that is cut keeps its ending"
        wrong = client.post("/api/chats/home/messages", json={"text": "do #b", "attachments": ["0" * 64]})
        assert wrong.status_code == 404
        assert client.post("/api/blobs", content=b"").status_code == 400
        assert client.post("/api/blobs", content=bytes(20_000_001)).status_code == 413
    gateway.kill()
    house.up()
    with program(house.home) as client:
        found = client.get(f"/api/blobs/{digest}")
        assert found.content == b"<script>"
        assert found.headers["content-disposition"].startswith("attachment")
        assert found.headers["x-content-type-options"] == "nosniff"
        for other in ("0" * 64, "..", "token", digest[:-1]):
            assert client.get(f"/api/blobs/{other}").status_code == 404
    for path in (house.home / "blobs").rglob("*"):
        assert path.stat().st_mode & 0o077 == 0


def test_files_of_the_page_are_sent_compressed_and_only_when_they_changed(house: House) -> None:
    house.up()
    with program(house.home) as client:
        first = client.get("/", headers={"Accept-Encoding": "identity"})
        assert first.headers["content-type"].startswith("text/html")
        again = client.get("/", headers={"If-None-Match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        request = client.build_request("GET", "/login", headers={"Accept-Encoding": "gzip"})
        answer = client.send(request, stream=True)
        packed = b"".join(answer.iter_raw())
        assert answer.headers["content-encoding"] == "gzip"
        assert b"<form" in gzip.decompress(packed)
        for path in (
            "/nothing.js",
            "/.hidden",
            "/server.py",
            "/static/index.html",
            "/%2e%2e/server.py",
            "/token",
        ):
            assert client.get(path).status_code == 404, path


def test_monitoring_reads_figures_of_turns_interruptions_and_commits(house: House) -> None:
    house.hold("read a")
    gateway = house.up()
    house.say("home", "do read #a")
    house.reached("read a")
    gateway.kill()
    house.hold()
    house.up()
    house.heard("home", "answer to a")
    with program(house.home) as client:
        answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    lines = dict(line.rsplit(" ", 1) for line in answer.text.splitlines() if not line.startswith("#"))
    assert lines['holdfast_turns_total{state="done"}'] == "1.0"
    assert lines['holdfast_interruptions_total{reason="restart_interrupted"}'] == "1.0"
    assert lines["holdfast_resumes_total"] == "1.0"
    assert lines["holdfast_messages_waiting"] == "0.0"
    assert lines["holdfast_unknown_sends_total"] == "0.0"
    assert float(lines["holdfast_commit_seconds_count"]) >= 2
    assert float(lines["holdfast_recovery_seconds"]) >= 0
    assert any(name.startswith("holdfast_build_info{") for name in lines)


@pytest.mark.parametrize("path", ["/../secret.html", "/.hidden.html", "/keys.txt", "/sub/page.html", "/"])
def test_no_file_but_those_of_the_page_can_be_named(tmp_path: Path, path: str) -> None:
    folder = tmp_path / "page"
    (folder / "sub").mkdir(parents=True)
    for name in ("../secret.html", ".hidden.html", "keys.txt", "sub/page.html"):
        (folder / name).write_text("secret")
    scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": []}
    with pytest.raises(HttpError, match="no such page"):
        asyncio.run(Assets(folder)(Request({**scope, "server": ("127.0.0.1", 1), "scheme": "http"})))
