"""SIGKILL at every place of a turn's work: nothing said is lost, nothing done is done again."""

import pytest

from tests.support.inside import EFFECTS, READS
from tests.support.outside import Build, House

CUT_OFF = "restart_interrupted"


def states(house: House, chat: str) -> list[str]:
    return [turn["state"] for turn in house.turns(chat)]


def unknowns(house: House, tag: str) -> int:
    """How many results of unknown outcome the model was shown when it was last called."""
    return sum(state == "unknown" for _, _, state in house.shown(tag))


def notes(house: House, tag: str) -> int:
    return sum(role == "note" for role, _, _ in house.shown(tag))


@pytest.mark.guards("B1")
def test_killed_after_a_message_was_kept_and_before_its_turn_began_it_is_answered_once(house: House) -> None:
    house.hold("before claim_ready")
    gateway = house.up()
    house.reached("before claim_ready")
    house.say("home", "do effect #a")
    gateway.kill()
    house.hold()
    gateway = house.up()
    assert house.heard("home", "answer to a") == ["answer to a"]
    gateway.stop()
    (turn,) = house.turns("home")
    assert (turn["state"], turn["interruptions"]) == ("done", 0), "it had not begun, so nothing was cut off"
    assert house.times(EFFECTS, "a") == 1
    assert notes(house, "a") == 0


@pytest.mark.guards("A6", "B1")
def test_killed_in_a_model_call_the_model_is_asked_again_with_one_note(house: House) -> None:
    house.hold("model a 0")
    gateway = house.up()
    house.say("home", "do read #a")
    house.reached("model a 0")
    gateway.kill()
    house.hold()
    gateway = house.up()
    assert house.heard("home", "answer to a") == ["answer to a"]
    gateway.stop()
    (turn,) = house.turns("home")
    assert (turn["state"], turn["interruption"], turn["interruptions"]) == ("done", CUT_OFF, 1)
    assert notes(house, "a") == 1
    assert house.times(READS, "a") == 1


@pytest.mark.guards("R7.2", "C9")
def test_killed_in_an_effect_it_is_never_repeated_and_shown_as_unknown_once(house: House) -> None:
    house.hold("before effect a", "after effect b")
    gateway = house.up()
    house.say("one", "do effect read #a")
    house.say("two", "do effect read #b")
    house.reached("before effect a")
    house.reached("after effect b")
    gateway.kill()
    house.hold()
    gateway = house.up()
    assert house.heard("one", "answer to a") == ["answer to a"]
    assert house.heard("two", "answer to b") == ["answer to b"]
    gateway.stop()
    assert (house.times(EFFECTS, "a"), house.times(EFFECTS, "b")) == (0, 1), (
        "happened or not, it is not tried"
    )
    assert (unknowns(house, "a"), unknowns(house, "b")) == (1, 1)
    assert states(house, "one") == states(house, "two") == ["done"]
    assert house.is_sound()


@pytest.mark.guards("R7.2")
def test_killed_in_a_reply_with_effects_inside_nothing_is_paid_twice(build: Build) -> None:
    house = build('routes = {"web/main/*" = "inside:payer"}\n')
    house.hold("paid bill")
    gateway = house.up()
    house.say("home", "bill")
    house.reached("paid bill")
    gateway.kill()
    house.hold()
    gateway = house.up()
    (told,) = house.heard("home", "may or may not have happened")
    assert "nothing was repeated" in told
    house.say("home", "go on")
    assert house.heard("home", "paid go on") == [told, "paid go on"]
    gateway.stop()
    assert (house.times(EFFECTS, "bill"), house.times(EFFECTS, "go on")) == (1, 1)
    assert states(house, "home") == ["expired", "done"]
    assert notes(house, "go on") == 1
    assert house.is_sound()


