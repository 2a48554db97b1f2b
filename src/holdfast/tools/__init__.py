"""Tools: what an agent can do, each with its effect class."""

from __future__ import annotations

from holdfast.model import EffectClass

from .asking import AskPerson
from .base import Checkable, Outcome, Tool, ToolContext, ToolFailed, ToolSpec, spec_of
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
    "AskPerson",
    "Checkable",
    "EffectClass",
    "Intention",
    "KillProcess",
    "LookAtProcess",
    "Looking",
    "Outcome",
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
    "spec_of",
]
