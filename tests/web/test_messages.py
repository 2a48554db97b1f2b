"""Saying something over HTTP: kept when it is answered, once whatever is repeated."""

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.support.outside import House
from tests.support.web import following, is_silent, posted, program, told, until


def say(client: httpx.Client, chat: str, **body: object) -> httpx.Response:
    return client.post(f"/api/chats/{chat}/messages", json=body)


@pytest.mark.guards("B1")
def test_a_message_is_answered_with_202_only_once_it_is_committed_and_survives_a_kill(house: House) -> None:
    house.hold("before claim_ready")
    gateway = house.up()
    with program(house.home) as client:
        answer = say(client, "home", text="do #a", event_id="mine")
        assert answer.status_code == 202
        kept = answer.json()
        assert (kept["event_id"], kept["fresh"]) == ("mine", True)
    gateway.kill()
    assert house.look("trace", position=kept["position"])["message"]["text"] == "do #a"
    house.hold()
    house.up()
    with program(house.home) as client:
        again = say(client, "home", text="do #a", event_id="mine")
        assert again.status_code == 202
        assert (again.json()["position"], again.json()["fresh"]) == (kept["position"], False)
        with following(client, "/api/chats/home/events") as events:
            until(events, told("answer to a"))
    assert house.model_calls("a") == 1
    assert len(house.turns("home")) == 1


def test_nothing_is_said_of_a_message_while_its_commit_is_on_its_way(house: House) -> None:
    house.hold("before accept")
    house.up()
    with posted(house.home, "/api/chats/home/messages", text="do #a") as connection:
        on_its_way = house.reached("before accept")
        assert is_silent(connection)
    # The one who asked has gone; what they may have seen leave is kept all the same.
    on_its_way.go()
    with program(house.home) as client, following(client, "/api/chats/home/events") as events:
        until(events, told("answer to a"))


def test_the_same_event_twice_at_once_is_one_turn(house: House) -> None:
    house.hold("before accept")
    house.up()
    with program(house.home) as client, ThreadPoolExecutor(2) as people:
        said = [people.submit(say, client, "home", text="do #a", event_id="e") for _ in range(2)]
        on_its_way = house.reached("before accept")
        assert not any(one.done() for one in said)
        house.hold()
        on_its_way.go()
        kept = {one.result().json()["position"] for one in said}
        with following(client, "/api/chats/home/events") as events:
            until(events, told("answer to a"))
    assert [turn["cause"] for turn in house.turns("home")] == list(kept)


def test_what_a_chat_was_told_is_read_by_number_without_a_gap(house: House) -> None:
    house.up()
    with program(house.home) as client:
        for tag in "abc":
            say(client, "home", text=f"do #{tag}")
            house.heard("home", f"answer to {tag}")
        first = client.get("/api/chats/home/messages?limit=2").json()
        assert [one["text"] for one in first["messages"]] == ["answer to a", "answer to b"]
        rest = client.get(f"/api/chats/home/messages?after={first['after']}").json()
        assert [one["text"] for one in rest["messages"]] == ["answer to c"]
        nothing = client.get(f"/api/chats/home/messages?after={rest['after']}").json()
        assert nothing == {"messages": [], "after": rest["after"]}


def test_a_message_that_waits_is_changed_or_taken_back_and_one_that_was_taken_is_not(house: House) -> None:
    house.hold("model a 0")
    house.up()
    with program(house.home) as client:
        begun = say(client, "home", text="do #a").json()["position"]
        held = house.reached("model a 0")
        kept, gone = (say(client, "home", text=f"do #{tag}").json()["position"] for tag in "bc")
        standing = client.get("/api/chats/home").json()
        assert [one["position"] for one in standing["waiting"]] == [kept, gone]
        assert standing["turn"]["state"] == "running"
        changed = client.patch(f"/api/chats/home/messages/{kept}", json={"text": "do #d"})
        assert (changed.status_code, changed.json()["text"]) == (200, "do #d")
        assert client.delete(f"/api/chats/home/messages/{gone}").json()["state"] == "withdrawn"
        for answer in (
            client.patch(f"/api/chats/home/messages/{begun}", json={"text": "do #e"}),
            client.delete(f"/api/chats/home/messages/{gone}"),
        ):
            assert (answer.status_code, answer.json()["error"]["code"]) == (409, "refused")
        assert client.delete(f"/api/chats/other/messages/{kept}").status_code == 404
        assert client.delete("/api/chats/home/messages/999").status_code == 404
        held.go()
        house.heard("home", "answer to a", "answer to d")
        said = client.get("/api/chats/home").json()["said"]
    assert [(one["text"], one["position"]) for one in said] == [("do #a", begun), ("do #d", kept)]


