"""Text of models, tools, people and servers on a terminal: shown whole, and in control of nothing."""

import io
import logging
import re
import unicodedata
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from holdfast.cli.chat.screen import Screen, delivery_line
from holdfast.cli.commands.logs import _cells
from holdfast.cli.commands.show import print_session
from holdfast.cli.render.output import PlainConsole, complain, print_pairs, print_table
from holdfast.cli.render.tables import (
    print_plan,
    print_reports,
    print_sessions,
    print_status,
    print_trace,
)
from holdfast.cli.render.terminal_text import joined
from holdfast.model import CallId, CallRecord, CallState, EffectClass
from holdfast.policy.consent.card import consent_card
from holdfast.policy.consent.visible_text import visible
from holdfast.telemetry import controls_named
from holdfast.telemetry.log import event_of

# Clears the screen, rings, colours (by one character), goes back in the line, turns the text around; and half
# of a character, which cannot be written. Short enough for what is shown in one line.
HOSTILE = "a\x1b[2J\x07\x9b31m\r\u202e\ud83d \\[bold]b[/]\\"
SHOWN = r"a\u{1b}[2J\u{7}\u{9b}31m\u{d}\u{202e}\u{d83d} \[bold]b[/]" + "\\"
NOW = 1_700_000_100_000


def pipe() -> Console:
    """A console that adds no control character of its own."""
    return Console(file=io.StringIO(), width=10_000, soft_wrap=True, highlight=False, emoji=False)


def said(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def assert_harmless(text: str) -> None:
    assert {one for one in text if unicodedata.category(one) in ("Cc", "Cs")} <= {"\n", "\t"}
    assert SHOWN in text


# Cards.

ODD = st.text(
    st.sampled_from("\\[]/ \n`=b'\x1b\x9b\r\u202e") | st.characters(exclude_characters="\t"), max_size=60
)


def card(text: str, options: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"kind": "question", "text": text, "files": [], "options": list(options)}


@given(ODD)
@pytest.mark.guards("R22.4")
def test_a_card_in_the_terminal_is_its_text_with_control_characters_named(text: str) -> None:
    out = pipe()
    out.print(delivery_line(card(f"x{text}x")))
    lines = said(out).removesuffix("\n").split("\n")
    assert lines[0].startswith("question ")
    assert "\n".join(line[9:] for line in lines) == controls_named(f"x{text}x")


@given(ODD, st.integers(20, 60))
@pytest.mark.guards("R22.4")
def test_no_width_of_the_terminal_takes_a_character_from_a_card(text: str, width: int) -> None:
    call = CallRecord(CallId("c"), "terminal", f"x{text}x", EffectClass.EFFECT, "k", CallState.PLANNED)
    shown = consent_card(call, str).text
    out = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None, highlight=False)
    out.print(delivery_line(card(shown)))
    rows = said(out).removesuffix("\n").split("\n")
    assert "".join("".join(rows).split(" ")) == "question" + "".join(re.split("[ \n]", shown))
    assert [row for row in rows if cell_len(row) > width] == []


def test_blanks_where_a_row_of_a_card_ends_are_kept() -> None:
    out = Console(file=io.StringIO(), width=30, force_terminal=True, color_system=None, highlight=False)
    out.print(delivery_line(card("rm " + "x" * 16 + "      /etc      and more of it")))
    assert (
        said(out)
        == "question rm xxxxxxxxxxxxxxxx  \n" + " " * 17 + "/etc      and\n" + " " * 14 + "more of it\n"
    )


def test_rows_of_a_card_end_between_words_where_one_blank_stands() -> None:
    out = Console(file=io.StringIO(), width=30, force_terminal=True, color_system=None, highlight=False)
    out.print(delivery_line(card("The program runs contained and " + "x" * 24)))
    rows = said(out).splitlines()
    assert [row.strip() for row in rows] == [
        "question The program runs",
        "contained and",
        "x" * 17,
        "x" * 7,
    ]


