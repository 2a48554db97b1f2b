"""Ends that something tries to hold up."""

import os
import threading

import pytest

from holdfast.api.client import NotRunning, RequestDeclined
from tests.support.outside import Build, House


@pytest.mark.guards("R3.3", "G6")
@pytest.mark.parametrize("hindrance", ["thread", "stubborn"])
def test_what_cannot_be_cancelled_holds_up_no_orderly_end(build: Build, hindrance: str) -> None:
    house = build('drain.wait = "0s"\ngrace = "0s"\n')
    house.hold(f"{hindrance} a", "read b")
    gateway = house.up()
    house.say("home", f"do {hindrance} #a")
    house.say("other", "do read #b")
    house.reached("read b")
    gateway.process.terminate()
    assert gateway.end() == 0, gateway.words
    (turn,) = house.turns("home")
    assert (turn["state"], turn["interruption"]) == ("interrupted", "shutdown_timeout")
    assert house.look("runs")["runs"][0]["stopped"] == "stopped"
    house.hold()
    gateway = house.up()
    house.heard("home", "answer to a")
    gateway.stop()


def test_a_log_that_nobody_reads_any_more_changes_no_end(house: House) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    gateway = house.starting(stderr=writing).ready()
    os.close(writing)
    house.say("home", "do effect #a")
    house.heard("home", "answer to a")
    gateway.stop()


def test_a_message_that_comes_too_late_is_not_confirmed_and_holds_up_nothing(house: House) -> None:
    house.hold("before end_instance")
    gateway = house.up()
    gateway.process.terminate()
    ending = house.reached("before end_instance")
    outcome: list[object] = []

    def say() -> None:
        try:
            outcome.append(house.say("home", "do #a", event_id="late"))
        except (NotRunning, RequestDeclined) as refusal:
            outcome.append(refusal)

    late = threading.Thread(target=say)
    late.start()
    ending.go()
    assert gateway.end() == 0
    late.join()
    assert isinstance(outcome[0], (NotRunning, RequestDeclined)), (
        "whoever wrote it knows that it was not kept"
    )
    house.hold()
    gateway = house.up()
    assert house.say("home", "do #a", event_id="late")["fresh"]
    assert house.heard("home", "answer to a") == ["answer to a"]
    gateway.stop()
