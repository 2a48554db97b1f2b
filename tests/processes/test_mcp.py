"""Real gateways with a real program of tools behind them: either may be killed in a call."""

import json
import os
import select
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import mcp_server
from tests.support.inside import EFFECTS, READS
from tests.support.machine import outside
from tests.support.outside import LONG, Build, House

ALLOWED = 'approvals.effect = "allow"\n'
SETTINGS = """\
[mcp.tools]
command = {python}
args = ["-S", {program}, {folder}]
read = [{program}]
wait = "{wait}"
timeout = "{timeout}"
effects = {{ read = "read", hang_reading = "read", long = "read", again = "idempotent" }}
"""


def settings(home: Path, wait: str = "60s", timeout: str = "60s") -> str:
    program = json.dumps(mcp_server.__file__)
    return SETTINGS.format(
        python=json.dumps(sys.executable),
        program=program,
        folder=json.dumps(str(home / "workspace")),
        wait=wait,
        timeout=timeout,
    )


@pytest.fixture
def served(build: Build, tmp_path: Path) -> House:
    return build(ALLOWED + settings(tmp_path))


def pids(house: House) -> list[int]:
    """The last server and what it has started, while they live."""
    return [outside(line["pid"], os.getpid()) for line in house.seen(mcp_server.PIDS)]


def gone(pid: int) -> None:
    """Wait until no process of this number is left."""
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    assert select.select([watched], [], [], LONG)[0], f"process {pid} lives on"
    os.close(watched)


def results(house: House, tag: str) -> list[tuple[str, str]]:
    """What came of the calls, as the model was shown it when it was last asked."""
    return [(state, text) for role, text, state in house.shown(tag) if role == "tool"]


def server_of(house: House) -> dict[str, Any]:
    (server,) = house.ask("status")["mcp"]
    found: dict[str, Any] = server
    return found


def test_an_agent_uses_the_tools_of_a_server(served: House) -> None:
    gateway = served.up()
    served.say("home", "do tools__read tools__effect tools__fail #a")
    assert served.heard("home", "answer to a") == ["answer to a"]
    assert results(served, "a") == [("done", "read a"), ("done", "did a"), ("failed", "no a today")]
    server = server_of(served)
    assert (server["name"], server["state"], server["tools"]) == ("tools", "up", len(mcp_server.KNOWN))
    left = pids(served)
    gateway.stop()
    for pid in left:
        gone(pid)


@pytest.mark.guards("R7.2")
def test_a_gateway_killed_in_an_effect_takes_the_server_along_and_tells_it_as_unknown_once(
    served: House,
) -> None:
    served.hold("mcp after a")
    (served.workspace / mcp_server.FAULTS).write_text("stays")
    gateway = served.up()
    served.say("home", "do tools__child tools__effect tools__read #a")
    served.reached("mcp after a")
    (first, child) = pids(served)
    gateway.kill()
    gone(first)
    gone(child)
    served.hold()
    gateway = served.up()
    assert served.heard("home", "answer to a") == ["answer to a"]
    gateway.stop()
    assert served.times(EFFECTS, "a") == 1, "it had happened, and was not tried again"
    assert [state for state, _ in results(served, "a")] == ["done", "unknown", "done"]
    assert served.is_sound()


@pytest.mark.guards("R7.2")
def test_a_gateway_killed_in_a_read_has_it_run_again_by_the_next_server(served: House) -> None:
    served.hold("mcp read a")
    gateway = served.up()
    served.say("home", "do tools__read #a")
    served.reached("mcp read a")
    gateway.kill()
    served.hold()
    gateway = served.up()
    assert served.heard("home", "answer to a") == ["answer to a"]
    gateway.stop()
    assert served.times(READS, "a") == 2
    assert results(served, "a") == [("done", "read a")]


@pytest.mark.guards("R7.2")
def test_a_server_killed_in_a_call_is_begun_again_and_the_call_settled_by_its_class(served: House) -> None:
    served.hold("mcp after a")
    gateway = served.up()
    served.say("home", "do tools__effect tools__effect #a")
    served.reached("mcp after a")
    os.kill(pids(served)[-1], 9)
    served.reached("mcp after a").go()
    assert served.heard("home", "answer to a") == ["answer to a"]
    (unknown, done) = results(served, "a")
    assert unknown[0] == "unknown"
    assert "was killed by signal 9" in unknown[1]
    assert done == ("done", "did a")
    assert served.times(EFFECTS, "a") == 2, "once by each call"
    assert server_of(served)["starts"] == 2
    gateway.stop()
    assert served.is_sound()


def test_a_read_whose_server_is_killed_is_run_again_in_the_same_call(served: House) -> None:
    served.hold("mcp read a")
    gateway = served.up()
    served.say("home", "do tools__read #a")
    served.reached("mcp read a")
    os.kill(pids(served)[-1], 9)
    served.hold()
    assert served.heard("home", "answer to a") == ["answer to a"]
    gateway.stop()
    assert results(served, "a") == [("done", "read a")]
    assert served.times(READS, "a") == 2


def test_a_server_that_cannot_live_keeps_nobody_waiting_long_and_is_shown_as_down(
    build: Build, tmp_path: Path
) -> None:
    house = build(ALLOWED + settings(tmp_path, wait="1s"))
    (house.workspace / mcp_server.FAULTS).write_text("dead")
    gateway = house.up()
    # The first may find it still starting.
    for tag in "abcdefghijklmnop":
        house.say("home", f"do tools__read #{tag}")
        house.heard("home", f"answer to {tag}")
        ((state, words),) = results(house, tag)[-1:]
        assert state == "failed"
        assert "ontinue without it" in words
        if "ended with code 1" in words:
            break
    server = server_of(house)
    assert server["state"] in ("down", "starting")
    assert "ended with code 1" in server["words"]
    gateway.stop()
    assert "I cannot live like this" in (tmp_path / "logs" / "mcp-tools.log").read_text()


@pytest.mark.guards("R14")
def test_a_server_has_what_it_is_given_and_nothing_of_the_gateway_and_no_secret_is_written_down(
    build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINE", "the-gateways-own-hunter2")
    monkeypatch.setenv("ITS_KEY", "for-the-server-hunter3")
    house = build(ALLOWED + settings(tmp_path) + 'env = ["ITS_KEY"]\n')
    gateway = house.up()
    house.say("home", "do tools__environment #a")
    house.heard("home", "answer to a")
    ((_, words),) = results(house, "a")
    gateway.stop()
    assert "ITS_KEY" in words
    assert "MINE" not in words
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"hunter2" not in kept
    assert b"hunter3" not in kept
