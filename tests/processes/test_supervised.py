"""The parent: which ends of a gateway it answers with a new one."""

import os
import signal

import pytest

from tests.support.commands import Spoken, command, gateway_pid
from tests.support.inside import EFFECTS
from tests.support.outside import House

BAD_CONFIG = 78


def test_a_killed_gateway_comes_back_and_its_work_goes_on(house: House) -> None:
    house.hold("after effect a")
    parent = house.up(supervised=True)
    house.say("home", "do effect read #a")
    house.reached("after effect a")
    house.hold()
    os.kill(gateway_pid(house.home), signal.SIGKILL)
    parent.ready()
    assert house.heard("home", "answer to a") == ["answer to a"]
    parent.stop()
    assert house.times(EFFECTS, "a") == 1
    assert [run["stopped"] for run in house.look("runs")["runs"]] == ["stopped", None]


@pytest.mark.guards("R3.4", "G1")
def test_a_gateway_ended_by_anybody_but_its_parent_is_started_again(house: House) -> None:
    parent = house.up(supervised=True)
    first = gateway_pid(house.home)
    os.kill(first, signal.SIGTERM)
    parent.stopping()
    parent.ready()
    assert gateway_pid(house.home) != first
    assert "ended with 0" in parent.words
    parent.stop()


@pytest.mark.guards("R3.4", "R16")
def test_a_restart_that_finds_a_bad_configuration_is_not_tried_again(house: House) -> None:
    parent = house.up(supervised=True)
    with (house.home / "holdfast.toml").open("a") as file:
        file.write("workers = 0\n")
    house.ask("restart")
    assert parent.end() == BAD_CONFIG
    assert "ended with 75; starting it again\n" in parent.words
    assert "workers = 0" in parent.words


def test_a_signal_to_the_parent_is_a_drain_of_the_gateway_and_a_second_one_ends_it(house: House) -> None:
    house.hold("read a")
    parent = house.up(supervised=True)
    house.say("home", "do read #a")
    house.reached("read a")
    parent.process.terminate()
    parent.stopping()
    house.heard("home", "shutting down")
    parent.process.terminate()
    assert parent.end() == 0
    (turn,) = house.turns("home")
    assert (turn["state"], turn["interruption"]) == ("interrupted", "shutdown_timeout")


@pytest.mark.guards("R3.4")
def test_a_stop_ends_an_orphan_and_the_parent_that_waits_for_its_home(house: House) -> None:
    house.up(supervised=True).kill()
    waiting = Spoken("up", "--home", house.home, errors=True)
    waiting.until("starting it again")
    try:
        assert command("stop", "--home", house.home).code == 0
        assert waiting.process.poll() == 0, "it would start another gateway"
    finally:
        waiting.drop()
    assert [run["stopped"] for run in house.look("runs")["runs"]] == ["stopped"]


@pytest.mark.guards("R16")
@pytest.mark.parametrize("at", [0, 4096])
def test_a_damaged_ledger_is_named_left_as_it_is_and_not_started_on_again_and_again(
    house: House, at: int
) -> None:
    house.up(supervised=True).stop()
    ledger = house.home / "ledger.db"
    whole = ledger.read_bytes()
    damaged = whole[:at] + b"damage! " * 4096 + whole[at + 8 * 4096 :]
    ledger.write_bytes(damaged)
    refused = house.starting(supervised=True)
    assert refused.end() == BAD_CONFIG
    assert "is damaged" in refused.words and "`holdfast restore`" in refused.words
    assert "Traceback" not in refused.words
    assert ledger.read_bytes() == damaged
    ledger.write_bytes(whole)
    house.up(supervised=True).stop()
