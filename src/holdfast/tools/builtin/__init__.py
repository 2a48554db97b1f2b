"""The tools that come with Holdfast, given to an agent by name (`tools.use`).

| name       | tools                                                          | class      |
|------------|----------------------------------------------------------------|------------|
| `terminal` | terminal                                                       | effect     |
| `files`    | read_file, list_files, search_files / write_file, edit_file, send_file | read / idempotent |
| `fetch`    | fetch_url                                                      | read       |
| `todo`     | todo                                                           | idempotent |
| `history`  | history_search                                                 | read       |
| `restart`  | restart_gateway                                                | idempotent |
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from types import MappingProxyType

from holdfast.clock import Clock
from holdfast.policy.settings import ToolSettings

from ..asking import AskPerson
from ..base import Tool
from ..limited_child import LimitedChildren
from ..process import goal_tool, process_tools
from .fetching import Fetching, Resolve, resolve
from .files import Files
from .gateway import history_search, read_output, restart_gateway
from .places import Places
from .terminal import Terminal, environment
from .todo import Todo

__all__ = ["NAMES", "Resolve", "builtin_tools", "environment"]

NAMES = ("terminal", "files", "fetch", "todo", "history", "ask", "processes", "goal", "restart")

_NOTHING: Mapping[str, str] = MappingProxyType({})


def builtin_tools(
    names: Collection[str],
    settings: ToolSettings,
    clock: Clock,
    *,
    agent: str = "main",
    home: Path | None = None,
    known: Mapping[str, str] = _NOTHING,
    resolve: Resolve = resolve,
) -> tuple[Tool, ...]:
    """The built-in tools by these names; with any of them, the one that reads long results.

    `agent` is whose workspace it is when sessions share one, `home` what commands must not see, `known` the
    environment they see (`environment` makes it).
    """
    unknown = sorted(set(names) - set(NAMES))
    if unknown:
        raise ValueError(f"there is no built-in tool {unknown[0]!r}; there are {', '.join(NAMES)}")
    places = Places(settings.workspace, agent)
    makers: Mapping[str, Callable[[], tuple[Tool, ...]]] = {
        "terminal": lambda: Terminal(clock, settings.terminal, places, known, home).tools(),
        "files": lambda: Files(places).tools(),
        "fetch": lambda: Fetching(clock, settings.fetch, LimitedChildren(clock), resolve).tools(),
        "todo": lambda: Todo(places).tools(),
        "history": lambda: (history_search,),
        "ask": lambda: (AskPerson(),),
        # Where the terminal begins as well: what the one makes the other runs.
        "processes": lambda: process_tools(places.files),
        "goal": lambda: (goal_tool(),),
        "restart": lambda: (restart_gateway,),
    }
    found = tuple(tool for name in NAMES if name in names for tool in makers[name]())
    return (*found, read_output) if found else ()
