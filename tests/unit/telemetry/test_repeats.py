import logging

from holdfast.telemetry.repeats import Repeats


def line(words: str, at: float) -> logging.LogRecord:
    record = logging.LogRecord("any", logging.ERROR, "file", 1, words, None, None)
    record.created = at
    return record


def test_a_line_that_repeats_is_written_once_a_second_and_says_how_many_were_left_out() -> None:
    repeats = Repeats()
    written = []
    for number in range(2_500):
        record = line("no more files", number / 1_000)
        if repeats.filter(record):
            written.append(record.getMessage())
    more = "no more files (999 more like this were left out)"
    assert written == ["no more files", more, more]


def test_other_lines_are_not_held_back_and_a_clock_set_back_mutes_none() -> None:
    repeats = Repeats()
    assert repeats.filter(line("a", 100.0))
    assert repeats.filter(line("b", 100.0))
    assert repeats.filter(line("a", 10.0))


def test_what_is_remembered_is_bounded() -> None:
    repeats = Repeats()
    assert all(repeats.filter(line("line " + "a" * number, 0.0)) for number in range(1, 290))
    assert len(repeats._known) <= 100


def test_a_line_with_another_number_or_address_is_the_same_line() -> None:
    """Faults of connections name their file and their object, which are others each time."""
    repeats = Repeats()
    words = [f"no answer to <fd {number}>\n<transport at 0x7f{number:x}>" for number in range(1_000)]
    assert [repeats.filter(line(one, 0.0)) for one in words].count(True) == 1