def test_further_rows_of_a_line_of_a_card_do_not_begin_like_a_line() -> None:
    out = Console(file=io.StringIO(), width=40, force_terminal=True, color_system=None, highlight=False)
    out.print(delivery_line(card("path: a" + " " * 33 + "force: no\nforce: yes")))
    begin = [len(row) - len(row.lstrip()) for row in said(out).splitlines() if "force" in row]
    assert begin[0] > begin[1] == 9


def test_an_answer_of_a_card_is_shown_as_it_is() -> None:
    out = pipe()
    out.print(delivery_line(card("May I?", (HOSTILE, "no"))))
    assert_harmless(said(out))


# The rest of a chat.

DELIVERY = {"number": 1, "text": HOSTILE, "options": [], "files": []}
FILE = {"digest": "ab" * 32, "name": HOSTILE, "media_type": "application/pdf", "size": 1}
CALLS = [{"id": "c", "name": HOSTILE, "arguments": HOSTILE}]
ENTRY = {"seq": 1, "turn": "t", "at": 0, "text": HOSTILE, "woken": False, "sender": HOSTILE}


@pytest.mark.parametrize(
    "event",
    [
        {"delivery": {**DELIVERY, "kind": "reply"}},
        {"delivery": {**DELIVERY, "kind": "reply", "text": "", "files": [FILE]}},
        {"delivery": {**DELIVERY, "kind": "notice"}},
        {"entry": {**ENTRY, "kind": "said", "woken": True}},
        {"entry": {**ENTRY, "kind": "said"}},
        {"entry": {**ENTRY, "kind": "replied", "calls": CALLS}},
        {"entry": {**ENTRY, "kind": "replied", "text": "", "calls": CALLS}},
        {"entry": {**ENTRY, "kind": "returned", "state": "done"}},
        {"entry": {**ENTRY, "kind": "noted"}},
    ],
)
def test_no_event_of_a_chat_controls_the_terminal(event: dict[str, Any]) -> None:
    out = pipe()
    Screen(out, show_said=True).event(event)
    assert_harmless(said(out))


def test_an_unfinished_answer_does_not_control_the_terminal() -> None:
    out = Console(file=io.StringIO(), width=400, force_terminal=True, color_system=None, highlight=False)
    Screen(out, lambda: "").event({"preview": {"text": HOSTILE}})
    assert_harmless(said(out).removeprefix("\r\x1b[K"))


# Commands that look.

