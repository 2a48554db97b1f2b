"""What is said of an MCP server in the configuration; times are milliseconds."""

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
    """One `[mcp.NAME]`: a program to be run, or an address where a server is."""

    command: str | None = None
    args: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    """Names of variables it is given besides the harmless ones; their values stand in no settings."""
    cwd: Path | None = None
    read: tuple[Path, ...] = ()
    """What its program sees besides its own installation and the agents' workspace."""
    write: tuple[Path, ...] = ()
    """What it may change as well."""
    network: bool | None = None
    """Whether it reaches the network; None: as all contained programs."""
    url: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    """Each with its value, in which `$NAME` stands for what the variable of that name holds."""
    tools: tuple[str, ...] = ()
    """Patterns of the tools that are offered; none: all of them."""
    effects: tuple[tuple[str, EffectClass], ...] = ()
    """Patterns of tools and their effect class; the first that fits. A tool that none fits is an effect."""
    timeout: int = 5 * MINUTE
    """Without an answer or a word of progress, before a call is given up."""
    wait: int = 20 * SECOND
    """For a server that is down, before a call of it fails."""

    def offers(self, tool: str) -> bool:
        """Whether an agent may know of this tool."""
        return not self.tools or any(fnmatchcase(tool, pattern) for pattern in self.tools)

    def effect_of(self, tool: str) -> EffectClass:
        """The class that the owner gives this tool; the server's own claims never count."""
        fitting = (effect for pattern, effect in self.effects if fnmatchcase(tool, pattern))
        return next(fitting, EffectClass.EFFECT)


@dataclass(frozen=True, slots=True)
class Means:
    """What a server is given and nobody else may see; never shown."""

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
        """The text with what is not to be seen left out of it."""
        return without_secrets(self.known.without(text))
