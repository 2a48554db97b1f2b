"""The tools for background processes: what a model may say, and what is wanted then."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.model import EffectClass, ProcessId, SessionId, TurnId
from holdfast.tools import (
    Intention,
    KillProcess,
    LookAtProcess,
    Looking,
    ReportGoal,
    StartProcess,
    ToolContext,
    ToolFailed,
    WriteToProcess,
    goal_tool,
    process_tools,
    spec_of,
)

TOOLS = {tool.name: tool for tool in (*process_tools(), goal_tool())}
CONTEXT = ToolContext(SessionId("s"), TurnId("t"), 1, Path(), "t:c")
P = ProcessId("p1")


def run(name: str, arguments: str) -> Any:
    return asyncio.run(TOOLS[name].run(CONTEXT, arguments))


@pytest.mark.parametrize(
    ("name", "arguments", "wanted"),
    [
        ("process_start", {"command": "make"}, StartProcess("make")),
        (
            "process_start",
            {"command": "make", "notify": False, "watch": ["error"]},
            StartProcess("make", False, ("error",)),
        ),
        ("process_look", {"how": "list"}, LookAtProcess(Looking.LIST)),
        ("process_look", {"how": "poll", "process": "p1"}, LookAtProcess(Looking.POLL, P, 60.0, 100)),
        (
            "process_look",
            {"how": "wait", "process": "p1", "seconds": 5},
            LookAtProcess(Looking.WAIT, P, 5.0, 100),
        ),
        ("process_look", {"how": "log", "process": "p1", "lines": 7}, LookAtProcess(Looking.LOG, P, 60.0, 7)),
        ("process_write", {"process": "p1", "text": "y\n"}, WriteToProcess(P, "y\n")),
        ("process_kill", {"process": "p1"}, KillProcess(P)),
        ("goal", {"outcome": "reached"}, ReportGoal(True)),
        ("goal", {"outcome": "blocked", "words": "no key"}, ReportGoal(False, "no key")),
    ],
)
def test_what_a_model_asks_for_is_what_is_wanted(
    name: str, arguments: dict[str, Any], wanted: Intention
) -> None:
    assert run(name, json.dumps(arguments)) == wanted


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("process_start", "{}", "command is required"),
        ("process_start", '{"command": "  "}', "command must be a text"),
        ("process_start", '{"command": "make", "watch": "error"}', "a list of texts"),
        ("process_start", '{"command": "make", "watch": ["*"]}', "watch: a pattern"),
        ("process_start", '{"command": "make", "cwd": "/"}', "no argument 'cwd'"),
        ("process_start", "[]", "a JSON object"),
        ("process_start", "{", "not JSON"),
        ("process_look", '{"how": "stare"}', "how must be one of list, poll, wait, log"),
        ("process_look", '{"how": "poll"}', "process is required"),
        ("process_look", '{"how": "wait", "process": "p1", "seconds": 601}', "from 0 to 600"),
        ("process_look", '{"how": "log", "process": "p1", "lines": true}', "a number"),
        ("process_write", '{"process": "p1", "text": ""}', "text is required"),
        ("process_kill", "{}", "process is required"),
        ("goal", '{"outcome": "maybe"}', "reached or blocked"),
    ],
)
def test_what_makes_no_sense_is_told_in_words(name: str, arguments: str, words: str) -> None:
    with pytest.raises(ToolFailed, match=words.replace("'", ".")):
        run(name, arguments)


def test_each_says_what_may_be_done_when_it_was_cut_off() -> None:
    assert {name: tool.effect for name, tool in TOOLS.items()} == {
        "process_start": EffectClass.IDEMPOTENT,
        "process_look": EffectClass.READ,
        "process_write": EffectClass.EFFECT,
        "process_kill": EffectClass.IDEMPOTENT,
        "goal": EffectClass.IDEMPOTENT,
    }


def test_each_describes_itself_to_the_model() -> None:
    for tool in TOOLS.values():
        spec = spec_of(tool)
        assert spec.description
        assert spec.parameters["additionalProperties"] is False
