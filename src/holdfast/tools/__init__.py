"""Tools: what an agent can do, each with its effect class."""

from __future__ import annotations

from holdfast.model import EffectClass

from .base import Checkable, Outcome, Tool, ToolContext, ToolFailed, ToolSpec, spec_of
from .demo import demo_tools
from .detached import Detached
from .intentions import (
    Ask,
    Intention,
    KillProcess,
    LookAtProcess,
    Looking,
    ReportGoal,
    SearchHistory,
    StartProcess,
    WantRestart,
    WriteToProcess,
)
from .process import goal_tool, process_tools
from .processes import Found, Launch, Output, Processes

__all__ = [
    "Ask",
    "Checkable",
    "Detached",
    "EffectClass",
    "Found",
    "Intention",
    "KillProcess",
    "Launch",
    "LookAtProcess",
    "Looking",
    "Outcome",
    "Output",
    "Processes",
    "ReportGoal",
    "SearchHistory",
    "StartProcess",
    "Tool",
    "ToolContext",
    "ToolFailed",
    "ToolSpec",
    "WantRestart",
    "WriteToProcess",
    "demo_tools",
    "goal_tool",
    "process_tools",
    "spec_of",
]
