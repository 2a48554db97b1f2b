"""The keys that say what programs of agents see. The tables of agents and MCP servers hold the path lists."""

from __future__ import annotations

from holdfast.policy.containment import Requirement

from .keys import Key
from .kinds import KeyKind, choice, switch


def place_patterns() -> KeyKind:
    """Patterns of paths inside a folder, in the given order."""

    def read(value: object) -> tuple[str, ...]:
        given = [part.strip() for part in value.split(",")] if isinstance(value, str) else value
        if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
            raise ValueError
        found = tuple(one.strip("/") for one in given if one.strip("/"))
        if any(".." in one.split("/") for one in found):
            raise ValueError
        return found

    return KeyKind('a list of paths inside the workspace, like ["Makefile", ".github/*"]', read, list)


CONTAINMENT_KEYS: tuple[Key, ...] = (
    Key(
        "tools.containment",
        "gateway.tools.containment",
        choice(Requirement),
        "required: commands, background processes and MCP programs run contained or not at all; "
        "off: they run without containment",
    ),
    Key("tools.network", "gateway.tools.network", switch(), "whether contained programs reach the network"),
    Key(
        "tools.protected",
        "gateway.tools.protected",
        place_patterns(),
        "paths in workspaces that contained programs and the file tools cannot change",
    ),
)
