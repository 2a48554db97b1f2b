"""Restarts that were asked for: by a person, an operator or the turn itself; each carried out once."""

import sqlite3
from contextlib import closing

import pytest

from tests.support.inside import EFFECTS
from tests.support.outside import Build, House

RESTART = 75


def test_a_restart_tells_running_chats_cuts_what_is_late_and_resumes_it(build: Build) -> None:
    house = build('drain.wait = "0s"\n')
    house.hold("read a")
    gateway = house.up(supervised=True)
    house.say("home", "do read #a")
    house.reached("read a")
    house.ask("restart")
    gateway.stopping()
    house.hold()
    gateway.ready()
    told = house.heard("home", "answer to a")
    gateway.stop()
    assert len(told) == 2, told
    assert "restarting" in told[0] and "try to resume" in told[0]
    (turn,) = house.turns("home")
    assert (turn["state"], turn["interruption"]) == ("done", "restart_timeout")
    assert [run["stopped"] for run in house.look("runs")["runs"]] == ["stopped", "restart"]


def test_messages_during_a_restart_are_kept_answered_after_it_and_told_so(house: House) -> None:
    house.hold("read a")
    gateway = house.up(supervised=True)
    house.say("home", "do read #a")
    running = house.reached("read a")
    house.ask("restart")
    gateway.stopping()
    house.heard("home", "restarting")
    said = [
        house.say(chat, f"do effect #{tag}") for chat, tag in (("home", "b"), ("home", "c"), ("new", "d"))
    ]
    assert all("restarting" in one["words"] and "kept" in one["words"] for one in said)
    running.go()
    gateway.ready()
    told = house.heard("home", "answer to c")
    house.heard("new", "answer to d")
    gateway.stop()
    answers = [text for text in told if text.startswith("answer")]
    assert answers == ["answer to a", "answer to b", "answer to c"]
    assert [house.times(EFFECTS, tag) for tag in "bcd"] == [1, 1, 1]


@pytest.mark.guards("R3.5", "E14")
def test_a_restart_said_in_a_chat_is_carried_out_once_however_often_it_is_delivered(house: House) -> None:
    gateway = house.up()
    house.say("home", "/restart", event_id="once")
    assert gateway.end() == RESTART
    gateway = house.up()
    again = house.say("home", "/restart", event_id="once")
    assert not again["fresh"]
    house.say("home", "do #a")
    told = house.heard("home", "answer to a")
    assert gateway.is_silent(), "it did not begin to stop"
    gateway.stop()
    assert sum("asked for a restart" in text for text in told) == 1


def test_a_restart_killed_while_it_was_being_carried_out_has_happened(house: House) -> None:
    places = ("after settle_request", "before settle_request", "before settle_row")
    for place in places:
        house.hold(place)
        gateway = house.up()
        house.say(place, "/restart")
        house.reached(place)
        gateway.kill()
    house.hold()
    gateway = house.up()
    for place in places:
        house.heard(place, "asked for")
    house.say("home", "do #a")
    assert house.heard("home", "answer to a") == ["answer to a"]
    assert gateway.is_silent(), "a process that has begun anew since is what was asked for"
    gateway.stop()


@pytest.mark.guards("R3.5")
def test_a_stop_left_in_the_ledger_does_not_end_the_next_start(house: House) -> None:
    house.up().stop()
    with closing(sqlite3.connect(house.home / "ledger.db")) as ledger, ledger:
        ledger.execute("INSERT INTO requests (what, dedupe, asked_at) VALUES ('stop', 'left', 1)")
    gateway = house.up()
    house.say("home", "do #a")
    assert house.heard("home", "answer to a") == ["answer to a"]
    assert gateway.is_silent()
    gateway.stop()


@pytest.mark.guards("R3.5", "C9", "C11", "G13")
def test_a_turn_that_asks_for_a_restart_is_answered_and_does_not_ask_again(house: House) -> None:
    gateway = house.up()
    house.say("home", "do restart #a")
    assert gateway.end() == RESTART
    gateway = house.up()
    house.heard("home", "answer to a")
    house.say("home", "do #b")
    told = house.heard("home", "answer to b")
    assert gateway.is_silent()
    gateway.stop()
    assert house.times(EFFECTS, "a") == 1
    assert sum(text == "answer to a" for text in told) == 1
    assert [turn["state"] for turn in house.turns("home")] == ["done", "done"]


def test_a_turn_killed_by_the_restart_it_asked_for_does_not_ask_again(build: Build) -> None:
    house = build('drain.wait = "0s"\n')
    house.hold("model a 1")
    gateway = house.up()
    house.say("home", "do restart #a")
    assert gateway.end() == RESTART
    house.hold()
    gateway = house.up()
    told = house.heard("home", "answer to a")
    assert gateway.is_silent()
    gateway.stop()
    assert sum(text == "answer to a" for text in told) == 1
    assert house.times(EFFECTS, "a") == 1
