import os
import subprocess
import sys
import threading

import pytest

from holdfast.app.watchdog import Watchdog
from holdfast.clock import SystemClock
from holdfast.testing import ManualClock
from tests.support.children import Child
from tests.unit.project.tree import ROOT


def never(why: str) -> None:
    raise AssertionError(why)


def test_a_loop_that_beats_is_left_alone_and_one_that_does_not_is_not() -> None:
    clock = ManualClock()
    watchdog = Watchdog(clock, 30, never)
    clock.advance(30_000)
    assert watchdog.verdict() is None
    watchdog.beat()
    clock.advance(30_001)
    assert "stood still" in (watchdog.verdict() or "")


def test_a_stop_that_takes_too_long_is_ended_though_the_loop_beats_and_the_first_word_counts() -> None:
    clock = ManualClock()
    watchdog = Watchdog(clock, 30, never)
    watchdog.expect_end(60)
    clock.advance(29_000)
    watchdog.beat()
    watchdog.expect_end(600)
    clock.advance(29_000)
    watchdog.beat()
    assert watchdog.verdict() is None
    clock.advance(2_001)
    assert "longer than it may" in (watchdog.verdict() or "")


def test_a_clock_set_back_or_forth_ends_nobody() -> None:
    clock = ManualClock()
    watchdog = Watchdog(clock, 30, never)
    clock.jump(10_000_000)
    assert watchdog.verdict() is None


def test_a_process_that_was_stopped_as_a_whole_gets_its_time_anew() -> None:
    clock = ManualClock()
    words: list[str] = []
    watchdog = Watchdog(clock, 30, words.append)
    clock.advance(3_000)
    assert not watchdog.look()
    clock.advance(600_000)
    assert not watchdog.look(), "the watchdog stood still as long as the loop"
    for _ in range(10):
        clock.advance(3_000)
        assert not watchdog.look()
    clock.advance(3_000)
    assert watchdog.look()
    assert len(words) == 1


def test_its_thread_acts_while_everything_else_stands() -> None:
    ended = threading.Event()
    words: list[str] = []

    def end(why: str) -> None:
        words.append(why)
        ended.set()

    watchdog = Watchdog(SystemClock(), 0.01, end)
    watchdog.start()
    assert ended.wait(60)
    assert "stood still" in words[0]


def test_a_process_whose_loop_hangs_is_ended_with_code_1_and_says_where_it_stood() -> None:
    child = Child("tests.support.hanging")
    assert child.end() == 1


@pytest.mark.parametrize("reader", ["gone", "stuck"])
def test_it_ends_the_process_also_when_nobody_takes_its_words(reader: str) -> None:
    reading, writing = os.pipe()
    if reader == "gone":
        os.close(reading)
    else:
        fill(writing)
    process = subprocess.Popen([sys.executable, "-m", "tests.support.hanging"], cwd=ROOT, stderr=writing)
    os.close(writing)
    assert process.wait(60) == 1
    if reader == "stuck":
        os.close(reading)


def fill(pipe: int) -> None:
    """Write until nothing more goes in."""
    os.set_blocking(pipe, False)
    try:
        while os.write(pipe, bytes(4096)):
            pass
    except BlockingIOError:
        os.set_blocking(pipe, True)
