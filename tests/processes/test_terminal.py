"""Commands of an agent in a real gateway: whatever becomes of the one, the other is not harmed."""

import json
import os
import select
import sys
from pathlib import Path

import pytest

from tests.support.outside import LONG, Build, House

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked at in /proc")

SETTINGS = """\
tools.use = ["terminal"]
tools.workspace = "agent"
approvals.effect = "allow"
tools.terminal.memory = 200
"""


class Outside:
    """The folder that a command and its test both see, and a place where the one waits for the other."""

    def __init__(self, home: Path) -> None:
        self.folder = folder = home / "workspace" / "agents" / "inside:agent"
        folder.mkdir(parents=True)
        self.mark = f"9{os.getpid()}{abs(hash(folder)) % 10_000}"
        os.mkfifo(folder / "ready")

    def ready(self) -> None:
        """Wait until the command says so."""
        assert (self.folder / "ready").read_text() == "ready\n"

    def processes(self) -> list[int]:
        """What a command with our mark has left on this machine."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                words = Path(f"/proc/{pid}/cmdline").read_bytes()
            except OSError:
                continue
            if self.mark.encode() in words and int(pid) != os.getpid():
                found.append(int(pid))
        return found

    def gone(self, pids: list[int]) -> bool:
        """Whether all of these end, waited for as processes are: no longer than a signal that never comes."""
        for pid in pids:
            try:
                handle = os.pidfd_open(pid)
            except ProcessLookupError:
                continue
            ended, _, _ = select.select([handle], [], [], LONG)
            os.close(handle)
            if not ended:
                return False
        return True

    @property
    def runs(self) -> int:
        file = self.folder / "runs"
        return len(file.read_text().splitlines()) if file.exists() else 0


@pytest.fixture
def outside(house: House) -> Outside:
    return Outside(house.home)


@pytest.fixture
def house(build: Build, monkeypatch: pytest.MonkeyPatch) -> House:
    # So that commands find the Python of these tests.
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    return build(SETTINGS)


def command(house: House, tag: str, text: str) -> None:
    """What the agent runs for this tag."""
    (house.home / f"terminal-{tag}.json").write_text(json.dumps({"command": text}))


def results(house: House, tag: str) -> list[tuple[str, str]]:
    """What the model was shown of its calls: state and text."""
    return [(state, text) for role, text, state in house.shown(tag) if role == "tool"]


def sleepers(outside: Outside) -> str:
    """Some that are orphaned, some in sessions of their own; then it says so and waits for ever."""
    sleep = f"sleep {outside.mark}"
    return (
        f"echo run >> {outside.folder}/runs; {sleep} & setsid {sleep} &\n"
        f"(setsid nohup {sleep} &>/dev/null &)\n"
        f"echo ready > {outside.folder}/ready; {sleep}"
    )


@pytest.mark.guards("R7.2", "C9", "F8")
def test_killed_in_a_command_nothing_of_it_is_left_and_it_is_shown_as_unknown_once(
    house: House, outside: Outside
) -> None:
    command(house, "a", sleepers(outside))
    gateway = house.up()
    house.say("home", "do terminal #a")
    outside.ready()
    left = outside.processes()
    assert len(left) >= 4
    gateway.kill()
    assert outside.gone(left), "at once: nobody has started the gateway again"
    gateway = house.up()
    assert house.heard("home", "answer to a") == ["answer to a"]
    gateway.stop()
    ((state, text),) = results(house, "a")
    assert state == "unknown"
    assert "the call to terminal was cut off" in text
    assert outside.runs == 1, "and it is not repeated"
    assert outside.processes() == []
    assert house.is_sound()


@pytest.mark.guards("R7.4")
def test_a_stop_ends_everything_a_command_has_begun(house: House, outside: Outside) -> None:
    command(house, "a", sleepers(outside))
    gateway = house.up()
    house.say("home", "do terminal #a")
    outside.ready()
    left = outside.processes()
    house.say("home", "/stop")
    assert outside.gone(left)
    gateway.stop()
    assert [turn["state"] for turn in house.turns("home")] == ["cancelled"]
    assert outside.processes() == []


def test_a_command_that_uses_too_much_memory_ends_and_the_gateway_goes_on(
    house: House, outside: Outside
) -> None:
    python = (
        f"{sys.executable} -c 'import signal; x = bytearray(80 * 2**20); signal.pause()' {outside.mark} &"
    )
    command(house, "a", f"{sys.executable} -c 'x = bytearray(10**9)'")
    command(house, "b", f"{python} {python} {python} {python} wait")
    gateway = house.up()
    pid = house.ask("status")["pid"]
    house.say("home", "do terminal #a")
    house.heard("home", "answer to a")
    house.say("home", "do terminal #b")
    house.heard("home", "answer to b")
    assert house.ask("status")["pid"] == pid
    gateway.stop()
    assert "MemoryError" in results(house, "a")[0][1]
    state, text = results(house, "b")[-1]
    assert state == "unknown"
    assert "used more than 200 MB and was ended" in text
    assert outside.processes() == []


@pytest.mark.guards("G13")
def test_a_command_ends_neither_the_gateway_nor_its_supervisor(house: House, outside: Outside) -> None:
    up = house.up(supervised=True)
    pid = house.ask("status")["pid"]
    holdfast = f"{sys.executable} -m holdfast stop --home {house.home}"
    command(
        house, "a", f"kill -9 {pid} {up.process.pid}; {holdfast}; cat {house.home}/holdfast.toml; echo over"
    )
    house.say("home", "do terminal #a")
    house.heard("home", "answer to a")
    assert house.ask("status")["pid"] == pid
    up.stop()
    ((_, text),) = results(house, "a")
    assert "over" in text
    assert "agent.use" not in text


def test_killed_after_a_long_output_was_kept_and_before_it_was_named_nothing_is_wrong(house: House) -> None:
    command(house, "a", "seq 100000")
    house.hold("before its result")
    gateway = house.up()
    house.say("home", "do terminal #a")
    house.reached("before its result")
    assert list((house.home / "blobs").glob("*/*")), "the bytes come first"
    gateway.kill()
    house.hold()
    gateway = house.up()
    house.heard("home", "answer to a")
    house.say("home", "do terminal #a")
    house.heard("home", "answer to a", "answer to a")
    gateway.stop()
    assert [state for state, _ in results(house, "a")] == ["unknown", "done"]
    assert "the whole result is kept: read_output with output" in results(house, "a")[-1][1]
    assert house.is_sound()


def test_the_gateways_secrets_are_not_in_a_commands_environment(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "canary-41c")
    command(house, "a", "env; echo over")
    gateway = house.up()
    environ = Path(f"/proc/{house.ask('status')['pid']}/environ").read_bytes()
    assert b"canary-41c" in environ, "the gateway has it"
    house.say("home", "do terminal #a")
    house.heard("home", "answer to a")
    gateway.stop()
    ((_, text),) = results(house, "a")
    assert "over" in text
    assert "canary-41c" not in text
