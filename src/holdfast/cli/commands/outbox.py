"""List the deliveries that chats are owed, and settle those with an unknown outcome."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from holdfast.api.client import ask
from holdfast.api.to_json import Json
from holdfast.cli.options import AsJson, Home, looking, run
from holdfast.cli.render.format import ago, coloured, owed_words
from holdfast.cli.render.output import print_json, print_table, stderr, stdout
from holdfast.cli.render.terminal_text import Cell, styled
from holdfast.clock import SystemClock
from holdfast.config.load import find_home

_PAGE = 500

app = typer.Typer(invoke_without_command=True)


@app.callback()
def outbox(
    context: typer.Context,
    unknown: Annotated[
        bool, typer.Option("--unknown", help="Only deliveries with an unknown outcome.")
    ] = False,
    chat: Annotated[
        str | None,
        typer.Option("--chat", help="All deliveries of one chat: a web chat's name, or an address."),
    ] = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Show what chats are owed and what may not have arrived; settle deliveries with an unknown outcome.

    With --chat, show all deliveries of one chat. This works with and without a running gateway; settling
    needs one.
    """
    if context.invoked_subcommand is not None:
        return
    found = run(_outbox(find_home(home), chat, unknown))
    if as_json:
        print_json({"deliveries": found})
    elif not found:
        stdout().print("Nothing has an unknown outcome." if unknown else "Nothing is owed.")
    else:
        print_table(stdout(), ("id", "chat", "made", "state", "tried", "text"), _rows(found))
        if any(one["state"] == "unknown" for one in found):
            words = "Look into the chat, then: holdfast outbox settle ID --sent|--retry|--drop"
            stderr().print(styled((words, "dim")))


async def _outbox(home: Path, chat: str | None, unknown: bool) -> list[Json]:
    async with looking(home) as (_, looks):
        found: list[Json] = []
        after, mark = 0, "id" if chat is None else "number"
        while True:
            page = (await looks.outbox(chat, False, after, _PAGE))["deliveries"]
            found += [one for one in page if not unknown or one["state"] == "unknown"]
            if len(page) < _PAGE:
                return found
            after = page[-1][mark]


def _rows(found: list[Json]) -> list[tuple[Cell, ...]]:
    now = SystemClock().now()
    return [
        (
            str(one["id"]),
            one["chat"],
            ago(one["at"], now),
            styled(coloured(one["state"]), _why(one)),
            f"{one['attempts']}×",
            owed_words(one),
        )
        for one in found
    ]


def _why(one: Json) -> Text:
    """Why it is in this state, and whether later replies go on without it."""
    reasons = [*(["stepped aside"] if one["stepped_aside_at"] else []), *filter(None, [one["reason"]])]
    return styled((f" ({'; '.join(reasons)})", "dim")) if reasons else styled()


@app.command()
def settle(
    part: Annotated[int, typer.Argument(metavar="ID", help="The id that `outbox --unknown` shows.", min=1)],
    sent: Annotated[bool, typer.Option("--sent", help="It arrived.")] = False,
    retry: Annotated[
        bool, typer.Option("--retry", help="Send it again, marked as possibly repeated.")
    ] = False,
    drop: Annotated[
        bool,
        typer.Option("--drop", help="Do not send it; a line in the chat says that something is missing."),
    ] = False,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Settle a delivery with an unknown outcome: --sent, --retry or --drop.

    Look into the chat first. Refused if the delivery is settled already: the gateway also settles deliveries
    by itself when the platform lets it.
    """
    chosen = [name for name, given in (("sent", sent), ("retry", retry), ("drop", drop)) if given]
    if len(chosen) != 1:
        raise typer.BadParameter("choose one of --sent, --retry and --drop")
    found = run(ask(find_home(home), "settle", delivery=part, how=chosen[0]))
    if as_json:
        print_json(found)
    else:
        stdout().print(_SETTLED[chosen[0]])


_SETTLED = {
    "sent": "Settled: it counts as sent.",
    "retry": "Settled: the gateway sends it again, marked as a possible repeat if it may be shown twice.",
    "drop": "Settled: the gateway does not send it, and a line in its chat says so.",
}
