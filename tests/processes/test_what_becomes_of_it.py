"""Work that a crash cut off and that is not simply resumed: stopped, asked about, held, or not allowed."""

import pytest

from tests.support.backends import SqliteBackend
from tests.support.commands import as_json
from tests.support.inside import LETTERS_OUT, READS
from tests.support.outside import SETTINGS, Build, House, Up


def cut_off(house: House, gateway: Up, tag: str = "a", steps: str = "read") -> None:
    """Let a turn begin and kill the process in it."""
    house.hold(f"read {tag}")
    house.say("home", f"do {steps} #{tag}")
    house.reached(f"read {tag}")
    gateway.kill()
    house.hold()


def states(house: House) -> list[str]:
    return [turn["state"] for turn in house.turns("home")]


@pytest.mark.guards("R7.4")
def test_a_stop_survives_the_kill_that_came_before_it_was_carried_out(build: Build) -> None:
    house = build('grace = "5m"\n')
    house.hold("stubborn a")
    gateway = house.up()
    house.say("home", "do stubborn #a")
    while not house.seen(READS):
        pass
    house.say("home", "/stop")
    house.heard("home", "top")
    gateway.kill()
    house.hold()
    gateway = house.up()
    house.say("home", "do #b")
    told = house.heard("home", "answer to")
    gateway.stop()
    house.up().stop()
    assert states(house) == ["cancelled", "done"]
    assert house.times(READS, "a") == 1
    assert [role for role, _, _ in house.shown("b")].count("note") == 0
    assert house.told("home")[: len(told)] == told


def test_work_that_was_cut_off_and_then_stopped_stays_stopped(house: House) -> None:
    gateway = house.up()
    cut_off(house, gateway)
    house.hold("before claim_ready", "before settle_stale")
    gateway = house.up()
    house.reached("before settle_stale")
    house.say("home", "/stop")
    while states(house) != ["cancelled"]:
        pass
    gateway.kill()
    house.hold()
    gateway = house.up()
    house.say("home", "do #b")
    house.heard("home", "answer to")
    gateway.stop()
    assert states(house) == ["cancelled", "done"]
    assert house.times(READS, "a") == 1


@pytest.mark.guards("R6.4", "R13")
def test_a_chat_that_wants_to_be_asked_is_asked_once_and_its_answer_counts_after_another_kill(
    build: Build,
) -> None:
    house = build('on_interruption = "ask"\ndrain.wait = "0s"\n')
    gateway = house.up()
    house.hold("read a")
    house.say("home", "do read #a")
    house.reached("read a")
    gateway.process.terminate()
    assert gateway.end() == 0
    assert "try to resume" not in house.told("home")[0], "it is told what will really happen"
    assert "ask" in house.told("home")[0]
    house.hold()
    gateway = house.up()
    house.heard("home", "shutting down", "Shall I continue")
    gateway.kill()
    gateway = house.up()
    house.say("home", "continue")
    told = house.heard("home", "answer to a")
    gateway.stop()
    assert len(told) == 3, told
    assert states(house) == ["done"]
    assert house.times(READS, "a") == 2


@pytest.mark.guards("R8.3")
def test_in_safe_mode_held_work_is_told_and_goes_on_with_the_next_message_in_its_chat(build: Build) -> None:
    house = build("safe_mode.exits = 2\n")
    gateway = house.up()
    cut_off(house, gateway)
    house.hold("before claim_ready")
    gateway = house.up()
    house.reached("before claim_ready")
    gateway.kill()
    house.hold()
    gateway = house.up()
    house.heard("home", "paused")
    assert house.ask("status")["safe_mode"]["active"]
    house.say("other", "do #b")
    assert house.heard("other", "answer to b") == ["answer to b"]
    assert states(house) == ["interrupted"]
    house.say("home", "do #c")
    told = house.heard("home", "answer to")
    gateway.stop()
    assert states(house) == ["done"], "the message was answered in the work it released"
    assert house.times(READS, "a") == 2
    assert sum("paused" in text for text in told) == 1, told


@pytest.mark.guards("R5", "R14", "C18")
def test_work_of_somebody_who_is_no_longer_allowed_does_not_go_on(house: House) -> None:
    house.hold("read a")
    gateway = house.up()
    house.write("ann", "do read #a")
    house.reached("read a")
    gateway.kill()
    house.hold()
    (house.home / "holdfast.toml").write_text(SETTINGS.replace("letters:ann", "letters:bob"))
    gateway = house.up()
    while house.turns("ann")[0]["state"] in ("running", "interrupted"):
        pass
    gateway.stop()
    (turn,) = house.turns("ann")
    assert (turn["state"], turn["why"]) == ("cancelled", "not_allowed")
    assert house.times(READS, "a") == 1
    assert "answer to a" not in [line["text"] for line in house.seen(LETTERS_OUT)]


@pytest.mark.guards("R1.5", "R16")
def test_a_word_in_the_place_of_a_time_is_reported_and_the_work_goes_on(house: House) -> None:
    cut_off(house, house.up())
    house.hold("before claim_ready")
    gateway = house.up()
    house.reached("before claim_ready")
    gateway.kill()
    house.hold()
    SqliteBackend(house.home).spoil("turns", "UPDATE turns SET interrupted_at = 'a word'")
    gateway = house.up()
    house.heard("home", "answer to a")
    gateway.stop()
    (aside,) = as_json("set-aside", "--home", house.home)["set_aside"]
    assert "turns.interrupted_at" in aside["reason"] and aside["payload"] == "a word"
    findings = as_json("doctor", "--home", house.home)["findings"]
    assert "turns.interrupted_at" in next(one["words"] for one in findings if one["check"] == "ledger")
    assert house.is_sound()
