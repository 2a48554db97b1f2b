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
from holdfast.tools.ask_person import AskPerson
from holdfast.tools.base import Tool
from holdfast.tools.containment import Launcher
from holdfast.tools.intentions import Reach
from holdfast.tools.limited_child import LimitedChildren
from holdfast.tools.process_tools import goal_tool, process_tools

from .fetch_url import FetchUrl, Resolve, Resolver
from .files import FileTools
from .gateway import history_search, read_output, restart_gateway
from .safe_paths import SafePaths
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
    launcher: Launcher | None = None,
    read: tuple[Path, ...] = (),
    write: tuple[Path, ...] = (),
    known: Mapping[str, str] = _NOTHING,
    resolve: Resolve | None = None,
) -> tuple[Tool, ...]:
    """The built-in tools with these names, and the tool that reads long results if there is any.

    `agent` is the owner of the workspace if sessions share one. `launcher` contains the commands. `read` and
    `write` are what commands see besides the workspace. `known` is their environment (see `environment`).
    """
    unknown = sorted(set(names) - set(NAMES))
    if unknown:
        raise ValueError(f"there is no built-in tool {unknown[0]!r}; there are {', '.join(NAMES)}")
    places = SafePaths(settings.workspace, agent)
    started_by = launcher or Launcher(settings, known)
    reach = Reach(read, write)
    makers: Mapping[str, Callable[[], tuple[Tool, ...]]] = {
        "terminal": lambda: Terminal(
            clock, settings.terminal, places, known, started_by, read, write
        ).tools(),
        "files": lambda: FileTools(places, settings.protected).tools(),
        "fetch": lambda: FetchUrl(
            clock, settings.fetch, LimitedChildren(clock), resolve or Resolver()
        ).tools(),
        "todo": lambda: Todo(places).tools(),
        "history": lambda: (history_search,),
        "ask": lambda: (AskPerson(),),
        # The same folder as the terminal: an agent runs in the background what it wrote in the terminal.
        "processes": lambda: process_tools(places.files, reach),
        "goal": lambda: (goal_tool(),),
        "restart": lambda: (restart_gateway,),
    }
    found = tuple(tool for name in NAMES if name in names for tool in makers[name]())
    return (*found, read_output) if found else ()
