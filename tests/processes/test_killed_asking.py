"""SIGKILL while a person is asked: the question outlives every process, and consent is used once."""

import pytest

from tests.support.inside import EFFECTS
from tests.support.outside import Build, House

CAREFUL = 'approvals.effect = "ask"\n'
MAY_I = "May I run `effect`?"
ASKED = "what about a?"


def turn(house: House) -> tuple[str, int]:
    (found,) = house.turns("home")
    return found["state"], found["interruptions"]


def questions(house: House) -> list[tuple[str, str | None]]:
    return [(one["state"], one["answer"]) for one in house.look("chat", chat="home")["questions"]]


@pytest.mark.guards("R7.3", "R13", "F11")
def test_killed_again_and_again_while_consent_is_asked_for_a_yes_lets_the_call_run_once(build: Build) -> None:
    house = build(CAREFUL)
    gateway = house.up()
    house.say("home", "do read effect #a")
    house.heard("home", MAY_I)
    for _ in range(2):
        gateway.kill()
        gateway = house.up()
    assert (turn(house), house.times(EFFECTS, "a")) == (("waiting", 0), 0)
    house.say("home", "yes")
    assert [text for text in house.heard("home", "answer to a") if MAY_I in text] != []
    gateway.kill()
    gateway = house.up()
    gateway.stop()
    assert sum(MAY_I in text for text in house.told("home")) == 1
    assert (turn(house), house.times(EFFECTS, "a")) == (("done", 0), 1)
    assert house.is_sound()


@pytest.mark.guards("R7.3", "R13")
def test_killed_between_the_question_and_the_rest_its_button_still_refuses(build: Build) -> None:
    house = build(CAREFUL)
    house.hold("before wait")
    gateway = house.up()
    house.say("home", "do effect #a")
    house.reached("before wait")
    gateway.kill()
    house.hold()
    gateway = house.up()
    house.heard("home", MAY_I)
    (asked,) = house.look("chat", chat="home")["questions"]
    house.ask("say", chat="home", text="deny", question=asked["id"])
    house.heard("home", "answer to a")
    house.ask("say", chat="home", text="allow once", question=asked["id"])
    told = house.heard("home", "was answered before")
    gateway.stop()
    assert sum(MAY_I in text for text in told) == 1
    assert house.times(EFFECTS, "a") == 0
    assert questions(house) == [("answered", "no")]


@pytest.mark.guards("R7.2", "R7.3", "C10")
def test_killed_in_a_call_that_was_allowed_it_is_not_run_again_under_that_yes(build: Build) -> None:
    house = build(CAREFUL)
    house.hold("after effect a")
    gateway = house.up()
    house.say("home", "do effect #a")
    house.heard("home", MAY_I)
    house.say("home", "1")
    house.reached("after effect a")
    gateway.kill()
    house.hold()
    gateway = house.up()
    house.heard("home", "answer to a")
    gateway.stop()
    assert house.times(EFFECTS, "a") == 1
    assert sum(state == "unknown" for _, _, state in house.shown("a")) == 1
    assert questions(house) == [("answered", "yes")]


@pytest.mark.guards("R13")
def test_killed_while_the_agent_asks_and_again_after_the_answer_it_goes_on_from_it(house: House) -> None:
    gateway = house.up()
    house.say("home", "do ask_person effect #a")
    house.heard("home", ASKED)
    gateway.kill()
    house.hold("before claim_ready")
    gateway = house.up()
    assert turn(house) == ("waiting", 0)
    house.reached("before claim_ready")
    house.say("home", "the blue one")
    gateway.kill()
    house.hold()
    gateway = house.up()
    house.heard("home", "answer to a")
    gateway.stop()
    assert sum(ASKED in text for text in house.told("home")) == 1
    assert ["tool", "the blue one", "done"] in house.shown("a")
    assert (turn(house), house.times(EFFECTS, "a")) == (("done", 0), 1)
    assert house.is_sound()
