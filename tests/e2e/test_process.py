"""Real gateway processes: signals, exit codes, supervisor, local API. Their own words say when to go on."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.api.client import NotRunning, RequestDeclined, ask, listen
from holdfast.clock import SystemClock
from holdfast.process import supervisor
from holdfast.process.gateway_command import gateway_command
from holdfast.process.offline import look, stop_gateway
from holdfast.process.supervisor import supervisor_of
from holdfast.store import LEDGER, ReadOnlyLedger

LONG = 60.0


class Started:
    """A process that tells us how it is, as it would tell systemd."""

    def __init__(self, home: Path, supervised: bool = False, **environment: str) -> None:
        self.home = home
        path = home / f"notify-{os.urandom(4).hex()}"
        self._words = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._words.settimeout(LONG)
        self._words.bind(str(path))
        supervise = [sys.executable, "-m", "holdfast", "up", "--home", str(home)]
        command = supervise if supervised else gateway_command(home)
        self.process = subprocess.Popen(
            command,
            env={
                **os.environ,
                "NOTIFY_SOCKET": str(path),
                "HOLDFAST_AGENT_PACE": "0",
                "HOLDFAST_WEB_PORT": "0",
                **environment,
            },
            stderr=subprocess.PIPE,
            text=True,
        )

    def hear(self) -> str:
        return self._words.recv(4096).decode()

    def ready(self) -> "Started":
        assert self.hear() == "READY=1"
        return self

    def end(self) -> tuple[int, str]:
        """Its exit code, and what it had to say."""
        words = self.process.communicate(timeout=LONG)[1]
        self._words.close()
        return self.process.returncode, words

    def ask(self, do: str, **arguments: Any) -> Any:
        return asyncio.run(ask(self.home, do, **arguments))

    def replies(self, chat: str, count: int, after: int = 0) -> list[str]:
        """The next deliveries of a chat."""

        async def read() -> list[str]:
            texts: list[str] = []
            async for event in listen(self.home, f"/api/chats/{chat}/events?after={after}"):
                texts += [event.data["text"]] if event.name == "delivery" else []
                if len(texts) == count:
                    break
            return texts

        return asyncio.run(asyncio.wait_for(read(), LONG))


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    for pid in _still_there(tmp_path):
        os.kill(pid, signal.SIGKILL)


def _still_there(home: Path) -> list[int]:
    """Whatever a failed test left running on this home."""
    try:
        status = asyncio.run(ask(home, "status"))
    except NotRunning:
        return []
    parent = supervisor_of(home)
    return [status["pid"], *([parent] if parent else [])]


def test_a_message_said_locally_is_kept_answered_and_traced(home: Path) -> None:
    gateway = Started(home).ready()
    said = gateway.ask("say", chat="home", text="Do 2 steps.", event_id="mine")
    assert said["fresh"]
    again = gateway.ask("say", chat="home", text="Do 2 steps.", event_id="mine")
    assert (again["position"], again["fresh"]) == (said["position"], False)
    assert gateway.replies("home", 1)[0].startswith("All 2 steps are done")
    (session,) = gateway.ask("sessions")["sessions"]
    assert gateway.ask("session", session=session["id"])["turns"][0]["state"] == "done"
    assert gateway.ask("trace", position=said["position"])["message"]["text"] == "Do 2 steps."
    assert gateway.ask("verify") == {"sound": True, "problems": []}
    assert gateway.ask("plan") == {"running": []}
    status = gateway.ask("status")
    assert (status["state"], status["pid"]) == ("running", gateway.process.pid)
    assert status["platforms"] == [{"name": "web", "account": "main", "connected": True, "trouble": None}]
    with pytest.raises(RequestDeclined, match="there is no session"):
        gateway.ask("session", session="nobody")
    for file in home.glob(f"{LEDGER}*"):
        assert file.stat().st_mode & 0o077 == 0, f"others can open {file.name}"
    gateway.process.send_signal(signal.SIGTERM)
    assert gateway.hear() == "STOPPING=1"
    assert gateway.end()[0] == 0


def test_what_the_model_writes_is_seen_by_who_follows_before_it_is_committed(home: Path) -> None:
    gateway = Started(home, HOLDFAST_AGENT_PACE="0.5").ready()

    async def watch() -> tuple[list[str], str]:
        previews: list[str] = []
        async for event in listen(home, "/api/chats/home/events"):
            if event.name == "following":
                await ask(home, "say", chat="home", text="Do 1 steps.")
            elif event.name == "preview":
                previews.append(event.data["text"])
            elif event.name == "working":
                assert event.data["working"] in ({"notice": ""}, None)
            elif event.name == "delivery" and event.data["kind"] == "reply":
                return previews, event.data["text"]
        raise AssertionError("it went")

    previews, answer = asyncio.run(asyncio.wait_for(watch(), LONG))
    assert any(text and "Step 1 of 1: counting.".startswith(text) for text in previews)
    assert "" in previews, "the committed step is shown no more"
    assert any(text and answer.startswith(text) for text in previews)
    gateway.process.send_signal(signal.SIGTERM)
    assert gateway.end()[0] == 0


@pytest.mark.guards("R3.4", "G2")
def test_a_restart_that_is_asked_for_ends_with_75_and_keeps_everything(home: Path) -> None:
    gateway = Started(home).ready()
    gateway.ask("say", chat="home", text="Do 2 steps.")
    gateway.replies("home", 1)
    assert gateway.ask("restart", event_id="once") == {"asked": "restart", "fresh": True}
    assert gateway.end()[0] == 75
    gateway = Started(home).ready()
    assert gateway.ask("restart", event_id="once")["fresh"] is False
    assert gateway.ask("continuity")["continuity"]["previous_ended"] == "restart"
    gateway.process.send_signal(signal.SIGINT)
    assert gateway.end()[0] == 0


@pytest.mark.guards("R16")
def test_a_bad_configuration_ends_with_78_and_says_what_is_allowed(home: Path) -> None:
    (home / "holdfast.toml").write_text("worker = 3")
    code, words = Started(home).end()
    assert code == 78
    assert "did you mean workers?" in words
    assert not (home / LEDGER).exists()


def test_a_second_gateway_on_the_same_home_is_refused_by_name(home: Path) -> None:
    gateway = Started(home).ready()
    code, words = Started(home).end()
    assert code == 1, "whoever keeps it up tries again until the first one is gone"
    assert f"process {gateway.process.pid}" in words
    assert gateway.ask("status")["state"] == "running", "the first one was not disturbed"
    gateway.process.terminate()
    assert gateway.end()[0] == 0


def test_a_second_signal_ends_it_at_once_and_what_it_cut_is_marked(home: Path) -> None:
    gateway = Started(home, HOLDFAST_AGENT_PACE="60").ready()
    gateway.ask("say", chat="home", text="Do 2 steps.")
    while not gateway.ask("plan")["running"]:
        pass
    gateway.process.terminate()
    assert gateway.hear() == "STOPPING=1"
    assert "shutting down" in gateway.replies("home", 1)[0]
    gateway.process.terminate()
    assert gateway.end()[0] == 0
    assert _interruptions(home) == [("interrupted", "shutdown_timeout")]


def _interruptions(home: Path) -> list[tuple[str, str | None]]:
    async def read() -> list[tuple[str, str | None]]:
        ledger = ReadOnlyLedger(home / LEDGER, SystemClock())
        try:
            return [
                (turn.state.value, turn.interruption)
                for line in await ledger.sessions()
                for turn in await ledger.turns(line.id)
            ]
        finally:
            await ledger.close()

    return asyncio.run(read())


def test_a_killed_gateway_is_started_again_and_its_work_goes_on(home: Path) -> None:
    started = Started(home, supervised=True, HOLDFAST_AGENT_PACE="0.2").ready()
    started.ask("say", chat="home", text="Do 4 steps.")
    while not started.ask("plan")["running"]:
        pass
    child = started.ask("status")["pid"]
    os.kill(child, signal.SIGKILL)
    started.ready()
    assert started.ask("status")["pid"] != child
    found = started.ask("continuity")
    assert found["continuity"]["previous_ended"] == "crashed"
    instance = started.ask("status")["instance"]
    while [one["instance"] for one in found["reports"]] != [instance]:
        found = started.ask("continuity")
    (report,) = found["reports"]
    assert "a crash, a kill or a power cut" in report["lines"][0]
    assert [fate["became"] for fate in report["fates"]] == ["resume"]
    assert started.replies("home", 1)[0].startswith("All 4 steps are done")
    assert "supervisor" in started.ask("shutdown")["asked"]
    assert started.end()[0] == 0
    with pytest.raises(NotRunning):
        started.ask("status")


@pytest.mark.guards("R3.4", "G16", "G18")
def test_a_new_supervisor_waits_for_an_orphans_end_and_then_keeps_a_gateway_up(home: Path) -> None:
    started = Started(home, supervised=True).ready()
    child = started.ask("status")["pid"]
    started.process.kill()
    started.process.wait()
    assert started.ask("status")["kept_up_by"] is None
    second = Started(home, supervised=True)
    assert second.process.stderr is not None
    assert f"another gateway (process {child})" in second.process.stderr.readline()
    assert "starting it again" in second.process.stderr.readline()
    os.kill(child, signal.SIGTERM)
    assert started.hear() == "STOPPING=1"
    started.end()
    second.ready()
    assert "supervisor" in second.ask("shutdown")["asked"]
    assert second.end()[0] == 0


def test_under_systemd_a_stop_is_left_to_systemd(home: Path) -> None:
    gateway = Started(home, INVOCATION_ID="x")
    assert gateway.hear() == "FDSTORE=1\nFDNAME=web", "systemd holds the page's socket over a restart"
    gateway.ready()
    with pytest.raises(RequestDeclined, match="systemctl stop"):
        gateway.ask("shutdown")
    assert gateway.ask("status")["kept_up_by"] == "systemd"
    gateway.process.terminate()
    assert gateway.end()[0] == 0


IN_NO_HURRY = """
import threading
if any(thread.name == "watchdog" for thread in threading.enumerate()):
    raise RuntimeError("a watchdog waits for a loop that cannot turn before this is imported")
