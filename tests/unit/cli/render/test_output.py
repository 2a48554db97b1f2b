import io
import json

import pytest
from rich.console import Console

from holdfast.cli.commands.show import print_session
from holdfast.cli.render.format import moment
from holdfast.cli.render.output import complain, print_json, print_pairs, print_table
from holdfast.cli.render.tables import (
    print_plan,
    print_reports,
    print_sessions,
    print_status,
    print_trace,
)
from holdfast.cli.render.terminal_text import styled

NOW = 1_700_000_100_000
HOME = {"home": "/h", "gateway": None, "supervisor": None, "last_run": None}


def console(terminal: bool = False) -> Console:
    return Console(
        file=io.StringIO(), force_terminal=terminal, width=100 if terminal else 10_000, highlight=False
    )


def said(of: Console) -> str:
    assert isinstance(of.file, io.StringIO)
    return of.file.getvalue()


def test_a_pipe_gets_lines_with_tabs_and_no_colour() -> None:
    out = console()
    print_table(out, ("one", "two"), [(styled(("a", "red")), "b " * 100)])
    assert said(out).splitlines() == ["ONE\tTWO", "a\t" + "b " * 100]


def test_a_terminal_gets_a_table_in_colour() -> None:
    out = console(terminal=True)
    print_table(out, ("one", "two"), [(styled(("a", "red")), "b")])
    assert "\x1b[31ma" in said(out)
    assert "one" in said(out)


def test_pairs_stand_one_a_line() -> None:
    out = console()
    print_pairs(out, [("home", "/h"), ("gateway", styled(("running", "green")))])
    assert said(out) == "home\t/h\ngateway\trunning\n"


def test_json_is_ascii_even_of_half_characters(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"text": "\ud83d é"})
    shown = capsys.readouterr().out
    assert shown.isascii()
    assert json.loads(shown) == {"text": "\ud83d é"}


def test_a_complaint_goes_to_standard_error_and_its_brackets_are_kept(
    capsys: pytest.CaptureFixture[str],
) -> None:
    complain("key = [1] is not allowed")
    complain("it broke", as_json=True)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines() == ["holdfast: key = [1] is not allowed", '{"error": "it broke"}']


def test_a_home_where_nothing_ran_stands_without_numbers() -> None:
    out = console()
    print_status(out, HOME, NOW)
    assert "not running" in said(out)
    assert "messages" not in said(out)


def test_status_says_that_the_last_run_crashed() -> None:
    out = console()
    last = {"pid": 7, "seen_at": NOW - 5_000, "ended": None}
    counts = {"held": 0, "parked": 1, "on_hold": 2, "set_aside": 0}
    numbers = {"running": [], "open_turns": [1], "waiting": 2, "owed": 3, "unknown": 4, "counts": counts}
    print_status(out, {**HOME, "last_run": last, **numbers}, NOW)
    assert "process 7, ended 5 s ago: it crashed or was killed" in said(out)
    assert "2 waiting" in said(out)
    assert "3 on their way, 4 with an unknown outcome" in said(out)
    assert "parked\t1 session" in said(out)
    assert "on hold\t2 conversations" in said(out)


def test_a_plan_names_every_turn_a_restart_would_cut() -> None:
    out = console()
    turn = {
        "turn": "t1",
        "chat": "web/main/a",
        "running_for": 61_000,
        "quiet_for": 2_000,
        "on_interruption": "ask",
    }
    print_plan(out, [turn])
    assert "t1\tweb/main/a\t1 min\t2 s\tthe gateway asks the person" in said(out)
    quiet = console()
    print_plan(quiet, [])
    assert "interrupts nothing" in said(quiet)


def test_a_parked_session_with_strikes_says_so() -> None:
    line = {
        "id": "s1",
        "key": "web/main/a",
        "began_at": NOW - 60_000,
        "state": "parked",
        "suspended": True,
        "held": None,
        "strikes": 3,
        "ended_at": None,
    }
    out = console()
    print_sessions(out, [line], NOW, everything=False)
    assert said(out).splitlines()[1] == "s1\tweb/main/a\t1 min ago\tparked\tparked, 3 strikes"


