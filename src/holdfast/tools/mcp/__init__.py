"""Tools of MCP servers: the configuration names programs to run, or addresses."""

from __future__ import annotations

from .server import ServerLook
from .servers import Servers
from .settings import McpSettings, Means

__all__ = ["McpSettings", "Means", "ServerLook", "Servers"]
