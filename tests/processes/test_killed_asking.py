"""SIGKILL while a person is asked: the question outlives every process, and consent is used once."""

import pytest

from tests.support.inside import EFFECTS
from tests.support.outside import Build, House

MINUTE = 60_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR
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
    house.hold("after wait")
    gateway = house.up()
    house.say("home", "do read effect #a")
    house.heard("home", MAY_I)
    house.reached("after wait")
    house.hold()
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
    told = house.heard("home", "already has an answer")
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


@pytest.mark.guards("R7.3", "R13")
def test_killed_right_after_always_was_kept_the_rule_holds_until_it_is_revoked(build: Build) -> None:
    house = build(CAREFUL)
    house.hold("after wait")
    gateway = house.up()
    house.say("home", "do effect #a")
    house.heard("home", MAY_I)
    house.reached("after wait")
    gateway.kill()
    house.hold("before claim_ready")
    gateway = house.up()
    house.reached("before claim_ready")
    house.say("home", "always")
    gateway.kill()
    (rule,) = house.look("allowed", chat="home")["allowed"]
    assert (turn(house), house.times(EFFECTS, "a")) == (("queued", 0), 0)
    house.hold()
    gateway = house.up()
    house.heard("home", "answer to a")
    assert house.times(EFFECTS, "a") == 1
    house.say("home", "do effect #a")
    house.heard("home", "answer to a", "answer to a")
    assert house.times(EFFECTS, "a") == 2, "unasked"
    gateway.kill()
    gateway = house.up()
    assert house.ask("revoke_allowed", rule=rule["id"]) == {"rule": rule["id"], "revoked": True}
    gateway.kill()
    gateway = house.up()
    house.say("home", "do effect #a")
    told = house.heard("home", MAY_I, MAY_I)
    gateway.stop()
    assert sum(MAY_I in text for text in told) == 2, "asked before the rule, and after it"
    assert house.times(EFFECTS, "a") == 2
    assert house.look("allowed")["allowed"] == []
    assert house.is_sound()


@pytest.mark.guards("R13")
def test_killed_while_the_agent_asks_and_again_after_the_answer_it_goes_on_from_it(house: House) -> None:
    house.hold("after wait")
    gateway = house.up()
    house.say("home", "do ask_person effect #a")
    house.heard("home", ASKED)
    house.reached("after wait")
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


@pytest.mark.guards("R5", "R13")
@pytest.mark.parametrize(
    ("place", "cuts", "settled"), [("before wait", 1, "settle_stale"), ("after wait", 0, "expire_questions")]
)
def test_killed_while_it_asks_and_started_three_days_later_nothing_goes_on_until_a_person_says_so(
    house: House, place: str, cuts: int, settled: str
) -> None:
    house.hold(place, "after record_delivery")
    gateway = house.up()
    house.say("home", "do ask_person effect #a")
    house.reached("after record_delivery")
    house.reached(place)
    gateway.kill()
    house.set_clock(3 * DAY)
    house.hold(f"after {settled}")
    gateway = house.up()
    house.reached(f"after {settled}").go()
    house.hold()
    assert (turn(house), questions(house)) == (("expired", cuts), [("expired", None)])
    assert (house.model_calls("a"), house.times(EFFECTS, "a")) == (1, 0)
    house.say("home", "/resume")
    told = house.heard("home", "answer to a")
    gateway.stop()
    assert told == [ASKED, "The conversation goes on. Everything said and done in it is kept.", told[-1]]
    assert house.times(EFFECTS, "a") == 1, "asked for, it is done"
    assert house.is_sound()


WAITING = "after wait"
UNRECORDED = ("before record_delivery", "before wait")
UNSENT = ("before claim_deliveries", "before wait")


@pytest.mark.guards("R5", "R13")
@pytest.mark.parametrize(("late", "state"), [(2 * HOUR - MINUTE, "done"), (3 * DAY, "expired")])
@pytest.mark.parametrize(
    ("places", "cuts"),
    [((WAITING,), 0), (UNRECORDED, 1), (UNSENT, 1)],
    ids=["waiting", "unrecorded", "unsent"],
)
def test_an_approval_that_expires_while_no_gateway_runs_is_refused_in_time_and_left_later(
    build: Build, places: tuple[str, ...], cuts: int, late: int, state: str
) -> None:
    house = build(CAREFUL)
    house.hold(*places)
    gateway = house.up()
    house.say("home", "do effect #a")
    for place in places:
        house.reached(place)
    gateway.kill()
    # Another run of the machine: within one, its own clock tells how old the work is, not the wall's.
    house.reboot()
    house.set_clock(late)
    house.hold()
    gateway = house.up()
    words = "answer to a" if state == "done" else "I asked for permission here"
    told = house.heard("home", words)
    gateway.kill()
    gateway = house.up()
    gateway.stop()
    assert (turn(house), house.times(EFFECTS, "a")) == ((state, cuts), 0)
    assert house.told("home") == told, "told once"
    assert house.model_calls("a") == (2 if state == "done" else 1)
    assert house.is_sound()
