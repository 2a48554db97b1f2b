"""`docs/images/architecture.svg`: packages in layers and the imports between them, drawn from the code.

After a change that is meant:  scripts/picture
"""

import tomllib
from collections.abc import Iterator
from itertools import pairwise
from xml.sax.saxutils import escape

from tests.unit.project.tree import PACKAGE, ROOT, imports, module_name, modules

PICTURE = ROOT / "docs" / "images" / "architecture.svg"
UPDATE = "scripts/picture"

Imports = dict[str, set[str]]
Point = tuple[float, float]

WORDS = {
    "cli": "the command line",
    "web": "the page and its HTTP API",
    "testing": "test kit, simulator, checker",
    "maintenance": "backup, doctor, incidents, log",
    "process": "signals, supervisor, watchdog",
    "api": "operations of page and command line",
    "gateway": "puts the stages together",
    "config": "holdfast.toml, environment",
    "inbox": "keeps what people send",
    "turns": "does the work",
    "outbox": "sends what is owed",
    "recovery": "decides about cut work",
    "platforms": "where people write",
    "agents": "models, agents of your own",
    "store": "the ledger",
    "tools": "what an agent can do",
    "policy": "every decision, pure",
    "model": "records, ids, state tables",
    "clock": "time, chance",
    "errors": "one tree",
    "installation": "how it was installed",
    "records": "cheap dataclass",
    "telemetry": "log, secrets",
}
"""What each package holds. A package without words fails the test of the picture."""

WIDTH, ROW, TOP, BOX, MARGIN, GAP = 960, 74, 76, 44, 24, 28
STYLE = """\
  .ground { fill: #ffffff } .box { fill: #eef3fb; stroke: #3b6fb6 } .name { fill: #14233a; font-weight: 600 }
  .words { fill: #4a5a70 } .line { fill: none; stroke: #6b7f99; stroke-width: 1.4 } .tip { fill: #6b7f99 }
  .stage { fill: #fdf3e1; stroke: #b67a1e } .seam { fill: #e8f6ec; stroke: #2f8a50 }
  .pure { fill: #f3ecfb; stroke: #7a4bb3 } .base { fill: #f1f2f4; stroke: #8a929c }
  text { font-family: ui-sans-serif, system-ui, "Segoe UI", Arial, sans-serif; text-anchor: middle }
  .name { font-size: 14px } .words { font-size: 11px } .title { font-size: 17px }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #10161f } .box { fill: #1a2a42; stroke: #6ea3ea } .name { fill: #eef3fb }
    .words { fill: #b3c0d1 } .line { stroke: #8496ae } .tip { fill: #8496ae }
    .stage { fill: #3a2c14; stroke: #e0a94e } .seam { fill: #16321f; stroke: #62c287 }
    .pure { fill: #2c2140; stroke: #b491e6 } .base { fill: #232a33; stroke: #8a929c }
  }
"""
KINDS = {
    **dict.fromkeys(("inbox", "turns", "outbox", "recovery"), "stage"),
    **dict.fromkeys(("platforms", "agents", "store"), "seam"),
    **dict.fromkeys(("policy", "model"), "pure"),
}


def layers() -> list[list[str]]:
    """The rows of import-linter's contract, top first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = (one for one in settings["tool"]["importlinter"]["contracts"] if one["name"] == "Layers")
    rows = [[name.strip(" ()") for name in row.split("|")] for row in contract["layers"]]
    return [row for row in rows if row != ["__main__"]]


def package_imports() -> Imports:
    """Which package imports which, over all modules."""
    known = {name for row in layers() for name in row}
    found: Imports = {}
    for path in modules():
        owner = module_name(path).split(".")[1:2]
        for _, name in imports(path):
            parts = name.split(".")
            target = parts[1] if parts[0] == PACKAGE.name and len(parts) > 1 else ""
            if owner and known >= {owner[0], target} and owner[0] != target:
                found.setdefault(owner[0], set()).add(target)
    return found


def without_implied(graph: Imports) -> Imports:
    """The same graph without the arrows that a longer way already shows."""

    def reachable(start: str) -> set[str]:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            for name in graph.get(waiting.pop(), ()):
                if name not in seen:
                    seen.add(name)
                    waiting.append(name)
        return seen

    return {
        owner: {one for one in names if not any(one in reachable(other) for other in names - {one})}
        for owner, names in graph.items()
    }


def _boxes(rows: list[list[str]]) -> dict[str, tuple[float, float, float]]:
    """Left edge, top edge and width of each package's box."""
    found = {}
    for number, row in enumerate(rows):
        width = min(236.0, (WIDTH - 2 * MARGIN - GAP * (len(row) - 1)) / len(row))
        left = (WIDTH - width * len(row) - GAP * (len(row) - 1)) / 2
        for place, name in enumerate(row):
            found[name] = (left + place * (width + GAP), float(TOP + number * ROW), width)
    return found


