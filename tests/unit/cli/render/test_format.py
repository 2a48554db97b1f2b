import pytest

from holdfast.cli.render.format import ago, coloured, moment, one_line, plural, span


@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (1_000, "1 s"),
        (61_000, "1 min"),
        (7_200_000, "2 h"),
        (200_000_000, "2 d"),
    ],
)
def test_a_length_of_time_is_said_in_its_largest_unit(milliseconds: int, words: str) -> None:
    assert span(milliseconds) == words


def test_a_moment_a_clock_running_ahead_wrote_was_just_now() -> None:
    assert ago(2_000, now=1_000) == "0 ms ago"
    assert ago(None, now=1_000) == "–"


def test_a_moment_keeps_its_milliseconds() -> None:
    assert moment(1_700_000_000_042).endswith(".042")
    assert moment(None) == "–"


def test_a_text_becomes_one_line_in_which_control_characters_are_named() -> None:
    assert one_line("[red]a\n  b[/]") == "[red]a b[/]"
    assert one_line("a\r\x1cb\x1b[2J") == r"a\u{d}\u{1c}b\u{1b}[2J"
    assert len(one_line("x" * 200, most=20)) == 20


def test_numbers_have_their_nouns_and_states_their_colours() -> None:
    assert [plural(1, "turn"), plural(2, "turn")] == ["1 turn", "2 turns"]
    assert coloured("parked").markup == "[red]parked[/red]"
    assert coloured("[new]").plain == "[new]"
