"""A loop that stands still, also one that keeps the interpreter to itself, is ended from outside."""

import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from holdfast.process.supervisor import STOOD_STILL, LoopWatch
from holdfast.store.sqlite import last_word
from tests.support.commands import gateway_pid
from tests.support.outside import Build, House

SETTINGS = 'watchdog.loop = "3s"\nsafe_mode.exits = 100\ndrain.wait = "0s"\n'


def be_patient(house: House) -> None:
    """Processes that start from now on may stand still for long: a busy machine lets a sound loop wait."""
    config = house.home / "holdfast.toml"
    config.write_text(config.read_text().replace('watchdog.loop = "3s"', 'watchdog.loop = "60s"'))


@pytest.mark.guards("R3.3", "R22.8")
@pytest.mark.parametrize("supervised", [True, False], ids=["supervised", "alone"])
def test_a_call_that_keeps_the_interpreter_lock_is_ended_from_outside(build: Build, supervised: bool) -> None:
    house = build(SETTINGS)
    gateway = house.up(supervised)
    hung = gateway_pid(house.home)
    be_patient(house)
    house.hold("seize a")
    house.say("home", "do seize #a")
    if supervised:
        gateway.ready()
        assert gateway_pid(house.home) != hung
    else:
        assert gateway.end() == -signal.SIGABRT
    words = gateway.words
    assert f"the event loop of process {hung} hung for" in words
    assert "Fatal Python error: Aborted" in words and "inside.py" in words, "it says where it stood"
    house.hold()
    gateway = gateway if supervised else house.up()
    assert house.heard("home", "answer to a") == ["answer to a"]
    gateway.stop()


@pytest.mark.guards("R8.2", "R22.8")
def test_a_tool_that_stopped_the_loop_makes_its_session_a_suspect_at_once_and_no_other(build: Build) -> None:
    house = build(SETTINGS)
    house.hold("before seize a", "seize a", "model b 0")
    gateway = house.up(supervised=True)
    house.say("other", "do read #b")
    house.say("home", "do seize #a")
    # Both run at each of the two deaths: a suspect would keep another suspect waiting.
    for death in (1, 2):
        house.reached("model b 0")
        place = house.reached("before seize a")
        if death == 2:
            house.hold("seize a")
            be_patient(house)
        place.go()
        gateway.ready()
    # Its second death, not its third, parks it.
    house.heard("home", "parked")
    house.heard("other", "answer to b")
    gateway.stop()
    assert [turn["state"] for turn in house.turns("home")] == ["parked"]
    assert STOOD_STILL == last_word.STOOD_STILL


class Hands:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def hands(monkeypatch: pytest.MonkeyPatch) -> Hands:
    found = Hands()
    monkeypatch.setattr("holdfast.process.supervisor.time", found)
    return found


@pytest.fixture
def asleep() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "3600"]) as process:
        yield process
        process.kill()


def looked(watch: LoopWatch, hands: Hands, seconds: int) -> float | None:
    """What the watch says in the end, after a look every second."""
    for _ in range(seconds):
        hands.now += 1
        if (still := watch.stood_still()) is not None:
            return still
    return None


def test_a_process_that_was_stopped_is_not_to_blame_and_gets_its_time_again(
    hands: Hands, asleep: subprocess.Popen[bytes]
) -> None:
    watch = LoopWatch(asleep.pid)
    assert looked(watch, hands, 100) is None, "it has promised nothing yet"
    watch.heard(b"WATCHDOG_USEC=10000000\nWATCHDOG=1\n")
    asleep.send_signal(signal.SIGSTOP)
    os.waitpid(asleep.pid, os.WUNTRACED)
    assert looked(watch, hands, 100) is None
    asleep.send_signal(signal.SIGCONT)
    os.waitid(os.P_PID, asleep.pid, os.WCONTINUED | os.WNOWAIT)
    assert looked(watch, hands, 9) is None
    watch.heard(b"WATCHDOG=1\n")
    assert looked(watch, hands, 100) == 11


def test_a_machine_that_slept_blames_nobody(hands: Hands, asleep: subprocess.Popen[bytes]) -> None:
    watch = LoopWatch(asleep.pid)
    watch.heard(b"WATCHDOG_USEC=10000000\n")
    assert looked(watch, hands, 5) is None
    hands.now += 3_600
    assert watch.stood_still() is None
    assert looked(watch, hands, 9) is None
    assert looked(watch, hands, 5) == 11
