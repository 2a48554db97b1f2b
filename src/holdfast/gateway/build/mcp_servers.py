"""The MCP servers of a configuration, ready to be begun; secrets are read here and given to nobody else."""

from __future__ import annotations

import re

from holdfast.clock import Clock, Rng
from holdfast.config.home import WORKSPACE
from holdfast.config.load import secret
from holdfast.config.settings import Settings
from holdfast.errors import BadConfig, Unusable
from holdfast.installation import missing_extra
from holdfast.telemetry import Secrets, no_secrets
from holdfast.telemetry.log import FOLDER
from holdfast.tools.containment import Launcher
from holdfast.tools.mcp import McpSettings, Means, Servers

_VARIABLE = re.compile(r"\$(\w+)")


def servers_of(
    settings: Settings, launcher: Launcher, clock: Clock, rng: Rng, secrets: Secrets = no_secrets
) -> Servers | None:
    """The servers, or None where none is configured; raises `Unusable` for what a person has to change."""
    if not settings.mcp:
        return None
    line = missing_extra("mcp")
    if line is not None:
        table = next(iter(settings.mcp))
        raise Unusable(f"[mcp.{table}] needs a package that is not installed; this installs it: {line}")
    means = {name: _means(name, one, settings) for name, one in settings.mcp.items()}
    home = settings.home
    return Servers(settings.mcp, means, home / FOLDER, home / WORKSPACE, launcher, clock, rng, secrets)


def _means(name: str, server: McpSettings, settings: Settings) -> Means:
    def value(key: str, variable: str) -> str:
        try:
            found = secret(f"mcp.{name}.{key}", variable, None, settings.home)
        except BadConfig:
            allowed = "variables that are set where the gateway is started"
            raise BadConfig(f"mcp.{name}.{key}", variable, allowed) from None
        assert found is not None
        return found

    return Means(
        {variable: value("env", variable) for variable in server.env},
        {
            header: _VARIABLE.sub(lambda found: value("headers", found[1]), held)
            for header, held in server.headers
        },
    )
