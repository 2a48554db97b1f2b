"""A wall clock that jumps between two runs."""

import pytest

from tests.support.inside import EFFECTS, READS
from tests.support.outside import House

HOUR = 3_600_000
DAY = 24 * HOUR


def cut_off(house: House, tag: str) -> None:
    house.hold(f"read {tag}")
    gateway = house.up()
    house.say(tag, f"do effect read #{tag}")
    house.reached(f"read {tag}")
    gateway.kill()
    house.hold()


def test_a_clock_set_back_makes_no_work_old_and_mixes_up_no_order(house: House) -> None:
    cut_off(house, "a")
    house.set_clock(-2 * DAY)
    gateway = house.up()
    house.heard("a", "answer to a")
    house.say("a", "do effect #b")
    told = house.heard("a", "answer to b")
    gateway.stop()
    assert told == ["answer to a", "answer to b"]
    assert [turn["state"] for turn in house.turns("a")] == ["done", "done"]
    assert (house.times(EFFECTS, "a"), house.times(READS, "a")) == (1, 2)
    assert house.is_sound()


@pytest.mark.guards("R5", "C4")
def test_a_clock_set_forward_makes_no_work_old_while_the_machine_runs_on(house: House) -> None:
    cut_off(house, "a")
    house.set_clock(2 * DAY)
    gateway = house.up()
    told = house.heard("a", "answer to a")
    gateway.stop()
    assert told == ["answer to a"]
    assert (house.times(EFFECTS, "a"), house.times(READS, "a")) == (1, 2)
    assert house.is_sound()


@pytest.mark.guards("R5", "C4", "C17")
def test_after_a_start_of_the_machine_the_wall_clock_tells_what_is_old(house: House) -> None:
    cut_off(house, "a")
    house.set_clock(2 * DAY)
    house.reboot()
    gateway = house.up()
    told = house.heard("a", "")
    assert "answer to a" not in told
    house.say("a", "do effect #b")
    house.heard("a", "answer to a,b")
    gateway.kill()
    house.set_clock(0)
    gateway = house.up()
    house.say("a", "do #c")
    told = house.heard("a", "answer to c")
    gateway.stop()
    assert [turn["state"] for turn in house.turns("a")] == ["expired", "done", "done"]
    assert [text for text in told if "answer" in text] == ["answer to a,b", "answer to c"]
    assert house.times(READS, "a") == 1, "what had become old was not run"
    assert house.is_sound()