def _way(
    start: str, end: str, rows: list[list[str]], boxes: dict[str, tuple[float, float, float]]
) -> list[Point]:
    """From the lower edge of one box to the upper edge of another, beside the boxes of the rows between."""
    row_of = {name: number for number, row in enumerate(rows) for name in row}
    first, last = row_of[start], row_of[end]
    (from_x, from_y, from_width), (to_x, to_y, to_width) = boxes[start], boxes[end]
    here, there = from_x + from_width / 2, to_x + to_width / 2
    # Lines of one box leave and arrive side by side, on the side that they go to or come from.
    here += max(-0.3, min(0.3, (there - here) / WIDTH)) * from_width
    there += max(-0.35, min(0.35, (from_x + from_width / 2 - there) / WIDTH)) * to_width
    points = [(here, from_y + BOX)]
    for number in range(first + 1, last):
        wanted = here + (there - here) * (number - first) / (last - first)
        edges = [(boxes[name][0], boxes[name][0] + boxes[name][2]) for name in rows[number]]
        gaps = [edges[0][0] - 18, *((a[1] + b[0]) / 2 for a, b in pairwise(edges)), edges[-1][1] + 18]
        hidden = any(left - 8 < wanted < right + 8 for left, right in edges)
        beside = min(gaps, key=lambda x: abs(x - wanted)) if hidden else wanted
        y = TOP + number * ROW
        points += [(beside, float(y)), (beside, float(y + BOX))]
    return [*points, (there, to_y - 6)]


def _path(points: list[Point]) -> str:
    drawn = [f"M{points[0][0]:.1f} {points[0][1]:.1f}"]
    for (x, y), (to_x, to_y) in pairwise(points):
        middle = (y + to_y) / 2
        drawn.append(f"C{x:.1f} {middle:.1f} {to_x:.1f} {middle:.1f} {to_x:.1f} {to_y:.1f}")
    return " ".join(drawn)


def _drawn_boxes(rows: list[list[str]], boxes: dict[str, tuple[float, float, float]]) -> Iterator[str]:
    for number, row in enumerate(rows):
        for name in row:
            x, y, width = boxes[name]
            kind = "base" if number == len(rows) - 1 else KINDS.get(name, "entry")
            middle = x + width / 2
            yield (
                f'<rect class="box {kind}" x="{x:.1f}" y="{y:.0f}" '
                f'width="{width:.1f}" height="{BOX}" rx="7"/>'
            )
            yield f'<text class="name" x="{middle:.1f}" y="{y + 19:.0f}">{escape(name)}</text>'
            yield f'<text class="words" x="{middle:.1f}" y="{y + 35:.0f}">{escape(WORDS[name])}</text>'


def picture() -> str:
    rows = layers()
    boxes = _boxes(rows)
    height = TOP + len(rows) * ROW + 4
    lines = [
        f'<path class="line" marker-end="url(#tip)" d="{_path(_way(owner, name, rows, boxes))}"/>'
        for owner, names in sorted(without_implied(package_imports()).items())
        for name in sorted(names)
        if name not in rows[-1]
    ]
    return "\n".join(
        [
            f"<!-- Written by tests/unit/project/picture.py ({UPDATE}); do not edit by hand. -->",
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
            f'height="{height}" role="img" aria-label="The packages of Holdfast and who imports whom">',
            f"<style>\n{STYLE}</style>",
            '<marker id="tip" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="7" markerHeight="7" '
            'orient="auto"><path class="tip" d="M0 0 8 4 0 8z"/></marker>',
            f'<rect class="ground" width="{WIDTH}" height="{height}" rx="10"/>',
            f'<text class="name title" x="{WIDTH / 2:.0f}" y="32">'
            "A package imports only packages below it, none of its own row</text>",
            f'<text class="words" x="{WIDTH / 2:.0f}" y="52">Arrows: imports in the code. '
            "Left out: an import that other arrows already show, and imports of the last row.</text>",
            *lines,
            *_drawn_boxes(rows, boxes),
            "</svg>\n",
        ]
    )


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
