"""Commands that let people and groups in, and remove them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from holdfast.api.access import people_at_rest
from holdfast.api.client import NotRunning, ask
from holdfast.api.to_json import Json
from holdfast.cli.options import AsJson, Home, looking, run
from holdfast.cli.render.format import ago, span
from holdfast.cli.render.output import print_json, print_table, stderr, stdout
from holdfast.cli.render.terminal_text import styled
from holdfast.clock import SystemClock, SystemIds
from holdfast.config.load import load_settings
from holdfast.config.settings import LOCAL_PERSON, Settings
from holdfast.store import LEDGER

app = typer.Typer(invoke_without_command=True)

AsOwner = Annotated[
    bool, typer.Option("--owner", help="As an owner, who may do everything: also /restart and consent.")
]
Who = Annotated[
    str, typer.Argument(help='A person, like "telegram:123456", or a group, like "telegram/1000/-100123".')
]
_IN_FILE = "holdfast.toml"


def pair(
    code: Annotated[str, typer.Argument(help="The code that the bot gave the person.")],
    owner: AsOwner = False,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Let a person in by the code that the bot gave them. The bot tells them in their chat.

    A code works once, within an hour (`pairing.lasts`). The gateway did not keep what they wrote before.
    """
    found = run(_do(load_settings(home).settings, "pair", code=code, owner=owner))
    if as_json:
        print_json(found)
    else:
        role = "an owner now" if owner else "let in"
        stdout().print(f"{found['person']} is {role}. The bot tells them in their chat.")


@app.callback()
def people(context: typer.Context, home: Home = None, as_json: AsJson = False) -> None:
    """List who may talk, and who asks to. Let a person or a group in, or remove one.

    In a group, both must be let in: the group, and each person who writes there.
    """
    if context.invoked_subcommand is not None:
        return
    settings = load_settings(home).settings
    found = run(_people(settings))
    if as_json:
        print_json(found)
        return
    now = SystemClock().now()
    rows = [(one["role"], one["who"], one["by"], ago(one["since"], now)) for one in found["let_in"]]
    print_table(stdout(), ("may", "who", "let in by", "since"), rows)
    if found["asking"]:
        asking = [
            (one["person"], ago(one["asked_at"], now), span(max(0, one["expires_at"] - now)))
            for one in found["asking"]
        ]
        print_table(stdout(), ("asks to be let in", "asked", "code valid for"), asking)
        stderr().print(styled(("Each person has a code: `holdfast pair CODE` lets them in.", "dim")))


@app.command()
def allow(who: Who, owner: AsOwner = False, home: Home = None, as_json: AsJson = False) -> None:
    """Let a person in by their id, or a group by its address."""
    found = run(_do(load_settings(home).settings, "allow", who=who, owner=owner))
    if as_json:
        print_json(found)
    else:
        stdout().print(f"{who} is let in{'' if found['fresh'] else ', as before'}.")


@app.command()
def remove(who: Who, home: Home = None, as_json: AsJson = False) -> None:
    """Remove a person or a group: from now on the gateway refuses what they write.

    Their queued and interrupted work is not run either. To remove an entry of holdfast.toml, edit that file.
    """
    found = run(_do(load_settings(home).settings, "remove", who=who))
    if as_json:
        print_json(found)
    else:
        stdout().print(f"{who} is not let in any more.")


async def _people(settings: Settings) -> Json:
    access = settings.access
    let_in: list[Json] = [
        {"role": role, "who": who, "by": _IN_FILE, "since": None}
        for role, whom in (("own", access.owners), ("talk", access.people), ("hold talks", access.chats))
        for who in sorted(whom)
        if who != LOCAL_PERSON
    ]
    if not (settings.home / LEDGER).exists():
        return {"let_in": let_in, "asking": []}
    async with looking(settings.home) as (_, looks):
        found = await looks.people()
    roles = {"owner": "own", "person": "talk", "chat": "hold talks"}
    let_in += [
        {"role": roles[one["scope"]], "who": one["subject"], "by": one["by"], "since": one["at"]}
        for one in found["grants"]
    ]
    return {"let_in": let_in, "asking": found["asking"]}


async def _do(settings: Settings, do: str, **arguments: Any) -> Json:
    """Ask the running gateway. Without one, write the ledger here, under its lock."""
    home: Path = settings.home
    try:
        return await ask(home, do, **arguments)
    except NotRunning:
        clock = SystemClock()
        return await people_at_rest(settings, clock, SystemIds(clock), do, arguments)
