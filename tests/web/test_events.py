"""Following a chat over HTTP: everything once and in order, whatever breaks in between."""

import signal

import httpx
import pytest

from tests.support.outside import House
from tests.support.web import Heard, answered, asked_until, following, program, told, until


def listens(event: Heard) -> bool:
    """From here on nothing is missed: the steps that are told are those that come after it."""
    return event.name == "following"


def texts(heard: list[Heard]) -> list[str]:
    return [one.data["text"] for one in heard if one.name == "delivery"]


def asked_until_over(client: httpx.Client) -> None:
    """Return once the turn has ended whose answer was heard."""
    while client.get("/api/chats/home").json()["turn"] is not None:
        pass


def steps(heard: list[Heard]) -> list[tuple[str, int]]:
    return [(one.data["session"], one.data["entry"]["seq"]) for one in heard if one.name == "entry"]


def test_a_reader_who_comes_again_misses_nothing_and_hears_nothing_twice(house: House) -> None:
    house.up()
    with program(house.home) as client:
        with following(client, "/api/chats/home/events") as events:
            until(events, listens)
            house.say("home", "do read #a")
            before = until(events, told("answer to a"))
        house.say("home", "do read #b")
        house.heard("home", "answer to b")
        seen = next(one.id for one in reversed(before) if one.id is not None)
        with following(client, "/api/chats/home/events", **{"Last-Event-ID": seen}) as events:
            house.say("home", "do read #c")
            after = until(events, answered("answer to c"))
        whole = client.get("/api/chats/home").json()
        entries = client.get(f"/api/sessions/{whole['session']}").json()["entries"]
    assert texts(before + after) == ["answer to a", "answer to b", "answer to c"]
    assert steps(before + after) == [(whole["session"], one["seq"]) for one in entries]


@pytest.mark.parametrize("history", [False, True], ids=["a new chat", "a chat with a history"])
def test_a_reader_cut_off_after_the_very_first_event_misses_nothing(house: House, history: bool) -> None:
    house.up()
    old = 0
    with program(house.home) as client:
        if history:
            house.say("home", "do read #a")
            house.heard("home", "answer to a")
            asked_until_over(client)
            old = client.get("/api/chats/home").json()["cursor"]["seq"]
        with following(client, "/api/chats/home/events") as events:
            # How the chat stands may come before it; that has no id to go on from.
            first = next(one for one in events if one.name == "following")
        assert first.id is not None
        house.say("home", "do read #b")
        house.heard("home", "answer to b")
        with following(client, "/api/chats/home/events", **{"Last-Event-ID": str(first.id)}) as events:
            heard = until(events, answered("answer to b"))
        entries = client.get(f"/api/sessions/{client.get('/api/chats/home').json()['session']}").json()[
            "entries"
        ]
    assert texts(heard)[-1] == "answer to b"
    assert [seq for _, seq in steps(heard)] == [one["seq"] for one in entries if one["seq"] > old]


@pytest.mark.guards("D10")
def test_what_is_followed_goes_on_after_a_kill_exactly_where_it_was(house: House) -> None:
    house.hold("read a")
    gateway = house.up()
    heard: list[Heard] = []
    with program(house.home) as client, following(client, "/api/chats/home/events") as events:
        until(events, listens)
        house.say("home", "do effect read #a")
        house.reached("read a")
        heard += until(events, lambda event: event.name == "entry" and event.data["entry"]["seq"] == 4)
        gateway.process.send_signal(signal.SIGKILL)
        gateway.process.wait()
        with pytest.raises(Exception, match="(?i)closed|reset|peer|incomplete"):
            until(events, lambda event: False)
    house.hold()
    house.up()
    seen = next(one.id for one in reversed(heard) if one.id is not None)
    with program(house.home) as client:
        with following(client, "/api/chats/home/events", **{"Last-Event-ID": seen}) as events:
            heard += until(events, answered("answer to a"))
        standing = client.get("/api/chats/home").json()
        entries = client.get(f"/api/sessions/{standing['session']}").json()["entries"]
    assert texts(heard).count("answer to a") == 1
    assert steps(heard) == [(standing["session"], one["seq"]) for one in entries]
    (cut,) = standing["interruptions"]
    assert (cut["reason"], cut["step"]) == ("restart_interrupted", 1)
    assert cut["progress_at"] <= cut["at"] <= cut["resumed_at"]
    assert house.times("effects", "a") == 1


def test_two_readers_hear_the_same(house: House) -> None:
    house.up()
    with (
        program(house.home) as client,
        following(client, "/api/chats/home/events") as mine,
        following(client, "/api/chats/home/events") as theirs,
    ):
        house.say("home", "do read #a")
        heard = [until(events, answered("answer to a")) for events in (mine, theirs)]
    assert texts(heard[0]) == texts(heard[1])
    assert steps(heard[0]) == steps(heard[1])


def test_a_reader_is_shown_how_the_chat_stands_at_once_and_when_it_changes(house: House) -> None:
    house.hold("model a 0")
    house.up()
    with program(house.home) as client, following(client, "/api/chats/home/events") as events:
        first = until(events, lambda event: event.name == "standing")[-1].data
        assert (first["session"], first["turn"], first["waiting"]) == (None, None, [])
        house.say("home", "do #a")
        held = house.reached("model a 0")
        until(events, lambda event: event.name == "standing" and event.data["turn"] is not None)
        house.say("home", "do #b")
        waits = until(events, lambda event: event.name == "standing" and event.data["waiting"])
        assert waits[-1].data["waiting"][0]["text"] == "do #b"
        held.go()
        until(events, lambda event: event.name == "standing" and event.data["turn"] is None)


def test_a_cursor_that_is_none_of_ours_is_a_bad_request(house: House) -> None:
    house.up()
    with program(house.home) as client:
        for cursor in ("x", "1;a", "9" * 30):
            answer = client.get("/api/chats/home/events", headers={"Last-Event-ID": cursor})
            assert answer.status_code == 400


def test_an_orderly_stop_ends_every_stream_and_waits_for_no_reader(house: House) -> None:
    gateway = house.up()
    with program(house.home) as client, following(client, "/api/chats/home/events") as events:
        until(events, lambda event: event.name == "standing")
        with following(client, "/api/events") as changes:
            until(changes, lambda event: event.name == "changed")
            gateway.stop()
            assert [one.name for one in events if one.name == "delivery"] == []
            list(changes)
    assert not (house.home / "web.json").exists()


def test_a_drain_is_seen_by_who_watches_and_messages_are_still_kept(
    house: House,
) -> None:
    house.hold("model a 0")
    gateway = house.up()
    with program(house.home) as client:
        assert asked_until(client, "/readyz", 200).json() == {"state": "running"}
        with (
            following(client, "/api/chats/home/events") as events,
            following(client, "/api/events") as changes,
        ):
            house.say("home", "do #a")
            held = house.reached("model a 0")
            gateway.process.terminate()
            until(changes, lambda event: event.data["state"] == "draining")
            assert client.get("/readyz").status_code == 503
            assert client.get("/healthz").json() == {"state": "draining"}
            assert client.post("/api/chats/home/messages", json={"text": "do #b"}).status_code == 202
            held.go()
            until(events, told("answer to a"))
            assert gateway.end() == 0
    house.up()
    house.heard("home", "answer to b")
