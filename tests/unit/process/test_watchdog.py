import os
import subprocess
import sys
import threading

import pytest

from holdfast.process.watchdog import Watchdog
from tests.support.children import Child
from tests.unit.project.tree import ROOT


def test_a_stop_that_takes_too_long_is_ended_and_the_first_word_counts() -> None:
    ended = threading.Event()
    words: list[str] = []

    def end(why: str) -> None:
        words.append(why)
        ended.set()

    watchdog = Watchdog(end)
    watchdog.expect_end(0.01)
    watchdog.expect_end(3_600)
    assert ended.wait(60)
    assert words == ["the stop took longer than it may"]


def test_a_process_whose_stop_hangs_is_ended_with_code_1_and_says_where_it_stood() -> None:
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
