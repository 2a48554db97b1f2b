"""Commands that list sessions, background processes, and input that the gateway could not read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from holdfast.api.queries import MOST_LISTED, SESSION_STATES
from holdfast.api.to_json import Json
from holdfast.cli.options import AsJson, Home, looking, run
from holdfast.cli.render.format import ago, one_line
from holdfast.cli.render.output import print_json, print_table, stderr, stdout
from holdfast.cli.render.tables import print_sessions
from holdfast.cli.render.terminal_text import styled
from holdfast.clock import SystemClock
from holdfast.config.load import find_home

SHOWN = 50

Limit = Annotated[int | None, typer.Option("--limit", "-n", help="How many to show at most.", min=1)]


def _known(state: str | None) -> str | None:
    if state is not None and state not in SESSION_STATES:
        raise typer.BadParameter(f"{state!r} is not allowed; allowed: {', '.join(SESSION_STATES)}")
    return state


def sessions(
    context: typer.Context,
    everything: Annotated[
        bool, typer.Option("--all", help="Show ended sessions too, without a limit.")
    ] = False,
    state: Annotated[
        str | None,
        typer.Option(callback=_known, help=f"Only sessions in this state: {', '.join(SESSION_STATES)}."),
    ] = None,
    platform: Annotated[str | None, typer.Option(help="Only sessions of this platform.")] = None,
    search: Annotated[
        str | None,
        typer.Option(
            "--search", "-q", help="Only sessions with this text in the name of their conversation."
        ),
    ] = None,
    limit: Limit = None,
    before: Annotated[
        str | None,
        typer.Option(metavar="SESSION", help="Show the page after this session, the last you saw."),
    ] = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """List sessions, newest first: the conversation, and the state of the last turn.

    Without options it shows 50 live sessions. With --state, --platform or --search it also finds ended ones.
    A parked session stays in the list until a person resumes or deletes it, also when its chat has a new
    session. For example `holdfast sessions --state failed -q terminal`.
    """
    if context.invoked_subcommand is not None:
        return
    most = limit or (None if everything else SHOWN)
    wanted: Json = {"state": state, "platform": platform, "q": search}
    everything = everything or any(wanted.values())
    wanted["live"] = not everything
    found = run(_sessions(find_home(home), most, before, wanted))
    if as_json:
        print_json(found)
        return
    print_sessions(stdout(), found["sessions"], SystemClock().now(), everything)
    _print_more(found["next"])


async def _sessions(home: Path, most: int | None, before: str | None, wanted: Json) -> Json:
    """Up to `most` sessions, from several pages: a page may be short although more sessions follow."""
    async with looking(home) as (_, looks):
        found: list[Json] = []
        while most is None or len(found) < most:
            room = MOST_LISTED if most is None else min(MOST_LISTED, most - len(found))
            page = await looks.sessions(before, room, **wanted)
            found += page["sessions"]
            before = page["next"]
            if before is None:
                break
        return {"sessions": found, "next": before}


def processes(
    session: Annotated[
        str | None, typer.Option(metavar="SESSION", help="All processes of this session, ended ones too.")
    ] = None,
    chat: Annotated[str | None, typer.Option(help="All of this chat's session, ended ones too.")] = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """List background processes that agents started and that still run, with or without a running gateway.

    Each process has a folder in the home with its output: processes/ID.
    """
    found = run(_processes(find_home(home), session, chat))
    if as_json:
        print_json(found)
    elif not found["processes"]:
        stdout().print(
            "No background process is known here." if session or chat else "No background process runs."
        )
    else:
        now = SystemClock().now()
        rows = [
            (one["id"], str(one["pid"]), one["session"], ago(one["started_at"], now), _state(one))
            + (one_line(one["command"]), one_line(one["last_line"]))
            for one in found["processes"]
        ]
        print_table(stdout(), ("id", "pid", "session", "started", "state", "command", "last line"), rows)


def _state(process: Json) -> str:
    code = process["exit_code"]
    return str(process["state"]) if code is None else f"{process['state']} ({code})"


async def _processes(home: Path, session: str | None, chat: str | None) -> Json:
    async with looking(home) as (_, looks):
        return await looks.processes(session, chat)


def set_aside(
    limit: Limit = None,
    before: Annotated[
        int | None, typer.Option(metavar="ID", help="Show the page after this row, the last you saw.")
    ] = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """List input that the gateway could not read, newest first: where it came from, and why it is set aside.

    The gateway keeps it unchanged (--json shows all of it) and went on with all other input. You do not have
    to do anything about it.
    """
    most = min(limit or SHOWN, MOST_LISTED)
    found = run(_set_aside(find_home(home), before, most))
    more = found[-1]["id"] if len(found) == most else None
    if as_json:
        print_json({"set_aside": found, "next": more})
    elif not found:
        stdout().print("Nothing is set aside.")
    else:
        now = SystemClock().now()
        rows = [
            (str(one["id"]), one["account"], ago(one["at"], now), one["reason"]) + (one_line(one["payload"]),)
            for one in found
        ]
        print_table(stdout(), ("id", "from", "came", "why", "begins"), rows)
        _print_more(more)


async def _set_aside(home: Path, before: int | None, most: int) -> list[Json]:
    async with looking(home) as (_, looks):
        found: list[Json] = (await looks.set_aside(before, most))["set_aside"]
        return found


def _print_more(following: object) -> None:
    if following is not None:
        stderr().print(styled((f"There may be more: --before {following}", "dim")))
