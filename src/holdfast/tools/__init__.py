"""Tools: what an agent can do, each with its effect class."""

from __future__ import annotations

from holdfast.model import EffectClass

from .asking import AskPerson
from .base import (
    Checkable,
    CutShort,
    NoMoreTools,
    Outcome,
    Tool,
    ToolContext,
    ToolFailed,
    ToolSource,
    ToolSpec,
    spec_of,
)
from .demo import demo_tools
from .detached import Detached
from .functions import FunctionTool, tool
from .intentions import (
    READ_OUTPUT,
    Ask,
    Intention,
    KillProcess,
    LookAtProcess,
    Looking,
    ReadOutput,
    ReportGoal,
    SearchHistory,
    SendFile,
    StartProcess,
    WantRestart,
    WriteToProcess,
)
from .process import goal_tool, process_tools
from .processes import Found, Launch, Output, Processes

__all__ = [
    "READ_OUTPUT",
    "Ask",
    "AskPerson",
    "Checkable",
    "CutShort",
    "Detached",
    "EffectClass",
    "Found",
    "FunctionTool",
    "Intention",
    "KillProcess",
    "Launch",
    "LookAtProcess",
    "Looking",
    "NoMoreTools",
    "Outcome",
    "Output",
    "Processes",
    "ReadOutput",
    "ReportGoal",
    "SearchHistory",
    "SendFile",
    "StartProcess",
    "Tool",
    "ToolContext",
    "ToolFailed",
    "ToolSource",
    "ToolSpec",
    "WantRestart",
    "WriteToProcess",
    "demo_tools",
    "goal_tool",
    "process_tools",
    "spec_of",
    "tool",
]
