"""What tools of an MCP server are called here: names that every provider takes, no two of them alike."""

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
    """The tools of a server by what they are called here."""

    theirs: dict[str, str]
    """What the server calls it, by our name, in the server's order."""
    clashes: tuple[str, ...] = ()
    """What was found alike, in words."""


def names_of(server: str, tools: Sequence[str]) -> ToolNames:
    """Give each tool its name here; the same tools always get the same names, in whatever order they come.

    One whose name had to be changed, and is then that of another, is told apart by a mark made from its own.
    """
    clashes = [f"{name!r} is there {count} times" for name, count in Counter(tools).items() if count > 1]
    different = list(dict.fromkeys(tools))
    plain = {name: _plain(server, name) for name in different}
    taken = Counter(plain.values())
    found: dict[str, str] = {}
    for name, safe in plain.items():
        if taken[safe] > 1 and safe != f"{server}{BETWEEN}{name}":
            marked = _marked(f"{server}{BETWEEN}{name}")
            clashes.append(f"{name!r} would be called {safe} like another, and is {marked}")
            safe = marked
        found.setdefault(safe, name)
    return ToolNames(found, tuple(clashes))


def server_of(tool: str) -> str:
    """The server whose tool would be called that."""
    return tool.partition(BETWEEN)[0]


def _plain(server: str, tool: str) -> str:
    whole = f"{server}{BETWEEN}{tool}"
    safe = _UNSAFE.sub("_", whole)
    return safe if len(safe) <= LONGEST else _marked(whole)


def _marked(whole: str) -> str:
    mark = hashlib.sha256(whole.encode()).hexdigest()[:_MARK]
    return f"{_UNSAFE.sub('_', whole)[: LONGEST - _MARK - 1]}_{mark}"
