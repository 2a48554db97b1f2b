"""The attacks that once worked against a whole gateway, by an agent's tools and by an MCP program."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import mcp_server
from tests.support.outside import House, Up

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="code of agents is contained on Linux alone")

SETTINGS = """\
tools.use = ["terminal", "processes"]
approvals.effect = "allow"
approvals.idempotent = "allow"
"""
PROGRAM = """\
[mcp.program]
command = {python}
args = ["-S", {server}, {folder}]
read = [{server}]
wait = "60s"
"""
MCP = "program__shell"
"""The tool of an MCP program, which runs what it is told."""


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


def up(house: House, tool: str) -> Up:
    """A gateway whose agent has this tool."""
    if tool == MCP:
        server, folder = mcp_server.__file__, str(house.home / "workspace")
        program = PROGRAM.format(
            python=json.dumps(sys.executable), server=json.dumps(server), folder=json.dumps(folder)
        )
        with (house.home / "holdfast.toml").open("a") as config:
            config.write(program)
    return house.up()


def run(house: House, tool: str, command: str) -> str:
    """Have the agent run it by this tool; what it put out."""
    (house.home / f"{tool}-a.json").write_text(json.dumps({"command": command}))
    house.say("home", f"do {tool} #a")
    house.heard("home", "answer to a")
    if tool == "process_start":
        house.heard("home", "answer to The background process")
        (folder,) = (house.home / "processes").iterdir()
        return (folder / "output.0").read_text()
    return " ".join(text for role, text, _ in house.shown("a") if role == "tool")


@pytest.mark.guards("R22.1", "R22.2")
@pytest.mark.parametrize("tool", ["terminal", "process_start", MCP])
def test_one_consent_is_not_consent_to_everything(house: House, tool: str) -> None:
    gateway = up(house, tool)
    status = house.ask("status")
    assert status["containment"]["words"] == "contained"
    said = run(house, tool, attack(house, status["pid"]))
    if tool == "process_start":
        (folder,) = (house.home / "processes").iterdir()
        assert json.loads((folder / "plan.json").read_text())["contained"] == "bubblewrap"
    token = (house.home / "token").read_text().strip()
    gateway.stop()
    assert "over" in said
    assert "STOLEN" not in said
    assert token not in said
    assert "canary-5e5e" not in said


@pytest.mark.guards("R22.2")
@pytest.mark.parametrize("tool", ["terminal", "process_start", MCP])
def test_a_command_cannot_change_what_runs_before_the_next_one_is_contained(house: House, tool: str) -> None:
    """The whole attack: rewrite the helper's file in the installation, then have it read the token."""
    helper = Path(sys.modules["holdfast"].__file__ or "").parent / "tools" / "containment" / "helper"
    before = {path: path.read_bytes() for path in helper.glob("*.py")}
    plant = f'open("{helper}/command.py", "a").write("# planted")'
    command = f"{sys.executable} -c '{plant}'; echo x > {helper}/entry.py; touch {helper}/json.py; echo tried"
    gateway = up(house, tool)
    said = run(house, tool, command)
    gateway.stop()
    assert "tried" in said
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
