"""Tools: what an agent can do, each with its effect class."""

from __future__ import annotations

from holdfast.model import EffectClass

from .ask_person import AskPerson
from .background import BackgroundProcesses
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
from .process_port import FoundProcess, Launch, Output, ProcessPort
from .process_tools import goal_tool, process_tools

__all__ = [
    "READ_OUTPUT",
    "Ask",
    "AskPerson",
    "Checkable",
    "CutShort",
    "BackgroundProcesses",
    "EffectClass",
    "FoundProcess",
    "FunctionTool",
    "Intention",
    "KillProcess",
    "Launch",
    "LookAtProcess",
    "Looking",
    "NoMoreTools",
    "Outcome",
    "Output",
    "ProcessPort",
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
