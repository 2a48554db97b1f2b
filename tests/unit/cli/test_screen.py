import io
from typing import Any

import pytest
from rich.console import Console

from holdfast.cli.chat.screen import Screen, event_line

REPLY = {"number": 1, "kind": "reply", "text": "done [x]", "options": []}
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
        ({"delivery": {**REPLY, "kind": "notice"}}, "gateway  done [x]"),
        (
            {"delivery": {**REPLY, "kind": "question", "options": ["yes", "no"]}},
            "question done [x] [yes / no]",
        ),
        ({"entry": {**ENTRY, "kind": "replied", "text": "Step 1", "calls": [{}]}}, "agent    Step 1"),
        ({"entry": {**ENTRY, "kind": "replied", "text": "the end", "calls": []}}, None),
        ({"entry": {**ENTRY, "kind": "returned", "state": "done", "text": "3\n"}}, "         ✓ 3"),
        ({"entry": {**ENTRY, "kind": "returned", "state": "unknown", "text": "?"}}, "         ? ?"),
        ({"entry": {**ENTRY, "kind": "noted", "text": "a\nb"}}, "         (the agent is told: a b)"),
        ({"entry": {**ENTRY, "kind": "said", "text": "hi"}}, None),
        ({"reconnected": True}, "reconnected"),
        ({"following": "terminal"}, None),
        ({"something": "a later version says"}, None),
    ],
)
def test_each_event_is_one_line_or_none(event: dict[str, Any], line: str | None) -> None:
    assert plain(event) == line


def test_what_was_said_is_shown_where_nobody_typed_it() -> None:
    assert plain({"entry": {**ENTRY, "kind": "said", "text": "hi"}}, show_said=True) == "you      hi"


def test_a_line_printed_while_somebody_types_puts_their_words_back() -> None:
    out = Console(file=io.StringIO(), width=80)
    Screen(out, lambda: "half a sen").line("news")
    assert isinstance(out.file, io.StringIO)
    assert out.file.getvalue() == "\r\x1b[Knews\n> half a sen"
