"""Work that hangs, freezes or kills: it is ended, and it alone."""

import signal

import pytest

from tests.support.inside import READS
from tests.support.outside import Build, House


@pytest.mark.guards("R12")
def test_a_turn_without_progress_is_aborted_told_once_and_not_taken_up_again(build: Build) -> None:
    house = build('progress.warn = "1s"\nprogress.abort = "1s"\ngrace = "0s"\n')
    gateway = house.up()
    house.say("home", "do hang #a")
    told = house.heard("home", "progress")
    house.say("home", "do #b")
    house.heard("home", "answer to a,b")
    gateway.stop()
    assert [turn["state"] for turn in house.turns("home")] == ["failed", "done"]
    before = house.told("home")
    gateway = house.up()
    house.say("other", "do #c")
    house.heard("other", "answer to c")
    gateway.stop()
    assert house.told("home") == before
    assert len(told) == 1
    assert house.model_calls("a") == 2, "once for the work, and once for what came after it"


@pytest.mark.guards("R4.2", "C20")
def test_with_two_workers_a_resume_that_hangs_keeps_no_healthy_chat_waiting(build: Build) -> None:
    house = build('workers = 2\nresume.counts = "1s"\n')
    house.hold("read a", "read b")
    gateway = house.up()
    for tag in ("a", "b"):
        house.say(tag, f"do read #{tag}")
        house.reached(f"read {tag}")
    gateway.kill()
    house.hold("read a")
    gateway = house.up()
    house.heard("b", "answer to b")
    house.say("c", "do #c")
    house.heard("c", "answer to c")
    gateway.kill()
    assert house.told("a") == [], "it hangs all the while"


@pytest.mark.guards("R3.3", "G17")
def test_a_frozen_process_is_ended_by_its_watchdog_and_the_next_one_goes_on(build: Build) -> None:
    house = build('watchdog.loop = "1s"\n')
    house.hold("freeze a")
    gateway = house.up()
    house.say("home", "do freeze read #a")
    assert gateway.end() == -signal.SIGABRT
    assert " hung for " in gateway.words
    assert "in _freeze" in gateway.words, "where it stood is told"
    house.hold()
    gateway = house.up()
    assert house.heard("home", "answer to a") == ["answer to a"]
    gateway.stop()
    assert house.turns("home")[0]["interruption"] == "restart_interrupted"


@pytest.mark.guards("R3.3", "G7")
def test_a_process_frozen_in_its_drain_is_ended_too(build: Build) -> None:
    house = build('watchdog.loop = "1s"\n')
    house.hold("read a", "freeze a")
    gateway = house.up()
    house.say("home", "do read freeze read #a")
    reading = house.reached("read a")
    gateway.process.terminate()
    gateway.stopping()
    reading.go()
    assert gateway.end() == -signal.SIGABRT
    house.hold()
    gateway = house.up()
    house.heard("home", "answer to a")
    gateway.stop()
    assert house.times(READS, "a") == 3, "two reads, and the freeze which says so, too"


@pytest.mark.guards("R8.1", "C12")
def test_a_turn_that_kills_the_process_is_parked_after_three_and_no_other_is(house: House) -> None:
    innocents = [f"i{number}" for number in range(3)]
    house.hold(*(f"model {tag} 0" for tag in innocents))
    gateway = house.up()
    for tag in innocents:
        house.say(tag, f"do read #{tag}")
        house.reached(f"model {tag} 0")
    house.say("bad", "do poison #bad")
    deaths = 0
    while gateway.end() == -9:
        deaths += 1
        if deaths == 2:
            house.hold()
        gateway = house.starting()
        if deaths == 3:
            break
    gateway.ready()
    house.say("fresh", "do #fresh")
    house.heard("fresh", "answer to fresh")
    for tag in innocents:
        assert f"answer to {tag}" in house.heard(tag, f"answer to {tag}")
    told = house.heard("bad", "parked")
    house.say("bad", "do #after")
    house.heard("bad", "answer to after")
    gateway.stop()
    assert deaths == 3
    assert [turn["state"] for turn in house.turns("bad")] == ["parked", "done"]
    assert [house.turns(tag)[0]["state"] for tag in innocents] == ["done"] * 3
    assert sum("parked" in text for text in told) == 1


@pytest.mark.guards("R8.6", "R8.1")
def test_restarts_that_cut_a_silent_model_park_its_session_in_true_words(build: Build) -> None:
    house = build('drain.wait = "0s"\n')
    house.hold("model a 0")
    for _ in range(3):
        gateway = house.up()
        if not house.turns("home"):
            house.say("home", "do #a")
        house.reached("model a 0")
        gateway.process.terminate()
        assert gateway.end() == 0
    gateway = house.up()
    *_, told = house.heard("home", "so I parked this conversation")
    gateway.stop()
    cut = "3 restarts of the gateway cut this work off before it made any progress"
    assert told.startswith(f"{cut}, so I parked this conversation. All of it is kept.")
    assert "crash" not in told


@pytest.mark.guards("R8.4")
def test_poison_that_is_repeated_kills_once_more_each_time_and_then_waits_for_the_owner(build: Build) -> None:
    house = build("safe_mode.exits = 100\n")
    deaths, gateway = 0, house.up()
    for parks, more in ((1, 3), (2, 1), (3, 1)):
        house.say("bad", f"do poison #p{parks}")
        for _ in range(more):
            assert gateway.end() == -9
            deaths += 1
            gateway = house.starting()
        gateway.ready()
        while sum("so I parked" in text for text in house.told("bad")) < parks:
            pass
    house.say("bad", "do poison #p4")
    house.say("bad", "do #harmless")
    house.heard("bad", "on hold", "on hold")
    house.say("other", "do #c")
    house.heard("other", "answer to c")
    gateway.kill()
    gateway = house.up()
    assert deaths == 5
    assert house.ask("overview")["counts"]["on_hold"] == 1
    (held,) = house.ask("held")["held"]
    assert (held["kind"], held["text"]) == ("conversation", "parked too often; 2 messages wait")
    found = house.ask("sessions", state="parked")["sessions"]
    assert len(found) == 3, "also those that a fresh session has followed"
    house.ask("release", items=held["item"], drop=True)
    house.say("bad", "do #after")
    house.heard("bad", "answer to after")
    assert house.ask("held")["held"] == []
    gateway.stop()
