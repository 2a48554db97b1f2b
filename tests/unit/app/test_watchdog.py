import threading

from holdfast.app.watchdog import Watchdog
from holdfast.clock import SystemClock
from holdfast.testing import ManualClock
from tests.support.children import Child


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
