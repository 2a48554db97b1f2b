"""Commands that only read: they work with and without a running gateway, and change nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from holdfast.api.queries import GatewayQueries
from holdfast.api.to_json import Json, shown
from holdfast.cli.home_status import status_of
from holdfast.cli.options import AsJson, Home, looking, run
from holdfast.cli.render.output import print_json, print_table, stdout
from holdfast.cli.render.tables import print_reports, print_status, print_trace
from holdfast.cli.render.terminal_text import styled
from holdfast.cli.session_lookup import find_session
from holdfast.clock import SystemClock
from holdfast.config.load import describe, find_home, load_settings
from holdfast.process.exit_codes import FAILED

from . import show as showing

STARTS_SHOWN = 3

Which = Annotated[
    str,
    typer.Argument(metavar="SESSION", help="A session's id or the beginning of it, or the name of a chat."),
]


def status(home: Home = None, as_json: AsJson = False) -> None:
    """Show whether a gateway runs, what it works on, what chats are owed, and how the last run ended.

    Exit code 0 if a gateway runs, 1 if not.
    """
    found = run(status_of(find_home(home)))
    if as_json:
        print_json(found)
    else:
        print_status(stdout(), found, SystemClock().now())
    if found["gateway"] is None:
        raise typer.Exit(FAILED)


def show(session: Which, home: Home = None, as_json: AsJson = False) -> None:
    """Show one session: transcript, turns, tool calls, recovery's decisions with reasons, and deliveries.

    For example `holdfast show terminal` for the chat of that name, or `holdfast show 01m7h` for an id.
    """
    found = run(_show(find_home(home), session))
    if as_json:
        print_json(found)
    else:
        showing.print_session(stdout(), found)


async def _show(home: Path, which: str) -> Json:
    async with looking(home) as (ledger, looks):
        session = await find_session(ledger, looks, which)
        return await showing.collect(ledger, looks, session)


def trace(
    which: Annotated[
        str,
        typer.Argument(
            metavar="POSITION|SESSION",
            help="A message's position (`show` prints it), or a session for all its messages.",
        ),
    ],
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Show everything that happened to a message, across restarts: accepted, each step, answered, delivered.

    For example `holdfast trace 1` for the first message of all.
    """
    found = run(_trace(find_home(home), which))
    if as_json:
        print_json({"traces": found})
    else:
        for one in found:
            print_trace(stdout(), one)


async def _trace(home: Path, which: str) -> list[Json]:
    async with looking(home) as (ledger, looks):
        if which.isdigit() and len(which) < showing.SHORTEST_ID:
            return [await _life(looks, int(which))]
        session = await find_session(ledger, looks, which)
        turns = await ledger.turns(session.id)
        return [await _life(looks, turn.cause) for turn in reversed(turns)]


async def _life(looks: GatewayQueries, position: int) -> Json:
    return {"position": position, **await looks.trace(position)}


def continuity(
    limit: Annotated[int, typer.Option(help="How many starts to show.", min=1)] = STARTS_SHOWN,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Show what each of the last starts found: how the run before it ended, what was open, what recovery did.

    The ledger keeps these reports, so this works with and without a running gateway.
    """
    found = run(_continuity(find_home(home), limit))
    if as_json:
        print_json({"reports": found})
    else:
        print_reports(stdout(), found, SystemClock().now())


async def _continuity(home: Path, limit: int) -> list[Json]:
    async with looking(home) as (_, looks):
        reports: list[Json] = (await looks.continuity(limit))["reports"]
        return reports


def verify(home: Home = None, as_json: AsJson = False) -> None:
    """Check every invariant of the ledger, and change nothing. Exit code 1 if one is broken."""
    found = run(_verify(find_home(home)))
    if as_json:
        print_json(found)
    elif found["sound"]:
        stdout().print(styled("The ledger is ", ("sound", "green"), "."))
    else:
        words = "; nothing was changed. Copy the home before you start the gateway again:"
        stdout().print(styled("The ledger is ", ("broken", "red"), words))
        for problem in found["problems"]:
            stdout().print(f"  {problem}")
    if not found["sound"]:
        raise typer.Exit(FAILED)


async def _verify(home: Path) -> Json:
    async with looking(home) as (_, looks):
        return await looks.verify()


def config(home: Home = None, as_json: AsJson = False) -> None:
    """Show every setting, its value and the value's source: holdfast.toml, the environment or the default."""
    loaded = load_settings(home)
    found = describe(loaded)
    if as_json:
        print_json({"home": str(loaded.settings.home), "settings": [shown(one) for one in found]})
        return
    out = stdout()
    rows = [
        (
            one.key,
            styled((str(one.value), "" if one.source == "default" else "bold")),
            one.source,
            one.help,
        )
        for one in found
    ]
    print_table(out, ("key", "value", "from", "what it is"), rows)
