"""SIGKILL around a send, on a platform that cannot be asked and knows no keys."""

import pytest

from tests.support.inside import EFFECTS, LETTERS_OUT
from tests.support.outside import House


def letters(house: House) -> list[tuple[str, bool]]:
    """What arrived, and whether it says that it may be a repeat."""
    return [(line["text"], line["repeated"]) for line in house.seen(LETTERS_OUT)]


@pytest.mark.guards("R10.2", "E1", "B3")
def test_killed_before_a_send_began_the_reply_goes_out_once_and_unmarked(house: House) -> None:
    house.hold("before finish")
    gateway = house.up()
    house.write("ann", "do effect #a")
    finishing = house.reached("before finish")
    house.hold("after finish", "before claim_deliveries")
    finishing.go()
    house.reached("after finish")
    house.reached("before claim_deliveries")
    gateway.kill()
    house.hold("after sending")
    gateway = house.up()
    house.reached("after sending").go()
    gateway.stop()
    assert letters(house) == [("answer to a", False)]
    assert (house.model_calls("a"), house.times(EFFECTS, "a")) == (2, 1), "nothing was made anew for it"


@pytest.mark.guards("R10.2", "E1")
def test_killed_after_a_send_and_before_its_record_the_repeat_says_so_and_comes_first(house: House) -> None:
    house.hold("after sending")
    gateway = house.up()
    house.write("ann", "do #a")
    house.reached("after sending")
    gateway.kill()
    house.write("ann", "do #b")
    gateway = house.up()
    house.reached("after sending").go()
    house.reached("after sending").go()
    gateway.stop()
    assert letters(house) == [("answer to a", False), ("answer to a", True), ("answer to b", False)]
    assert house.model_calls("a") == 1


def test_killed_in_a_send_that_never_left_the_reply_still_comes(house: House) -> None:
    house.hold("before sending")
    gateway = house.up()
    house.write("ann", "do #a")
    house.reached("before sending")
    gateway.kill()
    house.hold("after sending")
    gateway = house.up()
    house.reached("after sending").go()
    gateway.stop()
    assert letters(house) == [("answer to a", True)], "nobody can know that it did not arrive"


@pytest.mark.guards("D5", "D6")
def test_letters_written_while_nobody_read_are_answered_in_order_and_once(house: House) -> None:
    house.up().stop()
    house.write("ann", "do #a")
    house.write("ann", "do #b")
    house.hold("after sending")
    gateway = house.up()
    house.reached("after sending").go()
    house.reached("after sending").go()
    gateway.stop()
    house.hold()
    house.up().stop()
    assert letters(house) == [("answer to a", False), ("answer to b", False)]


def test_killed_right_after_letters_were_kept_they_are_read_once(house: House) -> None:
    house.hold("after accept", "before claim_ready")
    gateway = house.up()
    house.write("ann", "do effect #a")
    house.reached("after accept")
    gateway.kill()
    house.write("elsewhere", "do effect #b")
    house.hold("after sending")
    gateway = house.up()
    house.reached("after sending").go()
    house.reached("after sending").go()
    gateway.stop()
    assert sorted(letters(house)) == [("answer to a", False), ("answer to b", False)]
    assert (house.times(EFFECTS, "a"), house.times(EFFECTS, "b")) == (1, 1)
