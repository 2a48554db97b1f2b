"""Consent on Telegram with real gateways: an owner decides over calls of others, and sees all of each."""

import json
from collections.abc import Callable

import pytest

from holdfast.testing.fakes.botapi import Flood, Person
from tests.support.inside import EFFECTS
from tests.support.town import Gateway, Office, Town

Build = Callable[[str], Office]
ASKS = 'approvals.effect = "ask"'


@pytest.fixture
def office(open_office: Build) -> Office:
    return open_office(ASKS)


def has_buttons(person: Person) -> bool:
    return any(one.buttons for one in person.sees())


def meet(town: Town, office: Office) -> tuple[Gateway, Person, Person]:
    """Ada owns the gateway and has written to its bot; Bob may talk to it."""
    ada, bob = town.add("Ada"), town.add("Bob")
    town.write(ada, "do #hello")
    gateway = office.begin()
    town.until_heard(ada, "answer to hello")
    office.ask("allow", who=f"telegram:{bob.id}")
    return gateway, ada, bob


@pytest.mark.guards("R22.5", "R13")
def test_an_owner_allows_what_another_person_wants_also_after_a_kill(office: Office, town: Town) -> None:
    gateway, ada, bob = meet(town, office)
    town.write(bob, "do effect #a")
    town.until(lambda: has_buttons(ada))
    town.until_heard(bob, "owner's permission")
    office.until_sent()
    (card,) = town.do(lambda: [one.text for one in ada.sees() if one.buttons])
    assert "telegram:1002" in card and "telegram/1000/1002" in card and "a" in card
    assert not town.do(lambda: has_buttons(bob))
    for person in (bob, ada):
        town.write(person, "yes")
    town.until_heard(bob, "Queued")
    town.until(lambda: any("yes" in text or "answer" in text for text in ada.hears()[1:]))
    gateway.kill()
    assert office.times(EFFECTS, "a") == 0, "a loose yes is no consent, whoever says it"
    gateway = office.begin().ready()
    town.do(lambda: ada.press("allow once"))
    again = town.do(lambda: ada.press("allow once"))
    town.until_heard(bob, "answer to a")
    town.until(lambda: ada.answer(again) is not None)
    town.until(lambda: not has_buttons(ada))
    office.until_settled()
    gateway.stop()
    assert len(office.seen(EFFECTS)) == 1


@pytest.mark.guards("R22.5")
def test_a_reply_to_the_card_answers_it(office: Office, town: Town) -> None:
    gateway, ada, bob = meet(town, office)
    town.write(bob, "do effect #a")
    town.until(lambda: has_buttons(ada))
    office.until_sent()
    card = town.do(lambda: next(one.id for one in ada.sees() if one.buttons))
    town.do(lambda: ada.write("no", reply_to=card))
    town.until_heard(bob, "answer to a")
    office.until_settled()
    gateway.stop()
    assert office.times(EFFECTS, "a") == 0


@pytest.mark.guards("R22.4")
def test_the_buttons_of_a_long_call_come_with_the_last_part_after_all_others(
    office: Office, town: Town
) -> None:
    gateway, ada, _ = meet(town, office)
    long = "#" * 9_000
    (office.home / "effect-a.json").write_text(json.dumps({"tag": "a", "what": long}))
    town.do(lambda: town.api.faults.add(Flood(1), "sendMessage"))
    town.write(ada, "do effect #a")
    town.until(lambda: has_buttons(ada))
    office.until_sent()
    cards = [one for one in town.do(ada.sees) if "###" in one.text]
    assert len(cards) == 3 and [bool(one.buttons) for one in cards] == [False, False, True]
    assert sum(one.text.count("#") for one in cards) == len(long), "nothing of it is left out"
    town.do(lambda: ada.press("allow once"))
    town.until_heard(ada, "answer to a")
    office.until_settled()
    gateway.stop()
    assert len(office.seen(EFFECTS)) == 1


@pytest.mark.guards("R13", "R22.5")
def test_the_third_button_stores_the_rule_once_for_the_chat_of_the_work(office: Office, town: Town) -> None:
    gateway, ada, bob = meet(town, office)
    town.write(bob, "do effect #a")
    town.until(lambda: has_buttons(ada))
    office.until_sent()
    (card,) = town.do(lambda: [one for one in ada.sees() if one.buttons])
    assert card.buttons == ("allow once", "deny", "always allow this")
    assert "Always allow in the chat telegram/1000/1002, for everybody who may write there" in card.text
    gateway.kill()
    assert office.look("allowed")["allowed"] == []
    for _ in range(2):
        town.do(lambda: ada.press("always allow this"))
    gateway = office.begin().ready()
    town.until_heard(bob, "answer to a")
    town.until(lambda: not has_buttons(ada))
    office.until_settled()
    (rule,) = office.look("allowed")["allowed"]
    assert (rule["chat"], rule["allowed_by"]) == (f"telegram/1000/{bob.id}", f"telegram:{ada.id}")
    town.do(lambda: bob.write("do effect #a"))
    town.until(lambda: bob.hears().count("answer to a") == 2)
    office.until_settled()
    gateway.stop()
    assert office.times(EFFECTS, "a") == 2, "the second time unasked"


@pytest.mark.guards("R13")
def test_a_card_says_whether_others_share_the_chat_that_its_rule_would_be_for(
    office: Office, town: Town
) -> None:
    gateway, ada, bob = meet(town, office)
    group = town.do(lambda: town.people.group("Team", ada, bob))
    shared = {None: "Always allow in this chat, while", group: "Always allow in this chat, for everybody who"}
    for chat, words in shared.items():
        town.write(ada, "do effect #a", chat)
        town.until_heard(ada, words, chat)
        assert sum("Always allow" in text for text in town.hears(ada, chat)) == 1
    gateway.stop()