def test_a_trace_shows_where_one_process_ended_and_another_went_on() -> None:
    def happened(at: int, what: str, instance: str) -> dict[str, object]:
        return {"at": at, "what": what, "subject": "turn:t", "instance": instance, "detail": None}

    out = console()
    print_trace(
        out,
        {
            "position": 3,
            "message": {"sender": "web:local", "text": "[b]hi", "state": "taken"},
            "happenings": [
                happened(NOW, "claimed", "i1"),
                happened(NOW + 1_500, "interrupted", "i2"),
                {**happened(NOW + 2_000, "done", "i2"), "subject": "call:c1", "detail": '{"tool":"count"}'},
            ],
        },
    )
    lines = said(out).splitlines()
    assert lines[0] == "message 3 from web:local: [b]hi (taken)"
    assert "claimed" in lines[1]
    assert "another one continues" in lines[2]
    assert "+1.500s" in lines[3]
    assert lines[4].endswith("✓ done  call:c1  tool count")


def test_a_trace_says_which_call_ran_by_a_rule_and_by_which() -> None:
    used = {
        "at": NOW,
        "what": "allowed_by_rule",
        "subject": "turn:t",
        "instance": "i1",
        "detail": json.dumps({"call": "c1-1", "rule": 7, "given_at": NOW - 3_600_000}),
    }
    message = {"sender": "web:local", "text": "again", "state": "taken"}
    out = console()
    print_trace(out, {"position": 3, "message": message, "happenings": [used]})
    line = said(out).splitlines()[1]
    assert f"allowed by the rule of {moment(NOW - 3_600_000)}" in line
    assert line.endswith("(call c1-1, rule 7)")


REPORT = {
    "at": NOW - 60_000,
    "instance": "run1",
    "lines": [
        "It was killed.",
        "Turns found open: 1.",
        "- t1: resume [a]",
        "Replies owed: 2.",
        "Waiting: 0.",
    ],
}


def test_the_standing_has_the_last_start_in_two_lines() -> None:
    out = console()
    print_status(out, {**HOME, "boot": REPORT}, NOW)
    assert "last start\t1 min ago. It was killed. Turns found open: 1.\n" in said(out)
    assert "it found\tReplies owed: 2. Waiting: 0.\n" in said(out)
    assert "t1" not in said(out)


def test_each_start_is_told_line_by_line() -> None:
    out = console()
    print_reports(out, [REPORT, REPORT], NOW)
    assert said(out).count("run run1") == 2
    assert said(out).count("  - t1: resume [a]\n") == 2
    out = console()
    print_reports(out, [], NOW)
    assert "No start" in said(out)


def test_a_session_shows_each_cut_and_what_recovery_decided_with_its_reasons() -> None:
    cut = {
        "at": NOW,
        "turn": "t1",
        "what": "interrupted",
        "detail": {"reason": "restart_interrupted"},
        "sentence": None,
        "found": None,
        "row": None,
        "facts": [],
    }
    parked = {
        **cut,
        "what": "parked",
        "detail": {},
        "sentence": "I parked it.",
        "row": "too_many_strikes",
        "found": "the limit was reached",
        "facts": ["interrupted 3 times", "nobody worked on it"],
    }
    session = {
        "id": "s1",
        "key": "web/main/a",
        "began_at": NOW,
        "began": "first",
        "generation": 4,
        "strikes": 3,
        "suspended_at": NOW,
        "ended_at": None,
    }
    empty: dict[str, object] = {"entries": [], "turns": [], "calls": [], "outbox": [], "waiting": []}
    out = console()
    print_session(out, {"session": session, **empty, "decisions": [parked, cut]})
    lines = [line.strip() for line in said(out).splitlines()]
    first = next(place for place, line in enumerate(lines) if "interrupted: the process died" in line)
    assert [line.partition("  ")[2] or line for line in lines[first + 1 : first + 5]] == [
        "parked",
        "I parked it.",
        "row too_many_strikes: the limit was reached",
        "known then: interrupted 3 times; nobody worked on it",
    ]
