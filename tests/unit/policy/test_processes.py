"""Background processes: who is who, and what is watched for."""

import pytest

from holdfast.model import ProcessId, ProcessState
from holdfast.policy.processes import (
    LONGEST_LINE,
    Identity,
    ProcessStatus,
    Scan,
    ended_text,
    fits,
    last_line,
    match_text,
    process_id,
    refused_patterns,
    scan,
    standing,
    state_text,
)


@pytest.mark.parametrize(
    ("output", "line"),
    [
        (b"", ""),
        (b"one\ntwo\n\n", "two"),
        (b"10 %\r20 %\r", "20 %"),
        (b"\x1b[31mred\x1b[0m\x07\x1b]0;title\x07", "red"),
        (b"\xff" + b"x" * 500, "\ufffd" + "x" * 199),
    ],
    ids=["nothing", "lines", "a bar that moves", "colours", "long and no text"],
)
def test_the_last_line_is_one_that_says_something_and_moves_no_cursor(output: bytes, line: str) -> None:
    assert last_line(output) == line


KNOWN = Identity(7, 100, "monday")
OURSELVES = 1


@pytest.mark.guards("R11.1", "F10")
@pytest.mark.parametrize(
    ("seen", "code", "ourselves", "expected"),
    [
        (KNOWN, None, OURSELVES, ProcessState.RUNNING),
        (None, None, OURSELVES, ProcessState.LOST),
        (Identity(7, 101, "monday"), None, OURSELVES, ProcessState.LOST),
        (Identity(7, 100, "tuesday"), None, OURSELVES, ProcessState.LOST),
        (KNOWN, None, KNOWN.pid, ProcessState.LOST),
        (KNOWN, 0, OURSELVES, ProcessState.EXITED),
        (None, 3, OURSELVES, ProcessState.EXITED),
        (Identity(7, 101, "monday"), 3, OURSELVES, ProcessState.EXITED),
    ],
    ids=[
        "runs",
        "is gone",
        "its pid is somebody else's",
        "the machine has restarted",
        "it is the gateway itself",
        "has left its exit code",
        "is gone, with its exit code",
        "has ended, and its pid is somebody else's",
    ],
)
def test_a_process_is_known_by_pid_start_time_and_start_of_the_machine(
    seen: Identity | None, code: int | None, ourselves: int, expected: ProcessState
) -> None:
    assert standing(KNOWN, seen, code, ourselves) == ProcessStatus(expected, code)


@pytest.mark.parametrize(
    ("pattern", "line", "expected"),
    [
        ("error", "An ERROR occurred", True),
        ("Listening on", "listening ON port 3", True),
        ("error", "all is well", False),
        ("fail*test", "FAILED: one test", True),
        ("test*fail", "FAILED: one test", False),
        ("*ready*", "ready", True),
        ("aa*aa", "aaa", False),
        (".", "no regular expression", False),
    ],
)
def test_a_pattern_is_text_in_any_case_with_stars(pattern: str, line: str, expected: bool) -> None:
    assert fits(pattern, line) is expected


def test_a_pattern_of_many_stars_on_a_long_line_is_no_work() -> None:
    assert not fits("a*" * 90 + "b", "a" * 100_000)


@pytest.mark.parametrize(
    ("data", "to_the_end", "expected"),
    [
        (b"", False, Scan((), 0, 0)),
        (b"one\nerror two\nthree\n", False, Scan(("error two",), 14, 20)),
        (b"one\nerror: not yet who", False, Scan((), 0, 4)),
        (b"one\nerror: its last words", True, Scan(("error: its last words",), 25, 25)),
        (b"50%\rerror 51%\r52%", False, Scan(("error 51%",), 14, 14)),
        (b"error \xff\n", False, Scan(("error \ufffd",), 8, 8)),
        (b"e" * LONGEST_LINE + b"error", False, Scan((), 0, LONGEST_LINE + 5)),
    ],
    ids=[
        "nothing",
        "lines",
        "half a line waits",
        "the last half line",
        "carriage returns",
        "no text",
        "long",
    ],
)
def test_output_is_looked_through_line_by_line(data: bytes, to_the_end: bool, expected: Scan) -> None:
    assert scan(data, ("error",), to_the_end) == expected


def test_a_call_has_one_process_and_another_call_has_another() -> None:
    assert process_id("t1:c1") == process_id("t1:c1") != process_id("t1:c2")


@pytest.mark.parametrize(
    ("patterns", "refused"),
    [
        ((), False),
        (("error",), False),
        (("*",), True),
        (("",), True),
        (("x" * 300,), True),
        (("x",) * 11, True),
    ],
)
def test_what_can_be_watched_for(patterns: tuple[str, ...], refused: bool) -> None:
    assert (refused_patterns(patterns) is not None) is refused


def test_the_words_say_how_it_ended_and_what_was_found() -> None:
    id = ProcessId("p1")
    assert state_text(ProcessStatus(ProcessState.RUNNING)) == "running"
    assert ended_text(id, "make\nall", ProcessState.EXITED, 2) == (
        "The background process p1 (make all) is ended, exit code 2."
    )
    assert "how it ended is unknown" in ended_text(id, "make", ProcessState.LOST, None)
    assert match_text(id, "make", [f"error {n}" for n in range(12)]).count("> error") == 10
