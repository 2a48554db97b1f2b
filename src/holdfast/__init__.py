"""Holdfast: a gateway between chat platforms and AI agents whose sessions cannot be lost.

These names are the public API: what the author of a tool, an agent or a platform needs. Everything else is
internal and may change in any release (`docs/reference/public-api.md`).
"""

from __future__ import annotations

TYPE_CHECKING = False
"""True for type checkers. That of `typing` takes longer to import than all that `holdfast up` needs."""

if TYPE_CHECKING:
    from holdfast.agents.base import Agent, ContextOverflow, Metered, Model, ModelError, Prompt
    from holdfast.errors import BadConfig, HoldfastError
    from holdfast.model import (
        CallId,
        ChatKind,
        Delivery,
        EffectClass,
        Lost,
        Origin,
        Place,
        Rejected,
        Replied,
        Sent,
        StopReason,
        ToolCall,
        TryAgain,
        Usage,
    )
    from holdfast.platforms.base import (
        Ack,
        Arrival,
        Capabilities,
        Idempotency,
        Incoming,
        Platform,
        PlatformDown,
        Revision,
        Working,
    )
    from holdfast.platforms.registry import PlatformOffer
    from holdfast.policy.turn.views import Message, Role
    from holdfast.tools.base import Checkable, Tool, ToolContext, ToolFailed, ToolSpec
    from holdfast.tools.functions import tool
    from holdfast.tools.intentions import Ask, SendFile, StartProcess, WantRestart

__all__ = [
    "Ack",
    "Agent",
    "Arrival",
    "Ask",
    "BadConfig",
    "CallId",
    "Capabilities",
    "ChatKind",
    "Checkable",
    "ContextOverflow",
    "Delivery",
    "EffectClass",
    "HoldfastError",
    "Idempotency",
    "Incoming",
    "Lost",
    "Message",
    "Metered",
    "Model",
    "ModelError",
    "Origin",
    "Place",
    "Platform",
    "PlatformDown",
    "PlatformOffer",
    "Prompt",
    "Rejected",
    "Replied",
    "Revision",
    "Role",
    "SendFile",
    "Sent",
    "StartProcess",
    "StopReason",
    "Tool",
    "ToolCall",
    "ToolContext",
    "ToolFailed",
    "ToolSpec",
    "TryAgain",
    "Usage",
    "WantRestart",
    "Working",
    "__version__",
    "tool",
]

__version__ = "0.1.0"

_HOMES = {
    "agents.base": ("Agent", "ContextOverflow", "Metered", "Model", "ModelError", "Prompt"),
    "errors": ("BadConfig", "HoldfastError"),
    "model": (
        *("CallId", "ChatKind", "Delivery", "EffectClass", "Lost", "Origin", "Place", "Rejected", "Replied"),
        *("Sent", "StopReason", "ToolCall", "TryAgain", "Usage"),
    ),
    "platforms.base": (
        *("Ack", "Arrival", "Capabilities", "Idempotency", "Incoming", "Platform", "PlatformDown"),
        *("Revision", "Working"),
    ),
    "platforms.registry": ("PlatformOffer",),
    "policy.turn.views": ("Message", "Role"),
    "tools.base": ("Checkable", "Tool", "ToolContext", "ToolFailed", "ToolSpec"),
    "tools.functions": ("tool",),
    "tools.intentions": ("Ask", "SendFile", "StartProcess", "WantRestart"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Import a public name when it is first asked for: `holdfast --version` needs none of them."""
        from importlib import import_module  # noqa: PLC0415 - it takes as long to import as `typing`

        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
