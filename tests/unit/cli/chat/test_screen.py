import io
from typing import Any

import pytest
from rich.console import Console

from holdfast.cli.chat.screen import Screen, event_line
from holdfast.cli.render.terminal_text import styled

REPLY = {"number": 1, "kind": "reply", "text": "done [x]", "options": [], "files": []}
FILE = {"digest": "ab" * 32, "name": "a [x].pdf", "media_type": "application/pdf", "size": 1_234_567}
CALL = {"id": "c1", "name": "note", "arguments": "{}"}
COMMAND = {"id": "c2", "name": "terminal", "arguments": '{"seconds": 3, "command": "ls -la\\n[x]"}'}
HIDDEN = {"id": "c3", "name": "terminal", "arguments": '{"command": "rm \\u202egpj\\u200b \\u3164"}'}
ENTRY = {"seq": 1, "turn": "t", "at": 0}


def plain(event: dict[str, Any], show_said: bool = False) -> str | None:
    line = event_line(event, show_said)
    if line is None:
        return None
    out = Console(file=io.StringIO(), width=200, highlight=False)
    out.print(line)
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue().rstrip("\n")


@pytest.mark.parametrize(
    ("event", "line"),
    [
        ({"delivery": REPLY}, "agent    done [x]"),
        (
            {"delivery": {**REPLY, "text": "", "files": [FILE]}},
            "agent    [File a [x].pdf (1.2 MB): holdfast file abababababab]",
        ),
        ({"delivery": {**REPLY, "kind": "notice"}}, "gateway  done [x]"),
        (
            {"delivery": {**REPLY, "kind": "notice", "options": ["/resume 01hx"]}},
            "gateway  done [x]\n         Resume it (owner): /resume 01hx",
        ),
        (
            {"delivery": {**REPLY, "kind": "question", "options": ["yes", "no [x]"]}},
            "question done [x]\n         1. yes\n         2. no [x]",
        ),
        (
            {"delivery": {**REPLY, "kind": "question", "text": "May I?\n\nfile: a"}},
            "question May I?\n\n         file: a",
        ),
        (
            {"entry": {**ENTRY, "kind": "replied", "text": "Step 1", "calls": [CALL]}},
            "agent    Step 1\n         note {}",
        ),
        (
            {"entry": {**ENTRY, "kind": "replied", "text": "", "calls": [COMMAND, CALL]}},
            "agent    terminal ls -la [x]\n         note {}",
        ),
        (
            {"entry": {**ENTRY, "kind": "replied", "text": "", "calls": [HIDDEN]}},
            r"agent    terminal rm \u{202e}gpj\u{200b} \u{3164}",
        ),
        ({"entry": {**ENTRY, "kind": "replied", "text": "the end", "calls": []}}, None),
        ({"entry": {**ENTRY, "kind": "returned", "state": "done", "text": "3\n"}}, "         ✓ 3"),
        ({"entry": {**ENTRY, "kind": "returned", "state": "unknown", "text": "?"}}, "         ? ?"),
        (
            {"entry": {**ENTRY, "kind": "returned", "state": "done", "text": "a\n" * 14}},
            "         ✓ " + "a\n         " * 12 + "… and 2 more lines",
        ),
        (
            {"entry": {**ENTRY, "kind": "said", "text": "p1 ended.\nIts output", "woken": True}},
            "gateway  p1 ended.\n         Its output",
        ),
        ({"entry": {**ENTRY, "kind": "noted", "text": "a\nb"}}, "         (the agent is told: a b)"),
        ({"entry": {**ENTRY, "kind": "said", "text": "hi"}}, None),
        ({"reconnected": True}, "reconnected"),
        ({"following": "terminal"}, None),
        ({"something": "a later version says"}, None),
    ],
)
def test_each_event_is_one_line_or_none(event: dict[str, Any], line: str | None) -> None:
    assert plain(event) == line


@pytest.mark.parametrize(
    "entry",
    [
        {
            "kind": "returned",
            "state": "skipped",
            "text": "terminal was not run: the person did not allow it.",
        },
        {
            "kind": "replied",
            "text": "",
            "calls": [{**COMMAND, "arguments": '{"command": "a b c d e f g h i j"}'}],
        },
    ],
)
def test_further_rows_of_a_step_stand_under_its_first(entry: dict[str, Any]) -> None:
    line = event_line({"entry": {**ENTRY, **entry}})
    out = Console(file=io.StringIO(), width=30, force_terminal=True, color_system=None, highlight=False)
    out.print(line)
    assert isinstance(out.file, io.StringIO)
    first, *further = out.file.getvalue().splitlines()
    assert further and all(row.startswith(" " * 9) and not row[9:].startswith(" ") for row in further)


