"""Named queries, kept in `.sql` files: a line `-- name: word` opens each."""

from __future__ import annotations

from pathlib import Path

_MARK = "-- name:"
_FOLDER = Path(__file__).with_name("queries")


def parse(text: str) -> dict[str, str]:
    """Split a file into its named queries; comments between the name and the statement stay in the file."""
    found: dict[str, str] = {}
    for block in text.split(_MARK)[1:]:
        name, _, body = block.partition("\n")
        lines = [line for line in body.splitlines() if not line.lstrip().startswith("--")]
        query = "\n".join(lines).strip().rstrip(";")
        if name.strip() in found or not query:
            raise ValueError(f"query {name.strip()!r} is empty or stands twice")
        found[name.strip()] = query
    return found


def load() -> dict[str, str]:
    """Read every query of this dialect."""
    found: dict[str, str] = {}
    for file in sorted(_FOLDER.iterdir()):
        for name, query in parse(file.read_text(encoding="utf-8")).items():
            if name in found:
                raise ValueError(f"query {name!r} stands in two files")
            found[name] = query
    return found


SQL = load()
