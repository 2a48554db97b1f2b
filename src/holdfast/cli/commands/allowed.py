"""List and revoke the rules that owners stored with "always allow this"."""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.api.allowed_calls import revoke_at_rest
from holdfast.api.client import NotRunning, ask
from holdfast.api.to_json import Json
from holdfast.cli.options import AsJson, Home, looking, run
from holdfast.cli.render.format import ago
from holdfast.cli.render.output import print_json, print_table, stdout
from holdfast.clock import SystemClock, SystemIds
from holdfast.config.load import find_home, load_settings
from holdfast.config.settings import Settings

app = typer.Typer(invoke_without_command=True)
_NONE = (
    'No rule is stored. An owner stores one with "always allow this", on the card that asks for permission.'
)


@app.callback()
def allowed(
    context: typer.Context,
    chat: Annotated[
        str | None, typer.Option(help="Only the rules of this chat: its name or address.")
    ] = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """List the rules that owners stored with "always allow this"; revoke one.

    The agent makes the calls that a rule covers without asking. The list does not contain the rules of the
    configuration (`approvals.rules`).
    """
    if context.invoked_subcommand is not None:
        return
    found = run(_allowed(home, chat))
    if as_json:
        print_json(found)
        return
    if not found["allowed"]:
        stdout().print(_NONE)
        return
    now = SystemClock().now()
    rows = [
        (
            str(one["id"]),
            one["chat"],
            one["covers"],
            one["allowed_by"],
            ago(one["allowed_at"], now),
        )
        for one in found["allowed"]
    ]
    print_table(stdout(), ("rule", "chat", "covers", "allowed by", "since"), rows)


@app.command()
def revoke(
    rule: Annotated[int, typer.Argument(metavar="ID", min=1, help="The number of the rule in the list.")],
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Revoke a rule: from now on the gateway asks again before such a call."""
    found = run(_revoke(load_settings(home).settings, rule))
    if as_json:
        print_json(found)
    else:
        stdout().print(f"Rule {rule} is revoked. The gateway asks again before such a call.")


async def _allowed(home: Home, chat: str | None) -> Json:
    async with looking(find_home(home)) as (_, looks):
        return await looks.allowed(chat)


async def _revoke(settings: Settings, rule: int) -> Json:
    """Ask the running gateway. Without one, write the ledger here, under its lock."""
    try:
        return await ask(settings.home, "revoke_allowed", rule=rule)
    except NotRunning:
        clock = SystemClock()
        return await revoke_at_rest(settings, clock, SystemIds(clock), rule)