from holdfast.agents import echo_agent
agent = echo_agent()
"""


def test_no_watchdog_waits_for_the_loop_while_an_agent_is_imported(home: Path) -> None:
    (home / "slowly.py").write_text(IN_NO_HURRY)
    gateway = Started(home, HOLDFAST_AGENT_USE="slowly:agent", PYTHONPATH=str(home)).ready()
    gateway.process.terminate()
    assert gateway.end()[0] == 0


def test_systemds_watchdog_is_kept_informed(home: Path) -> None:
    gateway = Started(home, WATCHDOG_USEC="1000000")
    assert {gateway.hear(), gateway.hear(), gateway.hear()} >= {"WATCHDOG=1", "READY=1"}
    gateway.process.terminate()
    assert gateway.end()[0] == 0


def test_looking_works_with_a_gateway_and_without_one(home: Path) -> None:
    gateway = Started(home).ready()
    position = gateway.ask("say", chat="home", text="Do 1 step.")["position"]
    gateway.replies("home", 1)
    looks = [("sessions", {}), ("trace", {"position": position}), ("outbox", {"chat": "home"})]
    while gateway.ask("outbox", chat="home")["deliveries"][0]["state"] != "sent":
        pass
    running = [asyncio.run(look(home, do, **arguments)) for do, arguments in looks]
    gateway.process.terminate()
    assert gateway.end()[0] == 0
    assert [asyncio.run(look(home, do, **arguments)) for do, arguments in looks] == running
    with pytest.raises(RequestDeclined, match="there is no session"):
        asyncio.run(look(home, "session", session="nobody"))
    with pytest.raises(RequestDeclined, match="unknown argument"):
        asyncio.run(look(home, "sessions", limits=3))
    with pytest.raises(NotRunning):
        asyncio.run(look(home, "say", chat="home", text="nobody hears this"))


@pytest.mark.guards("R3.4")
def test_a_stop_ends_whatever_keeps_the_gateway_up_also_while_no_gateway_runs(home: Path) -> None:
    started = Started(home, supervised=True).ready()
    assert "supervisor" in asyncio.run(stop_gateway(home))
    assert started.end()[0] == 0
    with pytest.raises(NotRunning):
        asyncio.run(stop_gateway(home))
    (home / "holdfast.toml").write_text('agent.use = "gone:agent"')
    command = [sys.executable, supervisor.__file__, str(home), "false"]
    waiting = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert waiting.stderr is not None
    assert "starting it again in 1 s" in waiting.stderr.readline()
    assert "supervisor" in asyncio.run(stop_gateway(home))
    waiting.communicate(timeout=LONG)
    assert waiting.returncode == 0


def test_an_operator_gives_commands_in_the_place_of_the_people_once(home: Path) -> None:
    gateway = Started(home, HOLDFAST_AGENT_PACE="60").ready()
    gateway.ask("say", chat="home", text="Do 2 steps.")
    while not gateway.ask("plan")["running"]:
        pass
    stopped = gateway.ask("stop", chat="home", event_id="mine")
    assert (stopped["state"], stopped["fresh"]) == ("executed", True)
    again = gateway.ask("stop", chat="home", event_id="mine")
    assert (again["position"], again["fresh"]) == (stopped["position"], False)
    while gateway.ask("plan")["running"]:
        pass
    (session,) = gateway.ask("sessions")["sessions"]
    assert session["state"] == "cancelled"
    assert gateway.ask("resume", session=session["id"])["state"] == "refused", (
        "nothing was left to go on with"
    )
    assert gateway.ask("new", session=session["id"])["state"] == "executed"
    assert gateway.ask("session", session=session["id"])["session"]["ended_why"] == "new"
    with pytest.raises(RequestDeclined, match="there is no"):
        gateway.ask("stop", chat="nobody-wrote-here")
    gateway.process.terminate()
    assert gateway.end()[0] == 0
