"""The attacks that once worked against a whole gateway, by the tools that an agent has."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.outside import House

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="code of agents is contained on Linux alone")

SETTINGS = """\
tools.use = ["terminal", "processes"]
approvals.effect = "allow"
approvals.idempotent = "allow"
"""


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.setenv("PROVIDER_KEY", "canary-5e5e")
    house = House(tmp_path, SETTINGS)
    yield house
    house.close()


def attack(house: House, pid: int) -> str:
    """Everything by which a background process once made itself the owner of all later consent."""
    home = house.home
    ask = f"{sys.executable} -c 'import socket; socket.socket(1).connect(\"{home}/gateway.sock\")'"
    return (
        f"cat {home}/token && echo STOLEN; cat /proc/{pid}/environ && echo STOLEN; "
        f"cat {home}/holdfast.toml && echo STOLEN; ls {home}/logs && echo STOLEN; "
        f"{sys.executable} -m holdfast link --home {home} && echo STOLEN; {ask} && echo STOLEN; "
        f"kill -0 {pid} && echo STOLEN; echo over"
    )


@pytest.mark.guards("R22.1", "R22.2")
@pytest.mark.parametrize("tool", ["terminal", "process_start"])
def test_one_consent_is_not_consent_to_everything(house: House, tool: str) -> None:
    gateway = house.up()
    status = house.ask("status")
    assert status["containment"]["words"] == "contained"
    command = attack(house, status["pid"])
    (house.home / f"{tool}-a.json").write_text(json.dumps({"command": command}))
    house.say("home", f"do {tool} #a")
    house.heard("home", "answer to a")
    if tool == "process_start":
        house.heard("home", "answer to The background process")
        (folder,) = (house.home / "processes").iterdir()
        said = (folder / "output.0").read_text()
        assert json.loads((folder / "plan.json").read_text())["contained"] == "bubblewrap"
    else:
        said = " ".join(text for role, text, _ in house.shown("a") if role == "tool")
    token = (house.home / "token").read_text().strip()
    gateway.stop()
    assert "over" in said
    assert "STOLEN" not in said
    assert token not in said
    assert "canary-5e5e" not in said


@pytest.mark.guards("R22.2")
def test_a_command_cannot_change_what_runs_before_the_next_one_is_contained(house: House) -> None:
    """The whole attack: rewrite the helper's file in the installation, then have it read the token."""
    helper = Path(sys.modules["holdfast"].__file__ or "").parent / "tools" / "containment" / "helper"
    before = {path: path.read_bytes() for path in helper.glob("*.py")}
    plant = f'open("{helper}/command.py", "a").write("# planted")'
    command = f"{sys.executable} -c '{plant}'; echo x > {helper}/entry.py; touch {helper}/json.py; echo tried"
    (house.home / "terminal-a.json").write_text(json.dumps({"command": command}))
    gateway = house.up()
    house.say("home", "do terminal #a")
    house.heard("home", "answer to a")
    gateway.stop()
    ((_, text, _),) = [one for one in house.shown("a") if one[0] == "tool"]
    assert "tried" in text
    assert {path: path.read_bytes() for path in helper.glob("*.py")} == before


def test_where_the_owner_wants_it_so_nothing_is_contained_and_the_status_says_so(house: House) -> None:
    config = house.home / "holdfast.toml"
    config.write_text(config.read_text() + 'tools.containment = "off"\n')
    (house.home / "terminal-a.json").write_text(json.dumps({"command": "echo ran"}))
    gateway = house.up()
    assert house.ask("status")["containment"]["words"] == "not contained"
    house.say("home", "do terminal #a")
    house.heard("home", "answer to a")
    gateway.stop()
    ((_, text, _),) = [one for one in house.shown("a") if one[0] == "tool"]
    assert text == "ran\n[exit code 0]"
