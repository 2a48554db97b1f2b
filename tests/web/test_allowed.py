"""The rules that owners gave with "always allow this", over HTTP, as the page lists and revokes them."""

import json

import httpx
import pytest
import schemathesis

from tests.support.inside import EFFECTS
from tests.support.outside import Build, House
from tests.support.web import browser, following, program, signed_in, until

ASKS = 'approvals.effect = "ask"\n'
SHOWN = "`effect` while `inside:agent` answers: exactly the call with "


@pytest.fixture
def house(build: Build) -> House:
    return build(ASKS)


def allow(house: House, chat: str = "home") -> None:
    """The owner allows a call of this chat always."""
    house.say(chat, f"do effect #{chat}")
    house.heard(chat, "May I run `effect`?")
    house.say(chat, "always")
    house.heard(chat, f"answer to {chat}")


def numbers(client: httpx.Client, **wanted: str) -> list[int]:
    return [one["id"] for one in client.get("/api/allowed", params=wanted).json()["allowed"]]


@pytest.mark.guards("R13")
def test_rules_are_listed_with_their_chat_and_session_and_revoked_once(house: House) -> None:
    house.up()
    allow(house)
    allow(house, "work")
    with signed_in(house.home) as page:
        assert (numbers(page), numbers(page, chat="work")) == ([1, 2], [2])
        (rule,) = page.get("/api/chats/home").json()["allowed"]
        assert (rule["covers"], rule["allowed_by"]) == (f'{SHOWN}"home"', "web:local")
        session = page.get("/api/chats/home").json()["session"]
        assert page.get(f"/api/sessions/{session}").json()["allowed"] == [rule]
        assert page.post("/api/allowed/1/revoke").json() == {"rule": 1, "revoked": True}
        again = page.post("/api/allowed/1/revoke")
        assert again.status_code == 409
        assert again.json()["error"]["words"] == "rule 1 was revoked before; nothing was changed"
        assert page.get("/api/chats/home").json()["allowed"] == []
        assert numbers(page) == [2]
    house.say("home", "do effect #home")
    house.heard("home", "May I run `effect`?", "May I run `effect`?")
    assert house.times(EFFECTS, "home") == 1
    assert house.is_sound()


def test_a_rule_that_is_not_there_is_refused_in_words(house: House) -> None:
    house.up()
    with program(house.home) as client:
        for rule, status in (("9", 404), ("0", 404), ("x", 400), ("-1", 400), ("9" * 30, 400)):
            answer = client.post(f"/api/allowed/{rule}/revoke")
            assert (answer.status_code, rule) == (status, rule)
            words = answer.json()["error"]["words"]
            assert words == f"there is no rule {rule}" if status == 404 else "rule" in words


@pytest.mark.guards("R13", "R22.9")
def test_without_the_proof_of_the_page_nothing_is_listed_or_revoked(house: House) -> None:
    house.up()
    allow(house)
    with signed_in(house.home) as page:
        proof = page.headers.pop("X-Holdfast")
        for wrong in ("", "1", proof[::-1]):
            headers = {"X-Holdfast": wrong} if wrong else {}
            assert page.get("/api/allowed", headers=headers).status_code == 401
            assert page.post("/api/allowed/1/revoke", headers=headers).status_code == 401
        page.headers["X-Holdfast"] = proof
        foreign = {"Origin": "http://evil.example"}
        assert page.post("/api/allowed/1/revoke", headers=foreign).status_code == 403
        with browser(house.home, **{"X-Holdfast": proof}) as thief:
            assert thief.post("/api/allowed/1/revoke").status_code == 401
        assert page.get("/api/allowed/1/revoke").status_code == 405, "a link revokes nothing"
        assert numbers(page) == [1]


def test_what_is_listed_and_answered_is_as_described(house: House) -> None:
    house.up()
    allow(house)
    with program(house.home) as client:
        described = schemathesis.openapi.from_dict(client.get("/openapi.json").json())
        for path in ("/api/allowed", "/api/chats/{chat}"):
            answer = client.get(path.format(chat="home"))
            assert answer.json()["allowed"], "there is something to be described"
            described[path]["GET"].validate_response(answer)
        revoke = described["/api/allowed/{rule}/revoke"]["POST"]
        for rule in (1, 1, 9):
            revoke.validate_response(client.post(f"/api/allowed/{rule}/revoke"))


@pytest.mark.guards("R13")
def test_who_follows_the_chat_hears_of_a_rule_and_of_its_end(house: House) -> None:
    house.up()
    with signed_in(house.home) as page, following(page, "/api/chats/home/events") as events:
        allow(house)
        until(events, lambda one: one.name == "standing" and len(one.data["allowed"]) == 1)
        house.ask("revoke_allowed", rule=1)
        until(events, lambda one: one.name == "standing" and one.data["allowed"] == [])


@pytest.mark.guards("R22.4")
def test_nothing_in_a_listed_rule_is_invisible(house: House) -> None:
    house.up()
    (house.home / "effect-home.json").write_text(json.dumps("a\u202eb\u200b\x7f", ensure_ascii=False))
    allow(house)
    with program(house.home) as client:
        (rule,) = client.get("/api/allowed").json()["allowed"]
    assert "a\\u{202e}b" in rule["covers"]
    assert not {"\u202e", "\u200b", "\x7f"} & set(rule["covers"])
