"""Named queries, kept in `.sql` files: a line `-- name: word` opens each."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from operator import itemgetter
from pathlib import Path
from typing import Any

_MARK = "-- name:"
_FOLDER = Path(__file__).with_name("queries")
_VALUE = re.compile(r"'[^']*'|:([a-z_]+)")
"""A quoted word, which stays as it is, or the name of a value."""


class Query:
    """One statement. It names its values but binds them by number, because the driver is slow with names."""

    __slots__ = ("names", "pick", "source", "text")

    def __init__(self, text: str) -> None:
        self.source = text
        self.names = tuple(dict.fromkeys(name for name in _VALUE.findall(text) if name))
        number = {name: f"?{place}" for place, name in enumerate(self.names, start=1)}
        self.text = _VALUE.sub(lambda found: number.get(found[1], found[0]), text)
        self.pick = _picker(self.names)


def _picker(names: tuple[str, ...]) -> Callable[[Mapping[str, Any]], tuple[Any, ...]]:
    if len(names) > 1:
        return itemgetter(*names)
    return lambda values: tuple(values[name] for name in names)


def parse(text: str) -> dict[str, str]:
    """Split a file into its named queries, without the comment lines."""
    found: dict[str, str] = {}
    for block in text.split(_MARK)[1:]:
        name, _, body = block.partition("\n")
        lines = [line for line in body.splitlines() if not line.lstrip().startswith("--")]
        query = "\n".join(lines).strip().rstrip(";")
        if name.strip() in found or not query:
            raise ValueError(f"query {name.strip()!r} is empty or defined twice")
        found[name.strip()] = query
    return found


def load() -> dict[str, Query]:
    """Read every query of this dialect."""
    found: dict[str, Query] = {}
    for file in sorted(_FOLDER.iterdir()):
        for name, query in parse(file.read_text(encoding="utf-8")).items():
            if name in found:
                raise ValueError(f"query {name!r} is defined in two files")
            found[name] = Query(query)
    return found


SQL = load()
