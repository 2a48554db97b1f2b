"""Tools: what an agent can do, each with its effect class."""

from __future__ import annotations

from holdfast.model import EffectClass

from .base import Checkable, Tool, ToolContext, ToolFailed
from .demo import demo_tools

__all__ = ["Checkable", "EffectClass", "Tool", "ToolContext", "ToolFailed", "demo_tools"]
