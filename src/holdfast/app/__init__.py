"""App: configuration, the composition of the stages, their life, and what operators can do."""

from __future__ import annotations

from .client import Declined, NotRunning, ask, listen
from .config import Config, Described, Loaded, describe, load, load_settings
from .control import look, stop_gateway
from .demo import Demo, open_demo
from .gateway import Connection, Gateway
from .lifecycle import RunState
from .service import gateway_command, supervisor_command, unit_text
from .settings import DrainSettings, GatewaySettings, Settings

__all__ = [
    "Config",
    "Connection",
    "Declined",
    "Demo",
    "Described",
    "DrainSettings",
    "Gateway",
    "GatewaySettings",
    "Loaded",
    "NotRunning",
    "RunState",
    "Settings",
    "ask",
    "describe",
    "gateway_command",
    "listen",
    "load",
    "load_settings",
    "look",
    "open_demo",
    "stop_gateway",
    "supervisor_command",
    "unit_text",
]
