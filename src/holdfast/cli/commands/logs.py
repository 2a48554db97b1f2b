"""`holdfast logs`: the gateway's own log."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from holdfast.cli.options import AsJson, Home, run
from holdfast.cli.render.output import Json, print_table, stderr, stdout
from holdfast.cli.render.terminal_text import Cell, joined, styled
from holdfast.clock import SystemClock
from holdfast.config.load import find_home
from holdfast.maintenance.log_reader import follow, last_lines

SHOWN = 50
_COLOURS = {"critical": "bold red", "error": "red", "warning": "yellow", "info": "green", "debug": "dim"}
_NAMED = ("turn", "session")
_COLUMNS = ("time", "level", "what", "about")


def logs(
    following: Annotated[
        bool, typer.Option("-f", "--follow", help="Keep printing new lines until Ctrl-C.")
    ] = False,
    number: Annotated[int, typer.Option("-n", "--lines", help="How many of the last lines.", min=0)] = SHOWN,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Show the gateway's log: the time, the level, what happened, and the turn or session it is about.

    The log is the file logs/gateway.log in the home, one JSON object per line (`--json` prints these lines).
    This also works while no gateway runs. The log contains no secrets.
    """
    where = find_home(home)
    lines = last_lines(where, number)
    if as_json:
        _print_json(lines)
    elif lines:
        print_table(stdout(), _COLUMNS, map(_cells, lines))
    elif not following:
        stderr().print(f"There is no log in {where} yet.")
    if following:
        with suppress(KeyboardInterrupt):
            run(_follow(where, as_json))


async def _follow(home: Path, as_json: bool) -> None:
    out = stdout()
    async for line in follow(home, SystemClock()):
        if as_json:
            _print_json([line])
        else:
            _print_line(out, line)


def _print_json(lines: list[Json]) -> None:
    for line in lines:
        print(json.dumps(line), flush=True)


def _print_line(out: Console, line: Json) -> None:
    out.print(joined("  ", filter(None, _cells(line))), soft_wrap=True)
    out.file.flush()


def _cells(line: Json) -> tuple[Cell, ...]:
    level = str(line.get("level", ""))
    named = [f"{name} {line[name]}" for name in _NAMED if line.get(name)]
    what = str(line.get("what", ""))
    if fault := line.get("exception"):
        what += f"\n{fault}"
    return (
        _local(str(line.get("at", ""))),
        styled((level, _COLOURS.get(level, ""))),
        what,
        ", ".join(named),
    )


def _local(at: str) -> str:
    """The moment in this machine's time zone."""
    try:
        return f"{datetime.fromisoformat(at).astimezone():%m-%d %H:%M:%S.%f}"[:-3]
    except ValueError:
        return at
