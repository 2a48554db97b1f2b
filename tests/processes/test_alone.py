"""Two processes on one home."""

import pytest

from tests.support.inside import CONNECTIONS
from tests.support.outside import House

REFUSED = 1
"""As good as any failure for whoever started it: it may try again until the home is free."""


@pytest.mark.guards("G5", "B9")
def test_a_second_process_is_refused_before_it_connects_and_names_the_first(house: House) -> None:
    house.hold("read a")
    first = house.up()
    house.say("home", "do read #a")
    running = house.reached("read a")
    second = house.starting()
    assert second.end() == REFUSED
    assert f"process {first.process.pid}" in second.words
    assert {line["pid"] for line in house.seen(CONNECTIONS)} == {first.process.pid}
    assert house.turns("home")[0]["state"] == "running", "what the first one does goes on"
    running.go()
    house.heard("home", "answer to a")
    first.stop()
    assert len(house.look("runs")["runs"]) == 1, "the second one was never a run"


@pytest.mark.guards("G5", "H3")
def test_a_process_that_hangs_in_its_end_keeps_its_home_until_it_is_gone(house: House) -> None:
    house.hold("before end_instance")
    first = house.up()
    first.process.terminate()
    house.reached("before end_instance")
    second = house.starting()
    assert second.end() == REFUSED
    first.kill()
    house.hold()
    third = house.up()
    assert house.ask("continuity")["continuity"]["previous_ended"] == "crashed"
    third.stop()
