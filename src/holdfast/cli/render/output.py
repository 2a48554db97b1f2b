"""What the commands print: tables and colours for a person, plain lines for a pipe, JSON for a program."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from holdfast.api.to_json import Json
from holdfast.telemetry import controls_named

from .terminal_text import Cell, styled

WIDE = 10_000
"""Columns of a pipe: lines for a program are never wrapped."""


class PlainConsole(Console):
    """Prints every string literally: nothing in it is markup, and nothing controls the terminal."""

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(controls_named(text), **{**options, "markup": False})


def stdout() -> Console:
    """Where results go."""
    return _console(stderr=False)


def stderr() -> Console:
    """Where errors and progress go."""
    return _console(stderr=True)


def _console(stderr: bool) -> Console:
    file = sys.stderr if stderr else sys.stdout
    terminal = file.isatty()
    return PlainConsole(
        stderr=stderr, highlight=False, emoji=False, soft_wrap=not terminal, width=None if terminal else WIDE
    )


def print_json(value: object) -> None:
    """One JSON text on standard output."""
    print(json.dumps(value, ensure_ascii=True, indent=2))


def print_table(console: Console, columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> None:
    """A table for a terminal; for a pipe lines with tabs between the cells, ready for `cut` and `awk`."""
    if not console.is_terminal:
        for row in ([name.upper() for name in columns], *rows):
            _print_cells(console, row)
        return
    table = Table(*columns, box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*map(styled, row))
    console.print(table)


def _print_cells(console: Console, cells: Sequence[Cell]) -> None:
    """Write one line for a program, past the console, which would turn tabs into blanks."""
    console.file.write("\t".join(styled(cell).plain for cell in cells) + "\n")


def print_pairs(console: Console, pairs: Iterable[tuple[str, Cell]]) -> None:
    """Names and their values, one pair per line."""
    if not console.is_terminal:
        for pair in pairs:
            _print_cells(console, pair)
        return
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column()
    for name, value in pairs:
        grid.add_row(styled(name), styled(value))
    console.print(grid)


def complain(words: str, as_json: bool = False) -> None:
    """Print an error to standard error."""
    if as_json:
        sys.stderr.write(json.dumps({"error": words}) + "\n")
    else:
        stderr().print(styled(("holdfast:", "red"), " ", words))


__all__ = ["Json", "complain", "print_json", "print_pairs", "print_table", "stderr", "stdout"]
