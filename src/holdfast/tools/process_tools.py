"""The tools for background processes and for the goal: each returns an intention and does nothing itself.

There is one tool for each class of effect instead of one tool with seven actions. The classes differ in what
may be repeated after a crash and in what needs consent, and a model fills in a short form better.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from holdfast.model import EffectClass, ProcessId
from holdfast.policy.goals import REPORTING
from holdfast.policy.processes import LONGEST_COMMAND, STARTING, refused_patterns
from holdfast.records import dataclass

from .base import Tool, ToolContext, ToolFailed
from .intentions import KillProcess, LookAtProcess, Looking, Reach, ReportGoal, StartProcess, WriteToProcess

Folder = Callable[[ToolContext], Path]
"""Gives the folder in which commands of a session start; without it, they start in the shared workspace."""

LOOK = "process_look"
LONGEST_WAIT = 600.0
"""Seconds that one call may wait for an end."""
_MOST_LINES = 2_000
_LONGEST_INPUT = 32_000
_NOTHING_MORE = Reach()


def _schema(required: tuple[str, ...], **properties: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


_PROCESS = {"type": "string", "description": "The id of the process, as process_start returned it."}


@dataclass(frozen=True, slots=True)
class ProcessStart:
    """Starts a command that goes on after the turn; once for each call, however often the call is run."""

    name: str = STARTING
    effect: EffectClass = EffectClass.IDEMPOTENT
    description: str = (
        "Start a shell command in the background. It keeps running when this turn ends and when the gateway "
        "restarts. Its output is kept, and you can give it input. Use it for servers, builds and anything "
        "that takes minutes. Do not add & or nohup. Returns the id of the process. You are woken when it "
        "ends, unless notify is false, and when a line of its output contains one of the texts in watch."
    )
    parameters: Mapping[str, Any] = field(
        default_factory=lambda: _schema(
            ("command",),
            command={"type": "string", "description": "As for sh -c, in the workspace."},
            notify={"type": "boolean", "description": "Wake me once when it has ended. Default: true."},
            watch={
                "type": "array",
                "items": {"type": "string"},
                "description": "Texts to find in its output, in upper or lower case; * matches anything.",
            },
        )
    )
    folder: Folder | None = None
    reach: Reach = Reach()
    starts_program: bool = True

    async def run(self, context: ToolContext, arguments: str) -> StartProcess:
        given = _read(arguments, "command", "notify", "watch")
        command = _text(given, "command")
        if not command.strip() or len(command) > LONGEST_COMMAND:
            raise ToolFailed(f"command must be a text of 1 to {LONGEST_COMMAND} characters")
        patterns = given.get("watch") or []
        if not isinstance(patterns, list) or not all(isinstance(each, str) for each in patterns):
            raise ToolFailed("watch must be a list of texts")
        refusal = refused_patterns(patterns)
        if refusal is not None:
            raise ToolFailed(f"watch: {refusal}")
        notify = given.get("notify")
        folder = self.folder(context) if self.folder else None
        return StartProcess(command, notify is None or bool(notify), tuple(patterns), folder, self.reach)


@dataclass(frozen=True, slots=True)
class ProcessLook:
    """Shows background processes; an end that it has shown does not wake the session again."""

    name: str = LOOK
    effect: EffectClass = EffectClass.READ
    description: str = (
        "Look at background processes. how=list lists all of this conversation. poll shows the state of one "
        "and the end of its output. wait waits for its end and then shows the same. log shows more of its "
        "output. If this shows you an end, it does not wake you again."
    )
    parameters: Mapping[str, Any] = field(
        default_factory=lambda: _schema(
            ("how",),
            how={"type": "string", "enum": [how.value for how in Looking]},
            process={"type": "string", "description": "The id; required for all but list."},
            seconds={"type": "number", "description": f"For wait: at most {LONGEST_WAIT:.0f}. Default: 60."},
            lines={"type": "integer", "description": f"For log: at most {_MOST_LINES}. Default: 100."},
        )
    )

    async def run(self, context: ToolContext, arguments: str) -> LookAtProcess:
        given = _read(arguments, "how", "process", "seconds", "lines")
        try:
            how = Looking(_text(given, "how"))
        except ValueError:
            raise ToolFailed(f"how must be one of {', '.join(Looking)}") from None
        if how is Looking.LIST:
            return LookAtProcess(how)
        seconds = _number(given, "seconds", 60.0, LONGEST_WAIT)
        lines = int(_number(given, "lines", 100.0, float(_MOST_LINES)))
        return LookAtProcess(how, ProcessId(_text(given, "process")), seconds, lines)


@dataclass(frozen=True, slots=True)
class ProcessWrite:
    """Gives a background process input; if it is cut off, its outcome is unknown."""

    name: str = "process_write"
    effect: EffectClass = EffectClass.EFFECT
    description: str = "Give a background process input, exactly as written: end a line with a newline."
    parameters: Mapping[str, Any] = field(
        default_factory=lambda: _schema(("process", "text"), process=_PROCESS, text={"type": "string"})
    )

    async def run(self, context: ToolContext, arguments: str) -> WriteToProcess:
        given = _read(arguments, "process", "text")
        text = _text(given, "text")
        if not text or len(text) > _LONGEST_INPUT:
            raise ToolFailed(f"text must have 1 to {_LONGEST_INPUT} characters")
        return WriteToProcess(ProcessId(_text(given, "process")), text)


@dataclass(frozen=True, slots=True)
class ProcessKill:
    """Ends a background process; a process that has ended stays so, and the call may be repeated."""

    name: str = "process_kill"
    effect: EffectClass = EffectClass.IDEMPOTENT
    description: str = (
        "End a background process and everything it started. It does not wake you then, even if it ended by "
        "itself."
    )
    parameters: Mapping[str, Any] = field(default_factory=lambda: _schema(("process",), process=_PROCESS))

    async def run(self, context: ToolContext, arguments: str) -> KillProcess:
        return KillProcess(ProcessId(_text(_read(arguments, "process"), "process")))


@dataclass(frozen=True, slots=True)
class ReportOnGoal:
    """Reports that the goal is reached or cannot be reached: no further turn follows by itself."""

    name: str = REPORTING
    effect: EffectClass = EffectClass.IDEMPOTENT
    description: str = (
        "Report on the goal of this conversation, once: reached, or blocked if you cannot continue without a "
        "person. After that, no further turn follows by itself. Say in your answer what was done or what is "
        "missing."
    )
    parameters: Mapping[str, Any] = field(
        default_factory=lambda: _schema(
            ("outcome",),
            outcome={"type": "string", "enum": ["reached", "blocked"]},
            words={"type": "string", "description": "What was reached, or what is missing, in a sentence."},
        )
    )

    async def run(self, context: ToolContext, arguments: str) -> ReportGoal:
        given = _read(arguments, "outcome", "words")
        outcome = _text(given, "outcome")
        if outcome not in ("reached", "blocked"):
            raise ToolFailed("outcome must be reached or blocked")
        words = given.get("words")
        return ReportGoal(outcome == "reached", words if isinstance(words, str) else "")


def process_tools(folder: Folder | None = None, reach: Reach = _NOTHING_MORE) -> tuple[Tool, ...]:
    """The tools for background processes, which start in the folder this gives and see what `reach` says."""
    return (ProcessStart(folder=folder, reach=reach), ProcessLook(), ProcessWrite(), ProcessKill())


def goal_tool() -> Tool:
    """The tool with which an agent ends a goal."""
    return ReportOnGoal()


def _read(arguments: str, *names: str) -> dict[str, Any]:
    try:
        given = json.loads(arguments or "{}")
    except (ValueError, RecursionError) as error:
        raise ToolFailed(f"the arguments are not JSON: {error}") from None
    if not isinstance(given, dict):
        raise ToolFailed("the arguments must be a JSON object")
    unknown = [name for name in given if name not in names]
    if unknown:
        raise ToolFailed(f"there is no argument {unknown[0]!r}; the arguments are {', '.join(names)}")
    return given


def _text(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str) or not value:
        raise ToolFailed(f"{name} is required, as text")
    return value


def _number(given: Mapping[str, Any], name: str, default: float, most: float) -> float:
    value = given.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= most:
        raise ToolFailed(f"{name} must be a number from 0 to {most:.0f}")
    return float(value)
