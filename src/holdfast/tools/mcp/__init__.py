"""Tools of MCP servers: programs that are run, or addresses, named in the configuration."""

from __future__ import annotations

from .server import ServerLook
from .servers import Servers
from .settings import McpSettings, Means

__all__ = ["McpSettings", "Means", "ServerLook", "Servers"]
