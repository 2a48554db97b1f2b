"""One `[agents.NAME]` as an agent: its provider's model, its instructions and its tools.

Imported only where there is such a table: the others do not wait for it when they start.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from holdfast.agents import Agent
from holdfast.agents.anthropic import KEEPING, anthropic_model
from holdfast.agents.openai import openai_model
from holdfast.agents.remote_model import Prices, Read, RemoteModel
from holdfast.config.load import secret
from holdfast.config.settings import NamedAgent, Provider
from holdfast.errors import BadConfig
from holdfast.policy.settings import SECOND
from holdfast.tools import Tool
from holdfast.tools.mcp.tool_names import BETWEEN

Tools = Callable[[str, Sequence[str]], tuple[Tool, ...]]
"""Gives an agent, by its name, the tools it names; `BadConfig` when there is no such tool."""

INSTRUCTIONS = (
    "You are an assistant whom people write to in a chat. Work on what they ask with your tools, step by "
    "step, and say plainly what you did and what you found. If a result says that its outcome is unknown, "
    "look before you do it again. Notes from the gateway are not from the person: follow them, and do not "
    "answer them."
)


def named_agent(
    name: str,
    table: NamedAgent,
    home: Path,
    read: Read,
    tools: Tools,
    environment: Mapping[str, str] | None = None,
) -> Agent:
    """The agent that this table describes, or `BadConfig` or `BadAgent` with what keeps it from answering."""
    section = f"agents.{name}"
    is_anthropic = table.provider is Provider.ANTHROPIC
    served = RemoteModel(
        section,
        table.model,
        table.base_url,
        secret(f"{section}.key", table.key_env, table.key_file, home, environment),
        table.images,
        table.max_output,
        table.timeout / SECOND,
        table.effort,
        Prices(table.price_input, table.price_output, table.price_cached, KEEPING if is_anthropic else 1.0),
    )
    return Agent(
        (anthropic_model if is_anthropic else openai_model)(served, read),
        tools(name, table.tools),
        _instructions(f"{section}.instructions", table.instructions, home),
        max(table.context - table.max_output, table.context // 2),
        tuple(dict.fromkeys((table.model, *table.models))),
        tuple(f"{server}{BETWEEN}*" for server in table.mcp),
    )


def _instructions(key: str, file: Path | None, home: Path) -> str:
    if file is None:
        return INSTRUCTIONS
    try:
        return (home / file).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise BadConfig(key, str(file), "a text file that this process may read") from None