def test_what_was_said_is_shown_where_nobody_typed_it() -> None:
    assert plain({"entry": {**ENTRY, "kind": "said", "text": "hi"}}, show_said=True) == "you      hi"


def test_a_line_printed_while_somebody_types_puts_their_words_back() -> None:
    out = Console(file=io.StringIO(), width=80)
    Screen(out, lambda: "half a sen").line(styled("news"))
    assert isinstance(out.file, io.StringIO)
    assert out.file.getvalue() == "\r\x1b[Knews\n> half a sen"


def live(console: Console, typed: str, *texts: str) -> str:
    screen = Screen(console, lambda: typed)
    for text in texts:
        screen.event({"preview": {"text": text}})
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def terminal(width: int = 80) -> Console:
    return Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)


def test_what_is_being_written_stands_in_one_line_until_the_committed_text_takes_its_place() -> None:
    out = terminal()
    assert live(out, "", "Step 1", "Step 1 of [2]") == "\r\x1b[Kagent    Step 1\r\x1b[Kagent    Step 1 of [2]"
    Screen(out, lambda: "").line(styled("agent    Step 1 of [2]: counting."))
    assert isinstance(out.file, io.StringIO)
    assert out.file.getvalue().endswith("\r\x1b[Kagent    Step 1 of [2]: counting.\n> ")


def test_of_a_long_text_the_end_is_shown_in_one_line() -> None:
    shown = live(terminal(width=20), "", "one two\nthree four").removeprefix("\r\x1b[Kagent    ")
    assert (shown, len(shown)) == ("…hree four", 10)


def test_text_that_is_over_gives_the_prompt_back() -> None:
    assert live(terminal(), "", "Step", "").endswith("\r\x1b[K> ")


def test_a_turn_that_takes_long_is_spoken_of_in_the_same_one_line() -> None:
    out = terminal()
    screen = Screen(out, lambda: "")
    for event in (
        {"working": {"notice": ""}},
        {"working": {"notice": "Still working: 1 minute so far."}},
        {"preview": {"text": "Step 1"}},
        {"working": {"notice": "Still working: 2 minutes so far."}},
        {"preview": {"text": ""}},
        {"working": None},
    ):
        screen.event(event)
    assert isinstance(out.file, io.StringIO)
    assert out.file.getvalue().split("\r\x1b[K") == [
        "",
        "gateway  Still working: 1 minute so far.",
        "agent    Step 1",
        "gateway  Still working: 2 minutes so far.",
        "> ",
    ]


def test_who_types_sees_their_own_words() -> None:
    assert live(terminal(), "half a", "Step 1") == "\r\x1b[K> half a"


def test_a_pipe_is_shown_no_unfinished_text() -> None:
    out = Console(file=io.StringIO(), width=80)
    assert live(out, "", "Step 1", "") == ""


QUESTION = {"id": "q1", "kind": "clarify", "text": "Which [x]?", "closed_at": 9}
EXPIRED, OPEN = {**QUESTION, "state": "expired"}, {**QUESTION, "state": "open", "closed_at": None}


def standing(*questions: dict[str, Any], said_at: int = 1) -> dict[str, Any]:
    return {"standing": {"questions": list(questions), "said": [{"at": said_at}]}}


@pytest.mark.guards("R13")
def test_a_question_without_an_answer_is_told_of_once_with_how_to_go_on() -> None:
    out = Console(file=io.StringIO(), width=200, highlight=False)
    screen = Screen(out)
    for event in (standing(OPEN), standing(EXPIRED), standing(EXPIRED)):
        screen.event(event)
    assert isinstance(out.file, io.StringIO)
    (line,) = out.file.getvalue().splitlines()
    assert line.startswith("gateway  No answer came in time to “Which [x]?”") and "/resume" in line


@pytest.mark.parametrize(
    ("typed", "said_at", "lines"), [(lambda: "", 1, 1), (lambda: "", 10, 0), (None, 1, 0)]
)
def test_a_chat_that_begins_later_hears_of_it_unless_something_was_said_since(
    typed: Any, said_at: int, lines: int
) -> None:
    out = Console(file=io.StringIO(), width=200, highlight=False)
    Screen(out, typed).event(standing(EXPIRED, said_at=said_at))
    assert isinstance(out.file, io.StringIO)
    assert out.file.getvalue().count("No answer came in time") == lines


def test_an_approval_without_an_answer_was_not_allowed() -> None:
    out = Console(file=io.StringIO(), width=200, highlight=False)
    screen = Screen(out)
    screen.event(standing({**OPEN, "kind": "approval"}))
    screen.event(standing({**EXPIRED, "kind": "approval"}))
    assert isinstance(out.file, io.StringIO)
    assert "so this was not allowed" in out.file.getvalue()
