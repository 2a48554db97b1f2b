"""What operators look at over HTTP, with what a real gateway left that was really killed."""

import asyncio
from pathlib import Path

import pytest

from holdfast.clock import SystemClock, SystemIds
from holdfast.model import Batch, ChatAddress, Inbound, Key, Lost, Owed, PersonId, Place, SetAside
from holdfast.store import open_ledger
from tests.support.outside import House
from tests.support.web import browser, following, program, until

LOOKS = (
    "/api/overview",
    "/api/status",
    "/api/plan",
    "/api/sessions",
    "/api/sessions/none",
    "/api/outbox",
    "/api/set-aside",
    "/api/trace/1",
    "/api/events",
)
ELSEWHERE = Place("elsewhere", "bot", "c1")


def killed_in_the_middle(house: House) -> None:
    """A turn is cut off in its second call, and done by the run after."""
    house.hold("read a")
    gateway = house.up()
    house.say("home", "do effect read #a")
    house.reached("read a")
    gateway.kill()
    house.hold()
    house.up()
    house.heard("home", "answer to a")


@pytest.mark.guards("R4.5")
def test_the_overview_explains_a_kill_at_a_glance(house: House) -> None:
    killed_in_the_middle(house)
    with program(house.home) as client:
        found = client.get("/api/overview").json()
        newest, killed = found["runs"]
        assert (newest["ended"], killed["ended"]) == (None, "crashed")
        assert killed["left"]["became"] == [{"outcome": "resume", "count": 1}]
        assert newest["recovered_after"] >= 0
        (fate,) = found["last_report"]["fates"]
        assert (fate["became"], fate["row"], fate["state"]) == ("resume", "resume", "done")
        assert client.get(f"/api/sessions/{fate['session']}").status_code == 200
        assert sum(found["pace"]["done"]) == 1
        assert found["counts"]["turns"] == {"queued": 0, "running": 0, "waiting": 0, "interrupted": 0}


def test_one_session_shows_what_it_did_and_what_was_decided(house: House) -> None:
    killed_in_the_middle(house)
    with program(house.home) as client:
        (line,) = client.get("/api/sessions", params={"q": "HOME", "state": "done"}).json()["sessions"]
        found = client.get(f"/api/sessions/{line['id']}").json()
        assert client.get("/api/sessions", params={"state": "running"}).json() == {
            "sessions": [],
            "next": None,
        }
    resumed, cut = found["decisions"]
    assert (resumed["what"], resumed["detail"]["resumed"]) == ("claimed", 1)
    assert (cut["what"], cut["detail"]) == ("interrupted", {"reason": "restart_interrupted"})
    journal = {one["name"]: (one["effect"], one["state"], one["runs"]) for one in found["calls"]}
    assert journal == {"effect": ("effect", "done", 1), "read": ("read", "done", 2)}
    assert [one["text"] for one in found["deliveries"]] == ["answer to a"]


@pytest.mark.guards("R8.1", "R13")
def test_a_question_and_its_answer_are_no_recovery(house: House) -> None:
    house.up()
    house.say("home", "do ask_person #a")
    house.heard("home", "what about a?")
    house.say("home", "blue")
    house.heard("home", "answer to a")
    with program(house.home) as client:
        (line,) = client.get("/api/sessions").json()["sessions"]
        found = client.get(f"/api/sessions/{line['id']}").json()
    assert (found["decisions"], found["turns"][0]["interruptions"]) == ([], 0)


def test_a_state_that_does_not_exist_is_refused_with_those_that_do(house: House) -> None:
    house.up()
    with program(house.home) as client:
        refused = client.get("/api/sessions", params={"state": "dancing"})
    assert refused.status_code == 400
    assert "state = 'dancing' is not allowed; allowed: queued, running" in refused.json()["error"]["words"]


def test_pages_of_sessions_follow_one_another(house: House) -> None:
    house.up()
    for tag in "abc":
        house.say(f"chat-{tag}", f"do #{tag}")
        house.heard(f"chat-{tag}", f"answer to {tag}")
    with program(house.home) as client:
        found: list[str] = []
        before: dict[str, str] = {}
        while True:
            page = client.get("/api/sessions", params={"limit": 1, "platform": "web", **before}).json()
            found += [line["key"].rpartition("-")[2] for line in page["sessions"]]
            if page["next"] is None:
                break
            before = {"before": page["next"]}
    assert found == ["c", "b", "a"]


async def left_behind(home: Path) -> None:
    clock = SystemClock()
    store = await open_ledger(home, clock, SystemIds(clock))
    said = Inbound("e1", Key(ELSEWHERE.address), ELSEWHERE, PersonId("elsewhere:ann"), "hello")
    await store.accept(Batch("elsewhere/bot", (said,), (SetAside("u1", "not JSON", "{half"),)))
    await store.owe(Owed(ChatAddress(ELSEWHERE.address), "n1", ("told?",)))
    (part,) = await store.claim_deliveries(("elsewhere",))
    await store.record_delivery(part.id, Lost("the connection was lost"))
    await store.close()


def test_sends_in_doubt_and_input_set_aside_are_shown_of_every_platform(house: House) -> None:
    asyncio.run(left_behind(house.home))
    house.up()
    with program(house.home) as client:
        (doubt,) = client.get("/api/outbox").json()["deliveries"]
        (strange,) = client.get("/api/set-aside").json()["set_aside"]
        counts = client.get("/api/overview").json()["counts"]
    assert (doubt["chat"], doubt["text"], doubt["reason"]) == (
        ELSEWHERE.address,
        "told?",
        "the connection was lost",
    )
    assert (strange["account"], strange["reason"], strange["payload"]) == (
        "elsewhere/bot",
        "not JSON",
        "{half",
    )
    assert (counts["unknown"], counts["set_aside"]) == (1, 1)


def test_who_watches_hears_that_something_changed(house: House) -> None:
    house.up()
    with program(house.home) as client, following(client, "/api/events") as events:
        until(events, lambda event: event.name == "changed")
        house.say("home", "do #a")
        until(events, lambda event: "turns" in event.data["topics"] or "inbox" in event.data["topics"])


def test_nothing_is_shown_to_who_is_not_signed_in(house: House) -> None:
    house.up()
    with browser(house.home) as client:
        assert {path: client.get(path).status_code for path in LOOKS} == dict.fromkeys(LOOKS, 401)


def test_what_is_asked_for_wrongly_is_said(house: House) -> None:
    asyncio.run(left_behind(house.home))
    house.up()
    with program(house.home) as client:
        for asked, words in (
            ("sessions?limit=many", "limit = 'many' is not allowed; allowed: a whole number"),
            ("sessions?colour=red", "unknown argument 'colour'"),
            ("sessions?state=asleep", "state = 'asleep' is not allowed; allowed: queued, running"),
            ("sessions?platform=pigeon", "'pigeon' is not allowed; allowed: elsewhere, letters, web"),
            ("sessions?live=perhaps", "live = 'perhaps' is not allowed; allowed: true or false"),
            ("outbox?state=sent", "state = 'sent' is not allowed; allowed: unknown"),
        ):
            answer = client.get(f"/api/{asked}")
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_request"), asked
            assert words in answer.json()["error"]["words"]
        for asked in ("state=parked", "state=held", "state=done", "platform=elsewhere", "platform=web"):
            assert client.get(f"/api/sessions?{asked}").status_code == 200, asked
        assert client.get("/api/sessions/none").status_code == 404