def test_killed_in_a_read_it_is_run_again_and_nothing_is_unknown(house: House) -> None:
    house.hold("read a")
    gateway = house.up()
    house.say("home", "do effect read #a")
    house.reached("read a")
    gateway.kill()
    house.hold()
    gateway = house.up()
    house.heard("home", "answer to a")
    gateway.stop()
    assert house.times(READS, "a") == 2
    assert house.times(EFFECTS, "a") == 1, "the step before it was finished"
    assert unknowns(house, "a") == 0


def test_killed_after_a_tool_a_result_that_was_kept_stays_and_one_that_was_not_is_unknown(
    house: House,
) -> None:
    house.hold("model kept 1")
    gateway = house.up()
    house.say("one", "do effect #kept")
    house.reached("model kept 1")
    house.hold("before its result")
    house.say("two", "do effect #returned")
    house.reached("before its result")
    gateway.kill()
    house.hold()
    gateway = house.up()
    assert house.heard("one", "answer to kept") == ["answer to kept"]
    assert house.heard("two", "answer to returned") == ["answer to returned"]
    gateway.stop()
    assert (house.times(EFFECTS, "kept"), house.times(EFFECTS, "returned")) == (1, 1)
    assert (unknowns(house, "kept"), unknowns(house, "returned")) == (0, 1)


def test_killed_before_an_answer_is_kept_it_is_made_again_and_after_it_is_only_delivered(
    house: House,
) -> None:
    house.hold("after finish")
    gateway = house.up()
    house.say("one", "do #a")
    house.reached("after finish")
    house.hold("before finish")
    house.say("two", "do #b")
    house.reached("before finish")
    gateway.kill()
    house.hold()
    gateway = house.up()
    assert house.heard("one", "answer to a") == ["answer to a"]
    assert house.heard("two", "answer to b") == ["answer to b"]
    gateway.stop()
    assert (house.model_calls("a"), house.model_calls("b")) == (1, 2)
    assert states(house, "one") == states(house, "two") == ["done"]


def test_killed_twice_in_a_row_the_work_goes_on_and_the_model_reads_one_note(house: House) -> None:
    house.hold("model a 1")
    gateway = house.up()
    house.say("home", "do effect #a")
    house.reached("model a 1")
    gateway.kill()
    gateway = house.up()
    house.reached("model a 1")
    gateway.kill()
    house.hold()
    gateway = house.up()
    assert house.heard("home", "answer to a") == ["answer to a"]
    gateway.stop()
    (turn,) = house.turns("home")
    assert (turn["state"], turn["interruptions"]) == ("done", 2)
    assert notes(house, "a") == 1, "the later note stands for the earlier one"
    assert house.times(EFFECTS, "a") == 1


@pytest.mark.guards("R4.4")
def test_killed_in_recovery_is_an_ordinary_crash(house: House) -> None:
    house.hold("read a")
    gateway = house.up()
    house.say("home", "do read #a")
    house.reached("read a")
    gateway.kill()
    for place in ("after interrupt_orphans", "before settle_stale", "after settle_stale"):
        house.hold(place, "before claim_ready")
        gateway = house.up()
        house.reached(place)
        gateway.kill()
    house.hold()
    gateway = house.up()
    assert house.heard("home", "answer to a") == ["answer to a"]
    gateway.stop()
    (turn,) = house.turns("home")
    assert (turn["state"], turn["interruptions"]) == ("done", 1), "it was cut off once, whoever found it"
    assert house.times(READS, "a") == 2
    assert notes(house, "a") == 1


@pytest.mark.guards("R4.3", "R6.3", "C1")
def test_a_message_that_came_with_the_resume_is_answered_after_the_unfinished_work(house: House) -> None:
    house.hold("read a")
    gateway = house.up()
    house.say("home", "do read #a")
    house.reached("read a")
    gateway.kill()
    house.hold("before claim_ready")
    gateway = house.up()
    house.reached("before claim_ready")
    house.say("home", "do read #b")
    gateway.kill()
    house.hold()
    gateway = house.up()
    told = house.heard("home", "answer to")
    gateway.stop()
    assert sum("answer to" in text for text in house.told("home")) == 1, told
    assert "answer to a,b" in house.told("home")
    assert states(house, "home") == ["done"]
