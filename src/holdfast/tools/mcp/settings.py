"""The settings of an MCP server; times are milliseconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from fnmatch import fnmatchcase
from pathlib import Path

from holdfast.model import EffectClass
from holdfast.policy.settings import MINUTE, SECOND
from holdfast.records import dataclass
from holdfast.telemetry import KnownSecrets, without_secrets


@dataclass(frozen=True, slots=True)
class McpSettings:
    """One `[mcp.NAME]`: a program to run, or the address of a server."""

    command: str | None = None
    args: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    """Names of variables it gets besides the harmless ones; no setting holds their values."""
    cwd: Path | None = None
    read: tuple[Path, ...] = ()
    """What its program sees besides its own installation and the agents' workspace."""
    write: tuple[Path, ...] = ()
    """What it may also change."""
    network: bool | None = None
    """Whether it reaches the network; None: as all contained programs."""
    url: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    """Each header with its value, in which `$NAME` means the variable of that name."""
    tools: tuple[str, ...] = ()
    """Patterns of the tools to offer; without patterns, all of them."""
    effects: tuple[tuple[str, EffectClass], ...] = ()
    """Patterns of tools with their effect class; the first match counts. Without a match: `effect`."""
    timeout: int = 5 * MINUTE
    """Time without an answer or progress, after which the gateway gives a call up."""
    wait: int = 20 * SECOND
    """Time that a call waits for a server that is down, before it fails."""

    def offers(self, tool: str) -> bool:
        """Whether agents see this tool."""
        return not self.tools or any(fnmatchcase(tool, pattern) for pattern in self.tools)

    def effect_of(self, tool: str) -> EffectClass:
        """The class that the owner gives this tool; the server's own claims never count."""
        fitting = (effect for pattern, effect in self.effects if fnmatchcase(tool, pattern))
        return next(fitting, EffectClass.EFFECT)


@dataclass(frozen=True, slots=True)
class Means:
    """The secret values for one server; never shown."""

    env: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Means({', '.join((*self.env, *self.headers))})"

    @property
    def known(self) -> KnownSecrets:
        """The values, and what follows a scheme in a header."""
        values = (*self.env.values(), *self.headers.values())
        return KnownSecrets(part for value in values for part in (value, *value.split(" ", 1)))

    def without(self, text: str) -> str:
        """The text without these secrets and all others."""
        return without_secrets(self.known.without(text))
