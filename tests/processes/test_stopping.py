"""SIGTERM, a second signal, a kill in the drain: who is told what, and what the next start finds."""

import signal

import pytest

from tests.support.inside import EFFECTS, LETTERS_OUT, READS
from tests.support.outside import Build, House

GOING = "shutting down"


def fates(house: House, chat: str) -> list[tuple[str, str | None]]:
    return [(turn["state"], turn["interruption"]) for turn in house.turns(chat)]


def farewells(house: House, chat: str) -> int:
    return sum(GOING in text and "kept" not in text for text in house.told(chat))


@pytest.mark.guards("R3.2", "A1", "C5", "O12")
def test_a_finisher_is_simply_done_and_a_straggler_is_marked_and_resumed(build: Build) -> None:
    house = build('drain.wait = "3s"\n')
    house.hold("read quick", "read slow", "model idle 0")
    gateway = house.up()
    house.say("idle", "do #idle")
    house.reached("model idle 0").go()
    house.heard("idle", "answer to idle")
    house.say("one", "do read #quick")
    house.say("two", "do read #slow")
    quick = house.reached("read quick")
    house.reached("read slow")
    gateway.process.terminate()
    gateway.stopping()
    house.heard("one", GOING)
    house.heard("two", GOING, "try to resume")
    quick.go()
    house.heard("one", "answer to quick")
    assert gateway.end() == 0
    assert fates(house, "one") == [("done", None)]
    assert fates(house, "two") == [("interrupted", "shutdown_timeout")]
    assert house.told("idle") == ["answer to idle"], "nothing ran there, so nothing was said"
    house.hold()
    gateway = house.up()
    house.heard("two", "answer to slow")
    house.say("one", "do #next")
    house.heard("one", "answer to next")
    gateway.stop()
    assert (farewells(house, "one"), farewells(house, "two")) == (1, 1)
    assert fates(house, "two") == [("done", "shutdown_timeout")]
    assert [role for role, _, _ in house.shown("next")].count("note") == 0, "the finisher was not cut off"
    assert [role for role, _, _ in house.shown("slow")].count("note") == 1


@pytest.mark.guards("R3.1", "D1", "O1")
def test_messages_during_the_drain_are_kept_answered_after_it_and_told_so(house: House) -> None:
    house.hold("read a")
    gateway = house.up()
    house.say("home", "do read #a")
    running = house.reached("read a")
    gateway.process.terminate()
    gateway.stopping()
    house.heard("home", GOING)
    same = house.say("home", "do #b")
    other = house.say("elsewhere", "do effect #c")
    assert "kept" in same["words"] and GOING in same["words"]
    assert "kept" in other["words"]
    running.go()
    assert gateway.end() == 0
    assert house.turns("elsewhere") == [], "no turn begins in a drain"
    assert house.times(EFFECTS, "c") == 0
    house.hold()
    gateway = house.up()
    told = house.heard("home", "answer to b")
    house.heard("elsewhere", "answer to c")
    gateway.stop()
    assert [text for text in told if "answer" in text] == ["answer to a", "answer to b"]
    assert fates(house, "home") == [("done", None), ("done", None)]
    assert house.times(EFFECTS, "c") == 1


def test_a_second_signal_ends_the_wait_and_marks_what_it_cuts(build: Build) -> None:
    house = build('drain.wait = "10m"\ngrace = "0s"\n')
    house.hold("after effect a", "model b 0")
    gateway = house.up()
    house.say("one", "do effect #a")
    house.say("two", "do read #b")
    house.reached("after effect a")
    house.reached("model b 0")
    gateway.process.send_signal(signal.SIGINT)
    gateway.stopping()
    house.heard("one", GOING)
    gateway.process.send_signal(signal.SIGTERM)
    assert gateway.end() == 0
    assert fates(house, "one") == fates(house, "two") == [("interrupted", "shutdown_timeout")]
    house.hold()
    gateway = house.up()
    house.heard("one", "answer to a")
    house.heard("two", "answer to b")
    gateway.stop()
    assert house.times(EFFECTS, "a") == 1
    assert sum(state == "unknown" for _, _, state in house.shown("a")) == 1


@pytest.mark.guards("R3.2", "A5", "G3")
def test_killed_in_the_drain_its_work_goes_on_like_after_any_crash(house: House) -> None:
    house.hold("read a")
    gateway = house.up()
    house.say("home", "do read #a")
    house.reached("read a")
    gateway.process.terminate()
    gateway.stopping()
    house.heard("home", GOING)
    house.say("home", "do #b")
    gateway.kill()
    house.hold()
    gateway = house.up()
    assert house.ask("continuity")["continuity"]["previous_ended"] == "crashed"
    house.heard("home", "answer to a,b")
    gateway.stop()
    assert fates(house, "home") == [("done", "restart_interrupted")]
    assert farewells(house, "home") == 1
    assert house.times(READS, "a") == 2


def test_killed_while_it_marks_what_it_cuts_every_turn_goes_on(build: Build) -> None:
    house = build('drain.wait = "0s"\n')
    house.hold("read a", "read b", "after interrupt")
    gateway = house.up()
    house.say("one", "do read #a")
    house.say("two", "do read #b")
    house.reached("read a")
    house.reached("read b")
    gateway.process.terminate()
    house.reached("after interrupt")
    gateway.kill()
    house.hold()
    gateway = house.up()
    assert "answer to a" in house.heard("one", "answer to a")
    assert "answer to b" in house.heard("two", "answer to b")
    gateway.stop()
    assert [turn["interruptions"] for chat in ("one", "two") for turn in house.turns(chat)] == [1, 1]


def test_a_drain_waits_for_a_reply_that_is_owed(house: House) -> None:
    house.hold("before sending")
    gateway = house.up()
    house.write("ann", "do #a")
    sending = house.reached("before sending")
    gateway.process.terminate()
    gateway.stopping()
    for _ in range(20):
        assert house.ask("status")["state"] == "draining", "nothing runs, but something is owed"
    sending.go()
    assert gateway.end() == 0
    assert [(line["text"], line["repeated"]) for line in house.seen(LETTERS_OUT)] == [("answer to a", False)]


@pytest.mark.guards("R4.4", "C3")
def test_five_restarts_with_nothing_to_do_make_no_turn_and_no_message(house: House) -> None:
    gateway = house.up()
    house.say("home", "do effect #a")
    house.heard("home", "answer to a")
    gateway.stop()
    before = (house.turns("home"), house.told("home"), house.seen("model"))
    for number in range(5):
        gateway = house.up()
        instance = house.ask("status")["instance"]
        while instance not in [one["instance"] for one in house.ask("continuity")["reports"]]:
            pass  # until recovery has looked
        if number % 2:
            gateway.kill()
        else:
            gateway.stop()
    assert (house.turns("home"), house.told("home"), house.seen("model")) == before
    assert len(house.look("sessions")["sessions"]) == 1
