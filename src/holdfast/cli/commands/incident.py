"""`holdfast export` and `holdfast replay`: an incident as a file that contains no text of people or agents.

`replay` also plays the files that the random tests write when they find a broken promise.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated

import typer

from holdfast.api.to_json import Json
from holdfast.cli.options import AsJson, Home, looking, run
from holdfast.cli.render.format import coloured, plural
from holdfast.cli.render.output import print_json, print_table, stdout
from holdfast.cli.render.terminal_text import styled
from holdfast.cli.session_lookup import find_session
from holdfast.config.load import find_home
from holdfast.errors import NotFound, Unusable
from holdfast.maintenance.incidents import collect, load
from holdfast.model import Position
from holdfast.process.exit_codes import FAILED

from .show import SHORTEST_ID


def export(
    which: Annotated[
        str, typer.Argument(metavar="POSITION|SESSION", help="A message's position, or a session.")
    ],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.")],
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Write a session to a file as an incident: what happened, in which order, without any text.

    Filler of the same length replaces each text, and numbers replace people, chats and ids. The file has no
    arguments, no names of tools and no reasons from platforms. `holdfast replay` plays it again. For example
    `holdfast export 1 incident.json`.
    """
    if file.exists() and not force:
        raise Unusable(f"{file} exists and was not touched; choose another name, or --force to replace it")
    found = run(_collect(find_home(home), which))
    written = file.with_name(f".{file.name}.partial")
    written.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    os.replace(written, file)
    numbers = {kind: len(found[kind]) for kind in ("inbox", "turns", "calls", "entries", "events")}
    if as_json:
        print_json({"path": str(file), **numbers})
        return
    work = f"{plural(numbers['turns'], 'turn')}, {plural(numbers['calls'], 'call')}"
    stdout().print(
        f"Wrote {file}: {plural(numbers['inbox'], 'message')}, {work}. It contains no text and no name."
    )


async def _collect(home: Path, which: str) -> Json:
    async with looking(home) as (ledger, looks):
        if which.isdigit() and len(which) < SHORTEST_ID:
            row = await ledger.row(Position(int(which)))
            if row.turn is None:
                raise NotFound("session with message", which)
            session = await ledger.session(await ledger.session_of(row.turn))
        else:
            session = await find_session(ledger, looks, which)
        return await collect(ledger, session)


def replay(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="From `holdfast export`, or a world that a test saved.")
    ],
    seed: Annotated[int, typer.Option(help="Choose another order for simultaneous events.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Play an incident again on a simulated gateway: the same messages, replies, tools and crashes.

    Prints how each turn ended then and now, what could not be played (questions to people, wake-ups), and
    whether a promise was broken. A world that a test saved is played exactly as the test found it. Exit code
    1 if a promise is broken.
    """
    # Only this command needs the simulator.
    from holdfast.testing.explore.replay import replay as play  # noqa: PLC0415 - see above
    from holdfast.testing.explore.replay import replay_world  # noqa: PLC0415 - see above
    from holdfast.testing.explore.saved import is_world  # noqa: PLC0415 - see above

    found = replay_world(file) if is_world(file) else play(load(file), seed)
    if as_json:
        print_json(
            {
                "violations": found.violations,
                "deaths": found.deaths,
                "turns": [{"turn": turn, "then": then, "now": now} for turn, then, now in found.turns],
                "left_out": found.left_out,
                "digest": found.outcome.digest,
            }
        )
    else:
        out = stdout()
        rows = [(turn, coloured(then), coloured(now)) for turn, then, now in found.turns]
        print_table(out, ("turn", "then", "now"), rows)
        for words in found.left_out:
            out.print(f"not played: {words}")
        for words in found.violations:
            out.print(styled(("broken:", "red"), f" {words}"))
        if not found.violations:
            out.print(styled(("No promise is broken.", "green")))
    if found.violations:
        raise typer.Exit(FAILED)
