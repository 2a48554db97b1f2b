"""Rows of a benchmark: the measurement, its comparison, and whether it is good enough."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from rich.console import Console
from rich.table import Table


class Bound(StrEnum):
    """Which number a limit is about, and whether it is an upper or a lower limit."""

    AT_MOST = "≤"
    """Value / floor is at most the limit."""
    AT_LEAST = "≥"
    """Value / floor is at least the limit."""
    ABOVE_FLOOR = "≤ floor +"
    """Value - floor is at most the limit."""
    VALUE = "value ≤"
    """The value itself is at most the limit, whatever the floor."""


@dataclass(frozen=True, slots=True)
class Limit:
    """What a row must reach."""

    bound: Bound
    number: float

    def holds(self, value: float, floor: float | None) -> bool:
        if self.bound is Bound.VALUE:
            return value <= self.number
        if floor is None:
            return False
        match self.bound:
            case Bound.AT_MOST:
                return value <= self.number * floor
            case Bound.AT_LEAST:
                return value >= self.number * floor
            case Bound.ABOVE_FLOOR:
                return value - floor <= self.number

    def __str__(self) -> str:
        sign = " ×" if self.bound in (Bound.AT_MOST, Bound.AT_LEAST) else ""
        return f"{self.bound} {self.number:g}{sign}"


def at_most(number: float) -> Limit:
    return Limit(Bound.AT_MOST, number)


def at_least(number: float) -> Limit:
    return Limit(Bound.AT_LEAST, number)


def above_floor(number: float) -> Limit:
    return Limit(Bound.ABOVE_FLOOR, number)


def up_to(number: float) -> Limit:
    return Limit(Bound.VALUE, number)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the report. Without a limit it is for information and cannot fail."""

    what: str
    unit: str
    value: float
    floor: float | None = None
    limit: Limit | None = None

    @property
    def ratio(self) -> float | None:
        return self.value / self.floor if self.floor else None

    @property
    def ok(self) -> bool:
        return self.limit is None or self.limit.holds(self.value, self.floor)


def as_json(rows: Sequence[Row]) -> str:
    """One object; `limit` is null for a row without a limit."""
    return json.dumps({"rows": [_plain(row) for row in rows]}, ensure_ascii=False)


def _plain(row: Row) -> dict[str, str | float | bool | None]:
    return {
        "what": row.what,
        "unit": row.unit,
        "value": _rounded(row.value),
        "floor": _rounded(row.floor),
        "ratio": _rounded(row.ratio),
        "limit": str(row.limit) if row.limit else None,
        "ok": row.ok,
    }


def _rounded(number: float | None) -> float | None:
    return None if number is None else float(f"{number:.4g}")


def as_table(rows: Sequence[Row], console: Console) -> None:
    """Print for people: a drawn table on a terminal, plain columns elsewhere."""
    if not console.is_terminal:
        console.print(as_text(rows), markup=False, highlight=False, soft_wrap=True)
        return
    table = Table()
    for name in _HEAD:
        table.add_column(name, justify="left" if name in ("what", "limit", "ok") else "right")
    for row in rows:
        table.add_row(*_cells(row), style=None if row.ok else "red")
    console.print(table)


def as_text(rows: Sequence[Row]) -> str:
    lines = [_HEAD, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(_HEAD))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


_HEAD = ("what", "value", "floor", "ratio", "limit", "ok")


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.what,
        f"{row.value:,.4g} {row.unit}",
        "" if row.floor is None else f"{row.floor:,.4g} {row.unit}",
        "" if row.ratio is None else f"{row.ratio:.2f}",
        str(row.limit) if row.limit else "",
        "" if row.limit is None else "yes" if row.ok else "NO",
    )


def exit_code(rows: Sequence[Row]) -> int:
    return 0 if all(row.ok for row in rows) else 1
