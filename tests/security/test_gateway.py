"""The attacks that once worked against a whole gateway, by each tool that runs code and both means."""

import json
import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from holdfast.policy.containment import Containment
from holdfast.tools.containment import ALL
from tests.support import mcp_server
from tests.support.outside import House
from tests.support.web import signed_in, url_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="code of agents is contained on Linux alone")

HIDDEN = "canary-5e5e"
PRINTED = "canary-of-a-program-88d1"
SETTINGS = """\
tools.use = ["terminal", "processes"]
approvals.effect = "allow"
approvals.idempotent = "allow"
tools.terminal.env = ["A_PROGRAMS_KEY"]
"""
PROGRAM = """\
[mcp.program]
command = {python}
args = ["-S", {server}, {folder}]
read = [{server}]
env = ["A_PROGRAMS_KEY"]
wait = "60s"
"""
MCP = "program__shell"
"""The tool of an MCP program, which runs what it is told."""
TOOLS = ("terminal", "process_start", MCP)


@pytest.fixture(scope="module", params=ALL)
def means(request: pytest.FixtureRequest) -> Containment:
    found: Containment = request.param
    return found


@pytest.fixture(scope="module")
def gateway(means: Containment, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A gateway that runs, and contains programs by these means; it survives every attack."""
    folder = tmp_path_factory.mktemp("gateway")
    (folder / "bin").mkdir()
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PROVIDER_KEY", HIDDEN)
        patched.setenv("A_PROGRAMS_KEY", PRINTED)
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        # Without bubblewrap on its PATH the gateway has Landlock alone.
        patched.setenv("PATH", path if means is Containment.BUBBLEWRAP else str(folder / "bin"))
        (folder / "home").mkdir(mode=0o700)
        house = House(folder / "home", SETTINGS)
        try:
            server, workspace = mcp_server.__file__, str(house.home / "workspace")
            with (house.home / "holdfast.toml").open("a") as config:
                words = {"python": sys.executable, "server": server, "folder": workspace}
                config.write(PROGRAM.format(**{name: json.dumps(word) for name, word in words.items()}))
            running = house.up()
            yield house
            running.stop()
        finally:
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


def run(house: House, tool: str, name: str, command: str) -> str:
    """Have the agent run it by this tool, in a chat of its own; what it put out."""
    tag = f"{name}_{tool}"
    (house.home / f"{tool}-{tag}.json").write_text(
        json.dumps({"command": f"PATH=/usr/local/bin:/usr/bin:/bin; {command}"})
    )
    before = set(house.home.glob("processes/*"))
    house.say(tag, f"do {tool} #{tag}")
    house.heard(tag, f"answer to {tag}")
    if tool == "process_start":
        house.heard(tag, "answer to The background process")
        (folder,) = set(house.home.glob("processes/*")) - before
        return (folder / "output.0").read_text()
    return " ".join(text for role, text, _ in house.shown(tag) if role == "tool")


@pytest.mark.guards("R22.1", "R22.2")
@pytest.mark.parametrize("tool", TOOLS)
def test_one_consent_is_not_consent_to_everything(gateway: House, means: Containment, tool: str) -> None:
    status = gateway.ask("status")
    assert status["containment"]["words"] == means.words
    said = run(gateway, tool, "steals", attack(gateway, status["pid"]))
    plans = [json.loads(file.read_text()) for file in gateway.home.glob("processes/*/plan.json")]
    assert {plan["contained"] for plan in plans} <= {means}
    token = (gateway.home / "token").read_text().strip()
    assert "over" in said
    assert "STOLEN" not in said
    assert token not in said
    assert HIDDEN not in said


@pytest.mark.guards("R22.2")
@pytest.mark.parametrize("tool", TOOLS)
def test_a_command_cannot_change_what_runs_before_the_next_one_is_contained(
    gateway: House, tool: str
) -> None:
    """The whole attack: rewrite the helper's file in the installation, then have it read the token."""
    helper = Path(sys.modules["holdfast"].__file__ or "").parent / "tools" / "containment" / "helper"
    before = {path: path.read_bytes() for path in helper.glob("*.py")}
    plant = f'open("{helper}/command.py", "a").write("# planted")'
    command = f"{sys.executable} -c '{plant}'; echo x > {helper}/entry.py; touch {helper}/json.py; echo tried"
    said = run(gateway, tool, "plants", command)
    assert "tried" in said
    assert {path: path.read_bytes() for path in helper.glob("*.py")} == before


REPLAY = """
import http.client
for method, path in (
    ("GET", "/api/chats"), ("GET", "/api/status"), ("GET", "/api/chats/home/events"),
    ("POST", "/api/chats/home/messages"), ("POST", "/local/link"), ("POST", "/local/say"),
):
    wire = http.client.HTTPConnection("127.0.0.1", {port}, timeout=60)
    own = {{"Cookie": "{cookie}", "Origin": "{url}", "Content-Type": "application/json"}}
    wire.request(method, path, '{{"id": "1", "text": "yes"}}' if method == "POST" else None, own)
    print("STOLEN" if (status := wire.getresponse().status) < 400 else "refused", status, path)
"""


@pytest.mark.guards("R14", "R22.9")
@pytest.mark.parametrize("tool", TOOLS)
def test_a_program_that_has_the_cookie_of_a_sign_in_can_do_nothing_with_it(gateway: House, tool: str) -> None:
    """As a server of the agent gets it that the owner looks at, on another port."""
    url = httpx.URL(url_of(gateway.home))
    with signed_in(gateway.home) as page:
        ((name, value),) = page.cookies.items()
        assert page.get("/api/chats").status_code == 200
        origin = f"http://127.0.0.1:{url.port}"
        replay = REPLAY.format(port=url.port, cookie=f"{name}={value}", url=origin)
        said = run(gateway, tool, "replays", f"{sys.executable} -S -c {shlex.quote(replay)}")
    assert said.count("refused") == 6, said
    assert "STOLEN" not in said


@pytest.mark.guards("R22.7")
@pytest.mark.parametrize("tool", TOOLS)
def test_a_secret_that_a_program_prints_is_in_nothing_that_is_kept_and_nothing_else_is_masked(
    gateway: House, tool: str
) -> None:
    looks_so = "self.token = read_token(); https://u:p@x.example/?key=a"
    printing = f'echo "it is ${{#A_PROGRAMS_KEY}} long: $A_PROGRAMS_KEY"; echo "{looks_so}"'
    said = run(gateway, tool, "prints", printing)
    assert looks_so in said, "an agent that writes back what it read would change it"
    assert f"it is {len(PRINTED)} long: [secret]" in said
    kept = [path for path in gateway.home.rglob("*") if path.is_file()]
    assert [path for path in kept if PRINTED.encode() in path.read_bytes()] == []


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path, SETTINGS)
    yield house
    house.close()


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
