"""Who may answer, by the configuration: ours, yours, and those of its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from holdfast.agents import Agent, Agents, load_agent
from holdfast.clock import Clock
from holdfast.config.settings import Settings
from holdfast.gateway.files.blobs import reader
from holdfast.policy.settings import SECOND
from holdfast.tools import Tool

if TYPE_CHECKING:
    from .providers import Tools


def no_tools(agent: str, names: Sequence[str]) -> tuple[Tool, ...]:
    """Nobody provides any."""
    return ()


def load_agents(
    settings: Settings,
    clock: Clock,
    tools: Tools = no_tools,
    environment: Mapping[str, str] | None = None,
) -> Agents:
    """Everybody who may answer, or `BadConfig` or `BadAgent` with what keeps one of them from it."""
    found = _named(settings, tools, environment) if settings.agents else {}
    for name in (settings.agent.use, *(name for _, name in settings.agent.routes)):
        if name not in found:
            given = tools(name, sorted(settings.gateway.tools.use)) if settings.gateway.tools.use else ()
            found[name] = load_agent(name, clock, settings.home, settings.agent.pace / SECOND, given)
    return Agents(found, settings.agent.use, settings.agent.routes)


def _named(settings: Settings, tools: Tools, environment: Mapping[str, str] | None) -> dict[str, Agent]:
    from .providers import named_agent  # noqa: PLC0415 - a gateway without such a table starts sooner

    home = settings.home
    return {
        name: named_agent(name, table, home, reader(home), tools, environment)
        for name, table in settings.agents.items()
    }
