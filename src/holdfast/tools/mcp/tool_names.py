"""The gateway's names for the tools of an MCP server: every provider accepts them, and each is unique."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence

from holdfast.records import dataclass

LONGEST = 64
"""Characters that providers allow in a tool's name."""
BETWEEN = "__"
_MARK = 8
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True)
class ToolNames:
    """The tools of a server by their names in the gateway."""

    theirs: dict[str, str]
    """The server's name of each tool, by the gateway's name, in the server's order."""
    clashes: tuple[str, ...] = ()
    """Which names are the same, in words."""


def names_of(server: str, tools: Sequence[str]) -> ToolNames:
    """Give each tool its name in the gateway; the same tools always get the same names, in any order.

    If two changed names are the same, each gets a mark that is made from the server's own name.
    """
    clashes = [f"{name!r} is listed {count} times" for name, count in Counter(tools).items() if count > 1]
    different = list(dict.fromkeys(tools))
    plain = {name: _plain(server, name) for name in different}
    taken = Counter(plain.values())
    found: dict[str, str] = {}
    for name, safe in plain.items():
        if taken[safe] > 1 and safe != f"{server}{BETWEEN}{name}":
            marked = _marked(f"{server}{BETWEEN}{name}")
            clashes.append(f"{name!r} would be called {safe} like another tool, so it is called {marked}")
            safe = marked
        found.setdefault(safe, name)
    return ToolNames(found, tuple(clashes))


def server_of(tool: str) -> str:
    """The server of a tool with this name."""
    return tool.partition(BETWEEN)[0]


def _plain(server: str, tool: str) -> str:
    whole = f"{server}{BETWEEN}{tool}"
    safe = _UNSAFE.sub("_", whole)
    return safe if len(safe) <= LONGEST else _marked(whole)


def _marked(whole: str) -> str:
    mark = hashlib.sha256(whole.encode()).hexdigest()[:_MARK]
    return f"{_UNSAFE.sub('_', whole)[: LONGEST - _MARK - 1]}_{mark}"
