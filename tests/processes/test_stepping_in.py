"""What people ask of a real gateway holds through SIGKILL: forgetting, safe mode, limits, stopping by id."""

from pathlib import Path

import pytest

from tests.support.commands import as_json, command
from tests.support.outside import Build, House

SECRET = "rosebud"


def ledger_holds(home: Path) -> bool:
    """Whether any file of the ledger has the word; what tests write down beside it does not count."""
    return any(SECRET.encode() in path.read_bytes() for path in home.glob("ledger.db*"))


@pytest.mark.guards("R20")
@pytest.mark.parametrize(
    "place",
    ["before quiet", "after quiet", "before erase", "after erase", "before scrub"],
)
def test_killed_while_it_forgets_it_forgets_at_the_next_start(house: House, place: str) -> None:
    gateway = house.up()
    house.say("home", f"do read #{SECRET}")
    house.heard("home", f"answer to {SECRET}")
    house.hold(place)
    house.say("home", "/forget everything")
    house.reached(place)
    gateway.kill()
    assert ledger_holds(house.home)
    house.hold()
    gateway = house.up()
    house.heard("home", "Erased.")
    answer, erased = house.told("home")
    assert (answer, erased.startswith("Erased.")) == ("(erased)", True), "told once"
    assert not ledger_holds(house.home)
    house.say("home", "do read #b")
    assert house.heard("home", "answer to b")[-1] == "answer to b"
    assert not any(SECRET in text for _, text, _ in house.shown("b"))
    gateway.stop()
    assert house.is_sound()


@pytest.mark.guards("R20")
def test_work_in_hand_is_stopped_then_forgotten_and_said_so_once(house: House) -> None:
    house.hold(f"read {SECRET}")
    gateway = house.up()
    house.say("home", f"do read effect #{SECRET}")
    house.reached(f"read {SECRET}")
    (line,) = as_json("sessions", "--home", house.home)["sessions"]
    done = command("sessions", "delete", line["id"], "--home", house.home, "--yes")
    assert (done.code, done.out.strip()) == (0, "Erased.")
    assert not ledger_holds(house.home)
    assert house.heard("home", "The operator erased") == house.told("home")
    gateway.stop()
    assert house.is_sound()
    assert house.times("effects", SECRET) == 0


def test_a_session_is_deleted_only_when_somebody_is_sure(house: House) -> None:
    gateway = house.up()
    house.say("home", f"do read #{SECRET}")
    house.heard("home", f"answer to {SECRET}")
    asked = command("sessions", "delete", "home", "--home", house.home, "--json")
    assert asked.code == 1
    assert "needs --yes" in asked.err
    assert ledger_holds(house.home)
    gateway.stop()


@pytest.mark.guards("R8.3", "R15")
def test_safe_mode_that_was_put_on_holds_through_a_kill_until_it_is_ended(house: House) -> None:
    house.hold("read a")
    gateway = house.up()
    house.say("home", "do read #a")
    house.reached("read a")
    on = as_json("safe-mode", "on", "--home", house.home)
    assert (on["active"], on["ends_at"]) == (True, None)
    gateway.kill()
    house.hold()
    gateway = house.up()
    while (found := as_json("safe-mode", "--home", house.home))["since"] is None:
        assert found["active"], "nothing goes on before the ledger has been looked at"
    assert found["why"] == "an operator put it on"
    (turn,) = house.turns("home")
    assert turn["state"] == "interrupted", "nothing goes on by itself"
    off = as_json("safe-mode", "off", "--home", house.home)
    assert not off["active"]
    paused, answer = house.heard("home", "paused", "answer to a")
    assert "paused" in paused and answer == "answer to a"
    gateway.stop()


@pytest.mark.guards("R15")
def test_one_session_is_cancelled_and_resumed_by_its_id(house: House) -> None:
    house.hold("read a")
    gateway = house.up()
    house.say("home", "do read #a")
    house.reached("read a")
    (line,) = as_json("sessions", "--home", house.home)["sessions"]
    assert as_json("cancel", line["id"][:16], "--home", house.home)["state"] == "executed"
    assert house.heard("home", "Stopped.")
    house.hold()
    refused = command("resume", line["id"], "--home", house.home)
    assert (refused.code, "nothing to resume" in refused.out) == (1, True)
    house.say("home", "/new")
    house.heard("home", "begins a new conversation")
    ended = command("cancel", line["id"], "--home", house.home)
    assert (ended.code, "has ended" in ended.err) == (1, True), "never the live one in its place"
    assert as_json("resume", line["id"], "--home", house.home)["state"] == "executed"
    house.say("home", "do read #b")
    house.heard("home", "answer to")
    (live,) = as_json("sessions", "--home", house.home)["sessions"]
    assert live["id"] == line["id"]
    gateway.stop()


@pytest.mark.guards("R18")
def test_a_limit_asks_once_through_kills_and_its_answer_still_works(build: Build) -> None:
    house = build("[limits]\nsteps = 2\n")
    gateway = house.up()
    house.say("home", "do read read read #a")
    (asked,) = house.heard("home", "I ask after 2")
    gateway.kill()
    gateway = house.up()
    house.hold("model a 2")
    house.say("home", "continue")
    house.reached("model a 2")
    gateway.kill()
    house.hold()
    gateway = house.up()
    assert house.heard("home", "answer to a") == [asked, "answer to a"]
    (turn,) = house.turns("home")
    assert turn["state"] == "done"
    assert house.times("reads", "a") == 3
    gateway.stop()
    assert house.is_sound()


@pytest.mark.guards("R21")
def test_the_owner_hears_of_safe_mode_and_of_what_a_kill_left_unsettled(build: Build) -> None:
    house = build('owner_chat = "web/main/owner"\n[alerts]\nunsettled = "1s"\n')
    house.hold("read a")
    gateway = house.up()
    house.say("owner", "do read #o")
    house.heard("owner", "answer to o")
    house.say("home", "do read #a")
    house.reached("read a")
    command("safe-mode", "on", "--home", house.home)
    house.heard("owner", "Safe mode is on: an operator put it on.")
    gateway.kill()
    house.hold()
    gateway = house.up()
    lines = house.heard("owner", "turns held: 1")
    gateway.kill()
    gateway = house.up()
    again = house.heard("owner", "turns held: 1")
    assert again[: len(lines)] == lines
    assert sum("Safe mode is on" in line for line in house.told("owner")) == 1
    gateway.stop()