def test_chats_are_listed_with_the_newest_work_first(house: House) -> None:
    house.up()
    with program(house.home) as client:
        assert client.get("/api/chats").json() == {"chats": [], "next": None}
        for chat in ("one", "two words", "ünï"):
            assert say(client, chat, text=f"do #{chat[0]}").status_code == 202
            house.heard(chat, "answer to")
        say(client, "one", text="do #z")
        house.heard("one", "answer to z")
        found = client.get("/api/chats").json()["chats"]
        first = client.get("/api/chats?limit=2").json()
        rest = client.get("/api/chats", params={"limit": 2, "before": first["next"]}).json()
    assert first["chats"] + rest["chats"] == found
    assert rest["next"] is None
    assert [one["chat"] for one in found] == ["one", "ünï", "two words"]
    assert found[0]["title"] == "do #o"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "missing: text"),
        (b"{", "one JSON object; this (no type) is not JSON: Expecting property name"),
        (b"[]", "one JSON object; this is a list"),
        (b"text=hello", "is not JSON: Expecting value, line 1, column 1"),
        (b'{"text": "\xe9"}', "is not JSON: not all of it is UTF-8 text"),
        (b'{"text": "  \\n"}', "text that is more than spaces"),
        (b'{"text": "a", "event_id": "' + b"e" * 101 + b'"}', "allowed: at most 100 characters"),
        (b'{"text": "a", "event_id": "e\\u0000"}', "all of them printable"),
        (b'{"text": ""}', "text that is more than spaces"),
        (b'{"text": 1}', "text"),
        (b'{"text": "\\ud800"}', "one JSON object"),
        (b'{"text": "a", "more": 1}', "unknown argument 'more'"),
        (b'{"text": "a", "attachments": [{"name": "x"}]}', "a list of at most 20 files"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_a_body_that_is_wrong_is_a_bad_request_in_words(house: House, body: bytes, words: str) -> None:
    house.up()
    with program(house.home) as client:
        answer = client.post("/api/chats/home/messages", content=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "bad_request"
    assert words in answer.json()["error"]["words"]


def test_names_of_chats_that_cannot_be_and_bodies_that_are_too_large_are_refused(house: House) -> None:
    house.up()
    with program(house.home) as client:
        for chat in ("a" * 101, "a%00b", "a%0Ab"):
            for answer in (say(client, chat, text="do #a"), client.get(f"/api/chats/{chat}")):
                assert answer.status_code == 400
                assert "a name of at most 100 characters" in answer.json()["error"]["words"]
            assert client.get(f"/api/chats/{chat}/events").status_code == 400
        assert say(client, "a%2Fb", text="do #a").status_code == 404
        assert client.get("/api/chats/nobody").json()["session"] is None
        large = client.post("/api/chats/home/messages", content=b" " * 5_000_000)
        assert (large.status_code, large.json()["error"]["code"]) == (413, "too_large")
        long = say(client, "home", text="a" * 32_001)
        assert (long.status_code, long.json()["error"]["code"]) == (413, "too_large")
        assert "nothing was kept: this has 32001 characters" in long.json()["error"]["words"]
        for asked in (
            "limit=0",
            "before=1",
            "after=x",
            "after=-1",
            "after=1&after=2",
            "what=1",
            f"after={'9' * 5_000}",
        ):
            assert client.get(f"/api/chats/home/messages?{asked}").status_code == 400, asked
        assert client.get("/api/nothing").status_code == 404
        wrong = client.put("/api/chats/home/messages")
        assert (wrong.status_code, wrong.json()["error"]["code"]) == (405, "not_allowed")
    assert house.look("sessions")["sessions"] == []
