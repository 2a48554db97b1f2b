"""Agents: a model that gives one reply at a time, and its tools. Also the loader of agents."""

from __future__ import annotations

from holdfast.model import CallId, EffectClass, Replied, StopReason, ToolCall, Usage
from holdfast.policy.turn.views import Message, Role

from .base import (
    Agent,
    Choice,
    Chooser,
    ContextOverflow,
    Metered,
    Model,
    ModelError,
    OnText,
    Prompt,
    replies_of,
    unheard,
)
from .demo import DemoModel, demo_agent
from .echo import EchoModel, echo_agent
from .load import load_agent
from .routing import Agents

__all__ = [
    "Agent",
    "Agents",
    "CallId",
    "Choice",
    "Chooser",
    "ContextOverflow",
    "DemoModel",
    "EchoModel",
    "EffectClass",
    "StopReason",
    "Message",
    "Metered",
    "Model",
    "ModelError",
    "OnText",
    "Prompt",
    "Replied",
    "Role",
    "ToolCall",
    "Usage",
    "demo_agent",
    "echo_agent",
    "load_agent",
    "replies_of",
    "unheard",
]
