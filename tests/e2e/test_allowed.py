"""`holdfast allowed` as people run it: what owners allowed always is listed and taken back."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.commands import Done, as_json, command
from tests.support.inside import EFFECTS
from tests.support.outside import House, Up

ASKS = 'approvals.effect = "ask"\n'
MAY_I = "May I run `effect`?"


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    found = House(tmp_path, ASKS)
    yield found
    found.close()


def allow(house: House, *chats: str) -> Up:
    """A gateway in whose chats the owner has allowed a call always."""
    gateway = house.up()
    for chat in chats:
        house.say(chat, f"do effect #{chat}")
        house.heard(chat, MAY_I)
        house.say(chat, "always")
        house.heard(chat, f"answer to {chat}")
    return gateway


def allowed(house: House, *arguments: object) -> Done:
    return command("allowed", *arguments, "--home", house.home)


@pytest.mark.guards("R13")
def test_rules_are_listed_whether_a_gateway_runs_or_not(house: House) -> None:
    gateway = allow(house, "home", "work")
    running = allowed(house)
    gateway.stop()
    stopped = allowed(house)
    assert running.code == stopped.code == 0
    for done in (running, stopped):
        head, first, second = done.out.splitlines()
        assert head.split("\t") == ["RULE", "CHAT", "COVERS", "ALLOWED BY", "SINCE"]
        assert first.startswith(
            '1\tweb/main/home\t`effect` while `inside:agent` answers: exactly the call with "home"\tweb:local'
        )
        assert second.startswith("2\tweb/main/work\t")
    assert [one["id"] for one in as_json("allowed", "--home", house.home)["allowed"]] == [1, 2]
    (only,) = as_json("allowed", "--chat", "work", "--home", house.home)["allowed"]
    assert (only["id"], only["tool"], only["arguments"], only["prefix"]) == (2, "effect", '"work"', None)
    assert as_json("allowed", "--chat", "elsewhere", "--home", house.home) == {"allowed": []}


@pytest.mark.guards("R13")
def test_a_rule_is_revoked_once_whether_a_gateway_runs_or_not(house: House) -> None:
    gateway = allow(house, "home", "work")
    done = allowed(house, "revoke", 1)
    assert (done.code, done.out) == (0, "Rule 1 is revoked. The gateway asks again before such a call.\n")
    again = allowed(house, "revoke", 1)
    assert again.code == 1 and "rule 1 was revoked before; nothing was changed" in again.err
    house.say("home", "do effect #home")
    house.heard("home", MAY_I, MAY_I)
    assert house.times(EFFECTS, "home") == 1
    gateway.stop()
    assert as_json("allowed", "revoke", 2, "--home", house.home) == {"rule": 2, "revoked": True}
    again = allowed(house, "revoke", 2)
    assert again.code == 1 and "rule 2 was revoked before; nothing was changed" in again.err
    none = allowed(house)
    assert none.code == 0 and none.out.startswith("No rule is stored.")
    assert house.is_sound()


def test_a_number_that_no_rule_has_is_refused_in_words(house: House) -> None:
    gateway = allow(house, "home")
    running = allowed(house, "revoke", 9)
    gateway.stop()
    stopped = allowed(house, "revoke", 9)
    for done in (running, stopped):
        assert (done.code, done.out) == (1, "") and "there is no rule 9" in done.err
    as_program = allowed(house, "revoke", 9, "--json")
    assert as_program.code == 1 and "there is no rule 9" in json.loads(as_program.err)["error"]
    for wrong in ("0", "-1", "first"):
        assert allowed(house, "revoke", "--", wrong).code == 1
    assert len(as_json("allowed", "--home", house.home)["allowed"]) == 1


def test_in_a_home_where_nothing_has_run_there_is_nothing_to_list_or_revoke(tmp_path: Path) -> None:
    looked = command("allowed", "--home", tmp_path)
    assert looked.code == 78 and "nothing has run there yet" in looked.err
    revoked = command("allowed", "revoke", 1, "--home", tmp_path)
    assert revoked.code == 1 and f"there is no ledger in {tmp_path}" in revoked.err
    assert not list(tmp_path.iterdir())


@pytest.mark.guards("R13")
def test_the_trace_of_a_message_says_which_rule_let_its_call_run(house: House) -> None:
    gateway = allow(house, "home")
    said = house.say("home", "do effect #home")
    house.heard("home", "answer to home", "answer to home")
    told = command("trace", said["position"], "--home", house.home)
    gateway.stop()
    (line,) = [one for one in told.out.splitlines() if "allowed by the rule of" in one]
    assert line.endswith(", rule 1)")
