"""The supervisor with real processes: lines through pipes say when something has happened."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.config import home as known_names
from holdfast.process import exit_codes, supervisor
from holdfast.process.supervisor import delay_after, supervisor_of
from tests.support.parts import missing
from tests.unit.project.tree import ROOT


class Supervised:
    """A supervisor of an obedient child."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-I", "-S", supervisor.__file__, str(home)),
                *(sys.executable, str(ROOT / "tests" / "support" / "obedient.py")),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    @property
    def pid(self) -> int:
        return self.process.pid

    def hear(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def complaint(self) -> str:
        assert self.process.stderr is not None
        return self.process.stderr.readline().strip()

    def child_is_up(self) -> int:
        """Waits for a fresh child and gives its process id."""
        up, pid, parent = self.hear().split()
        assert (up, int(parent)) == ("up", self.pid)
        return int(pid)

    def tell(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def end(self) -> int:
        return self.process.wait(60)


@pytest.fixture
def supervised(tmp_path: Path) -> Iterator[Supervised]:
    made = Supervised(tmp_path)
    yield made
    made.process.kill()
    # An orphan ends when nobody can tell it anything any more.
    made.process.communicate()


def test_a_restart_that_was_asked_for_happens_at_once(supervised: Supervised) -> None:
    first = supervised.child_is_up()
    for _ in range(3):
        supervised.tell("exit 75")
        assert supervised.child_is_up() != first


@pytest.mark.parametrize("end", ["exit 0", "exit 1", "die"])
def test_an_exit_nobody_asked_for_is_followed_by_a_start(supervised: Supervised, end: str) -> None:
    supervised.child_is_up()
    supervised.tell(end)
    supervised.child_is_up()


def test_a_bad_configuration_is_given_up_on(supervised: Supervised) -> None:
    supervised.child_is_up()
    supervised.tell("exit 78")
    assert supervised.end() == 78


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_is_passed_on_once_and_its_end_is_the_end(supervised: Supervised, number: int) -> None:
    supervised.child_is_up()
    os.kill(supervised.pid, number)
    assert supervised.hear() == "heard SIGTERM"
    os.kill(supervised.pid, number)
    assert supervised.hear() == "heard SIGTERM"
    supervised.tell("exit 0")
    assert supervised.end() == 0
    assert supervised.hear() == ""


def test_a_child_that_dies_after_a_stop_was_asked_for_is_not_started_again(supervised: Supervised) -> None:
    supervised.child_is_up()
    os.kill(supervised.pid, signal.SIGTERM)
    assert supervised.hear() == "heard SIGTERM"
    supervised.tell("die")
    assert supervised.end() == 128 + signal.SIGKILL


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_before_the_child_can_listen_is_a_stop_as_asked(supervised: Supervised, number: int) -> None:
    supervised.child_is_up()
    supervised.tell("deaf")
    assert supervised.hear() == "deaf"
    os.kill(supervised.pid, number)
    assert supervised.end() == 0
    assert supervised.process.stderr is not None
    assert "Traceback" not in supervised.process.stderr.read()


def test_a_restart_on_its_way_when_a_stop_is_asked_for_becomes_the_stop(supervised: Supervised) -> None:
    supervised.child_is_up()
    os.kill(supervised.pid, signal.SIGTERM)
    assert supervised.hear() == "heard SIGTERM"
    supervised.tell("exit 75")
    assert supervised.end() == 0


def test_a_child_that_dies_of_the_signal_before_it_can_hear_it_has_stopped_as_asked(
    supervised: Supervised,
) -> None:
    supervised.child_is_up()
    supervised.tell("deaf")
    assert supervised.hear() == "deaf"
    os.kill(supervised.pid, signal.SIGTERM)
    assert supervised.end() == 0


def test_it_goes_on_when_nobody_reads_what_it_says(supervised: Supervised) -> None:
    first = supervised.child_is_up()
    assert supervised.process.stderr is not None
    supervised.process.stderr.close()
    supervised.tell("exit 75")
    assert supervised.child_is_up() != first


def test_a_stop_during_the_pause_between_two_runs_ends_it_without_another(supervised: Supervised) -> None:
    supervised.child_is_up()
    supervised.tell("exit 3")
    # It says so once the child is gone and the pause begins.
    assert "starting it again in 1 s" in supervised.complaint()
    os.kill(supervised.pid, signal.SIGTERM)
    assert supervised.end() == 0
    assert supervised.hear() == ""


def test_the_terminals_interrupt_reaches_the_child_only_through_the_supervisor(
    supervised: Supervised,
) -> None:
    child = supervised.child_is_up()
    assert os.getpgid(child) == child != os.getpgid(supervised.pid)


def test_a_child_goes_on_when_its_supervisor_is_killed(supervised: Supervised) -> None:
    supervised.child_is_up()
    supervised.process.kill()
    supervised.process.wait()
    supervised.tell("ping")
    assert supervised.hear() == "pong"
    assert supervisor_of(supervised.home) is None


def test_a_home_has_one_supervisor_and_a_dead_one_is_none(supervised: Supervised) -> None:
    supervised.child_is_up()
    assert supervisor_of(supervised.home) == supervised.pid
    second = Supervised(supervised.home)
    assert second.end() == 1
    second.process.communicate()
    supervised.tell("exit 78")
    supervised.end()
    assert supervisor_of(supervised.home) is None
    third = Supervised(supervised.home)
    third.child_is_up()
    third.tell("exit 78")
    third.end()
    third.process.communicate()


def test_it_stays_small(supervised: Supervised) -> None:
    supervised.child_is_up()
    status = Path(f"/proc/{supervised.pid}/status")
    if not status.exists():
        missing("/proc, where Linux says how large a process is")
    (line,) = [line for line in status.read_text().splitlines() if line.startswith("VmRSS:")]
    assert int(line.split()[1]) < 20_000, "kilobytes"


def test_waits_double_up_to_a_minute_and_a_good_run_forgets_them() -> None:
    failures, waits = 0, []
    for _ in range(9):
        wait, failures = delay_after(1, 0.1, failures)
        waits.append(wait)
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert delay_after(1, 60, failures) == (1, 1)
    assert delay_after(75, 0.1, failures) == (0, 0)


def test_the_supervisor_which_imports_nothing_uses_the_names_and_codes_of_the_gateway() -> None:
    assert supervisor.CHANNEL_VARIABLE == known_names.CHANNEL_VARIABLE
    assert supervisor.LISTENING_VARIABLE == known_names.LISTENING_VARIABLE
    assert (supervisor.STOPPED, supervisor.RESTART) == (exit_codes.STOPPED, exit_codes.RESTART)
