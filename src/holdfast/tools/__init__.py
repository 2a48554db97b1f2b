"""Tools: what an agent can do, each with its effect class."""

from __future__ import annotations

from holdfast.model import EffectClass

from .base import (
    Checkable,
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

__all__ = [
    "Ask",
    "Checkable",
    "EffectClass",
    "Intention",
    "KillProcess",
    "LookAtProcess",
    "Looking",
    "NoMoreTools",
    "Outcome",
    "ReportGoal",
    "SearchHistory",
    "StartProcess",
    "Tool",
    "ToolContext",
    "ToolFailed",
    "ToolSource",
    "ToolSpec",
    "WantRestart",
    "WriteToProcess",
    "demo_tools",
    "spec_of",
]