SESSION = {
    "id": "s",
    "key": HOSTILE,
    "began_at": NOW,
    "began": "first",
    "generation": 1,
    "strikes": 0,
    "suspended_at": None,
    "ended_at": None,
}
TURN = {
    "id": "t",
    "cause": 1,
    "state": HOSTILE,
    "interruptions": 0,
    "interruption": None,
    "begun_at": NOW,
    "why": HOSTILE,
    "held": None,
}
DECISION = {
    "at": NOW,
    "turn": "t",
    "what": HOSTILE,
    "detail": {},
    "sentence": HOSTILE,
    "found": HOSTILE,
    "row": HOSTILE,
    "facts": [HOSTILE],
}
OWED = {"number": 1, "kind": "reply", "state": "sent", "reason": HOSTILE, "text": HOSTILE, "files": [FILE]}
FOUND = {
    "session": SESSION,
    "entries": [
        {**ENTRY, "kind": "said"},
        {**ENTRY, "kind": "replied", "calls": CALLS},
        {**ENTRY, "kind": "returned", "state": "done"},
        {**ENTRY, "kind": "noted"},
        {**ENTRY, "kind": HOSTILE},
    ],
    "turns": [TURN],
    "calls": [{"state": "done", "name": HOSTILE, "effect": "read", "arguments": HOSTILE}],
    "decisions": [DECISION],
    "outbox": [OWED],
    "waiting": [{"position": 1, "kind": "said", "text": HOSTILE}],
}
LISTED = {
    "id": "s",
    "key": HOSTILE,
    "began_at": NOW,
    "state": HOSTILE,
    "suspended": True,
    "held": HOSTILE,
    "strikes": 1,
    "ended_at": NOW,
}
TRACE = {
    "position": 1,
    "message": {"sender": HOSTILE, "text": HOSTILE, "state": HOSTILE},
    "happenings": [{"at": NOW, "what": HOSTILE, "subject": HOSTILE, "instance": "i", "detail": HOSTILE}],
}
STANDING = {
    "home": HOSTILE,
    "gateway": None,
    "supervisor": None,
    "last_run": {"pid": 1, "seen_at": NOW, "ended": HOSTILE},
    "agent": HOSTILE,
    "platforms": [{"name": HOSTILE, "connected": False, "account": HOSTILE, "trouble": HOSTILE}],
    "mcp": [{"name": HOSTILE, "since": NOW, "state": "down", "starts": 1, "tools": 0, "words": HOSTILE}],
    "boot": {"at": NOW, "instance": HOSTILE, "lines": [HOSTILE] * 4},
}
RUNNING = {"turn": "t", "chat": HOSTILE, "running_for": 1, "quiet_for": 1, "on_interruption": "ask"}
LOGGED = {"at": HOSTILE, "level": HOSTILE, "what": HOSTILE, "exception": HOSTILE, "turn": HOSTILE}

PRINTS: dict[str, Callable[[Console], None]] = {
    "show": lambda out: print_session(out, FOUND),
    "sessions": lambda out: print_sessions(out, [LISTED], NOW, everything=True),
    "trace": lambda out: print_trace(out, TRACE),
    "status": lambda out: print_status(out, STANDING, NOW),
    "continuity": lambda out: print_reports(out, [STANDING["boot"]], NOW),  # type: ignore[list-item] # JSON
    "restart --plan": lambda out: print_plan(out, [RUNNING]),
    "logs": lambda out: print_table(out, ("at", "level", "what", "about"), [_cells(LOGGED)]),
    "logs -f": lambda out: out.print(joined("  ", _cells(LOGGED))),
    "tables": lambda out: print_table(out, ("one", "two"), [(HOSTILE, "b")]),
    "pairs": lambda out: print_pairs(out, [(HOSTILE, HOSTILE)]),
}


@pytest.mark.parametrize("command", PRINTS)
def test_no_command_that_looks_lets_text_control_the_terminal(command: str) -> None:
    out = pipe()
    PRINTS[command](out)
    assert_harmless(said(out))


@pytest.mark.parametrize("command", PRINTS)
def test_a_terminal_gets_only_the_styles_of_the_commands(command: str) -> None:
    out = Console(file=io.StringIO(), width=4_000, force_terminal=True, color_system="standard", emoji=False)
    PRINTS[command](out)
    assert_harmless(re.sub("\x1b" + r"\[[0-9;]*m", "", said(out)))


def test_a_string_that_is_printed_as_it_is_controls_nothing_either() -> None:
    out = PlainConsole(file=io.StringIO(), width=10_000, highlight=False, emoji=False)
    out.print(HOSTILE)
    assert said(out) == f"{SHOWN}\n"


def test_a_complaint_controls_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    complain(HOSTILE)
    assert capsys.readouterr().err == f"holdfast: {SHOWN}\n"


def test_the_log_controls_no_terminal_in_which_it_is_read() -> None:
    record = logging.LogRecord("holdfast", logging.ERROR, "", 0, "it said %s", (HOSTILE,), None)
    record.server = HOSTILE
    event = event_of(record)
    assert event["what"] == f"it said {SHOWN}"
    assert event["server"] == SHOWN


@given(ODD)
def test_a_card_has_nothing_that_would_be_named_in_the_terminal(text: str) -> None:
    assert controls_named(visible(text)) == visible(text)
