"""Work that a crash cut off and that is not simply resumed: stopped, asked about, held, or not allowed."""

import pytest

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
    house.heard("home", "shutting down", "ontinue")
    gateway.kill()
    gateway = house.up()
    house.say("home", "continue")
    told = house.heard("home", "answer to a")
    gateway.stop()
    assert len(told) == 3, told
    assert states(house) == ["done"]
    assert house.times(READS, "a") == 2


@pytest.mark.guards("R8.3")
def test_in_safe_mode_nothing_goes_on_by_itself_and_new_messages_are_answered(build: Build) -> None:
    house = build("safe_mode.exits = 2\n")
    gateway = house.up()
    cut_off(house, gateway)
    house.hold("before claim_ready")
    gateway = house.up()
    house.reached("before claim_ready")
    gateway.kill()
    house.hold()
    gateway = house.up()
    while not house.ask("status")["safe_mode"]["active"]:
        pass
    house.say("other", "do #b")
    assert house.heard("other", "answer to b") == ["answer to b"]
    assert states(house) == ["interrupted"]
    house.say("home", "do #c")
    house.heard("home", "ontinue")
    house.say("home", "continue")
    told = house.heard("home", "answer to")
    gateway.stop()
    assert house.times(READS, "a") == 2
    assert sum(text.startswith("answer to a") for text in told) == 1, told


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
