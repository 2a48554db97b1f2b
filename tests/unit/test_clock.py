import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from holdfast.clock import SystemClock, SystemIds, mark, since
from holdfast.testing import ManualClock


class StoppedClock:
    """A wall clock that a time server set back: every id has to come from the one before it."""

    def now(self) -> int:
        return 1

    def monotonic(self) -> float:
        return 0.0

    def uptime(self) -> tuple[str, int]:
        return "", 0

    async def sleep(self, seconds: float) -> None:
        return None


def test_ids_grow_also_while_the_clock_does_not() -> None:
    ids = SystemIds(StoppedClock())
    made = [ids.new() for _ in range(1_000)]
    assert made == sorted(set(made))


@pytest.fixture
def eager_threads() -> Iterator[None]:
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("eager_threads")
def test_ids_asked_for_by_several_threads_are_all_different_and_grow_for_each() -> None:
    ids = SystemIds(StoppedClock())
    made: list[list[str]] = [[] for _ in range(4)]
    threads = [
        threading.Thread(target=lambda mine=mine: mine.extend(ids.new() for _ in range(5_000)))
        for mine in made
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id for mine in made for id in mine}) == 20_000
    assert all(mine == sorted(mine) for mine in made)


def test_a_moment_that_one_process_marked_another_measures_from() -> None:
    code = "from holdfast.clock import SystemClock, mark; import sys; sys.stdout.write(mark(SystemClock()))"
    before = mark(SystemClock())
    theirs = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    passed, later = since(SystemClock(), before), since(SystemClock(), theirs)
    assert passed is not None and later is not None
    assert 0 <= later <= passed + 1_000


def test_what_was_marked_is_measured_by_the_time_that_passed_and_only_in_one_run_of_the_machine() -> None:
    clock = ManualClock()
    marked = mark(clock)
    clock.advance(90_000)
    clock.jump(-60_000)
    assert since(clock, marked) == 90_000
    clock.reboot()
    assert since(clock, marked) is None


@pytest.mark.parametrize("marked", [None, "", ":", "run-1:", "run-1:x", "12"])
def test_what_is_no_mark_is_not_measured_from(marked: str | None) -> None:
    assert since(ManualClock(), marked) is None
