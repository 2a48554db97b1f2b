"""Background processes beside a gateway that is killed: they go on, and their end is told once."""

import os
from pathlib import Path

import pytest

from tests.support.machine import alive, gone, open_gate
from tests.support.outside import Build, House

ENDED = "answer to The background process"


def told_of_the_end(house: House) -> int:
    return sum(ENDED in text for text in house.told("home"))


def started(house: House) -> int:
    """How often the command really began."""
    (folder,) = (house.home / "processes").iterdir()
    return (folder / "output.0").read_text().count("begun")


@pytest.mark.guards("R11.1", "R11.2", "F1")
def test_it_survives_the_gateway_is_found_again_and_its_end_wakes_once(house: House) -> None:
    gate = house.gate("a")
    gateway = house.up()
    house.say("home", "do background #a")
    house.heard("home", "answer to a")
    minder = house.minder()
    gateway.kill()
    assert alive(minder)
    gateway = house.up()
    (process,) = house.processes("home")
    assert (process["state"], process["pid"]) == ("running", minder)
    open_gate(gate, "still here\n")
    house.heard("home", ENDED)
    gateway.stop()
    gateway = house.up()
    gateway.stop()
    assert told_of_the_end(house) == 1
    assert "still here" in house.told("home")[-1]
    (process,) = house.processes("home")
    assert (process["state"], process["exit_code"]) == ("exited", 0)
    assert started(house) == 1
    assert house.is_sound()


@pytest.mark.guards("R11.2")
def test_what_ended_while_the_gateway_was_down_is_told_once(house: House) -> None:
    gate = house.gate("a")
    gateway = house.up()
    house.say("home", "do background #a")
    house.heard("home", "answer to a")
    minder = house.minder()
    gateway.kill()
    open_gate(gate)
    gone(minder)
    house.hold("after end_process")
    gateway = house.up()
    house.reached("after end_process")
    gateway.kill()
    house.hold()
    gateway = house.up()
    house.heard("home", ENDED)
    gateway.stop()
    assert told_of_the_end(house) == 1
    assert house.is_sound()


@pytest.mark.guards("R11.1", "R7.2")
@pytest.mark.parametrize("place", ["background a", "before its result"])
def test_killed_around_its_start_it_is_started_once_and_known(house: House, place: str) -> None:
    gate = house.gate("a")
    house.hold(place)
    gateway = house.up()
    house.say("home", "do background #a")
    house.reached(place)
    gateway.kill()
    house.hold()
    gateway = house.up()
    house.heard("home", "answer to a")
    (process,) = house.processes("home")
    assert process["pid"] == house.minder()
    open_gate(gate)
    house.heard("home", ENDED)
    gateway.stop()
    assert started(house) == 1
    assert told_of_the_end(house) == 1
    assert house.is_sound()


@pytest.mark.guards("R11.1")
def test_killed_after_its_start_and_stopped_by_a_person_it_is_taken_in_all_the_same(house: House) -> None:
    gate = house.gate("a")
    house.hold("before its result")
    gateway = house.up()
    house.say("home", "do background #a")
    house.reached("before its result")
    gateway.kill()
    house.hold("before claim_ready", "before adopt_process")
    gateway = house.up()
    house.reached("before claim_ready")
    house.say("home", "/stop")
    house.heard("home", "Stopped.")
    gateway.kill()
    house.hold("before claim_ready", "after end_process")
    gateway = house.up()
    open_gate(gate)
    house.reached("after end_process")
    gateway.kill()
    (process,) = house.processes("home")
    assert (process["pid"], process["state"], started(house)) == (house.minder(), "exited", 1)
    (waiting,) = house.look("session", session=process["session"])["waiting"]
    assert waiting["event_id"] == f"process:{process['id']}:ended"
    assert house.is_sound()


@pytest.mark.guards("R11.2", "F3")
def test_a_kill_that_was_cut_off_is_carried_out_again_and_nobody_is_woken(house: House) -> None:
    house.gate("a")
    gateway = house.up()
    house.say("home", "do background #a")
    house.heard("home", "answer to a")
    minder = house.minder()
    house.hold("before its result")
    house.say("home", "do killit #b")
    house.reached("before its result")
    assert not alive(minder)
    gateway.kill()
    house.hold()
    gateway = house.up()
    house.heard("home", "answer to b")
    gateway.stop()
    (process,) = house.processes("home")
    assert process["consumed"]
    assert told_of_the_end(house) == 0
    assert house.is_sound()


@pytest.mark.guards("R11.2")
def test_a_poll_that_has_shown_the_end_leaves_nothing_to_tell(house: House) -> None:
    gate = house.gate("a")
    gateway = house.up()
    house.say("home", "do background #a")
    house.heard("home", "answer to a")
    minder = house.minder()
    house.hold("poll b")
    house.say("home", "do poll #b")
    held = house.reached("poll b")
    open_gate(gate)
    gone(minder)
    house.hold()
    held.go()
    house.heard("home", "answer to b")
    gateway.stop()
    assert (house.processes("home")[0]["consumed"], told_of_the_end(house)) == (True, 0)


def test_a_process_knows_no_secret_of_the_gateway_and_is_in_no_session_of_it(house: House) -> None:
    house.gate("a")
    gateway = house.up()
    house.say("home", "do background #a")
    house.heard("home", "answer to a")
    given = Path(f"/proc/{house.minder()}/environ").read_bytes()
    names = {line.partition(b"=")[0].decode() for line in given.split(b"\0") if line}
    assert not {name for name in names if name.startswith("HOLDFAST")}
    assert "NOTIFY_SOCKET" not in names
    assert os.getsid(house.minder()) == house.minder()
    gateway.stop()


@pytest.mark.guards("R17")
@pytest.mark.parametrize("place", ["before finish", "after finish"])
def test_killed_around_the_end_of_a_goals_turn_the_next_is_queued_once(build: Build, place: str) -> None:
    house = build("goals.budget = 3\n")
    gateway = house.up()
    house.hold(place)
    house.say("home", "/goal tidy up")
    house.reached(place)
    gateway.kill()
    house.hold()
    gateway = house.up()
    house.heard("home", "This is turn 3 of at most 3", "have used all 3 turns")
    gateway.stop()
    answers = [text for text in house.told("home") if text.startswith("answer to Standing goal")]
    assert [f"This is turn {number} of" in text for number, text in enumerate(answers, 1)] == [True] * 3
    assert house.is_sound()
