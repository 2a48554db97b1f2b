"""Commands for backups: make one, restore one, and release or drop the work that a restore holds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from holdfast.api.client import NotRunning, ask
from holdfast.api.held_items import release_at_rest
from holdfast.api.to_json import Json
from holdfast.cli.options import AsJson, Home, run
from holdfast.cli.render.format import ago, moment, one_line, plural
from holdfast.cli.render.output import complain, print_json, print_table, stderr, stdout
from holdfast.cli.render.tables import counted
from holdfast.cli.render.terminal_text import styled
from holdfast.clock import SystemClock, SystemIds
from holdfast.config.load import find_home
from holdfast.maintenance import backup as keeping
from holdfast.process.exit_codes import FAILED
from holdfast.process.offline import look

Force = Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")]


@contextmanager
def _progress_bar(quiet: bool) -> Iterator[keeping.Progress]:
    """Show a progress bar if standard error is a terminal."""
    console = stderr()
    if quiet or not console.is_terminal:
        yield lambda what, done, of: None
        return
    from rich.progress import (  # noqa: PLC0415 - only these two commands need it
        BarColumn,
        Progress,
        TaskID,
        TaskProgressColumn,
        TextColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    with Progress(*columns, console=console, transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def show(what: str, done: int, of: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=of)
            bars.update(tasks[what], completed=done, total=of)

        yield show


def backup(
    target: Annotated[
        Path, typer.Argument(metavar="FILE|DIR", help="The file to write, or a folder to write one into.")
    ],
    force: Force = False,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Write the whole home into one file: ledger, attachments, and the configuration without secrets.

    This works while the gateway runs, and does not block it: the copy shows the ledger at one instant. The
    command checks the copy like `verify` does, syncs it, and only then puts the file in its place.
    """
    with _progress_bar(as_json) as progress:
        made = keeping.make_backup(find_home(home), target, SystemClock(), force, progress)
    if as_json:
        print_json(
            {
                "path": str(made.path),
                "size": made.size,
                "schema": made.schema,
                "blobs": made.blobs,
                "left_out": made.left_out,
            }
        )
        return
    out = stdout()
    wrote = f"Wrote {made.path} ({made.size:,} bytes): the ledger is "
    out.print(styled(wrote, ("sound", "green"), f", {plural(made.blobs, 'attachment')}."))
    if made.left_out:
        out.print(f"Secrets are not in it. Set them again after a restore: {', '.join(made.left_out)}.")


def restore(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `holdfast backup` wrote.")],
    force: Annotated[
        bool, typer.Option("--force", help="If the home is not empty, move the whole folder aside first.")
    ] = False,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Make a home from a backup. Not while a gateway runs there, and not from a damaged or newer backup.

    Turns, replies and messages that were open in the backup may have been finished since then. So the gateway
    holds them: it runs and sends none of them by itself. `holdfast release` lists, releases or drops them.
    """
    clock = SystemClock()
    with _progress_bar(as_json) as progress:
        done = keeping.restore(source, find_home(home), clock, SystemIds(clock), force, progress)
    if as_json:
        before = str(done.before) if done.before else None
        print_json({"home": str(done.home), "made_at": done.made_at, "held": done.held, "before": before})
        return
    out = stdout()
    out.print(f"Restored {done.home} as of {moment(done.made_at)} ({ago(done.made_at, clock.now())}).")
    if done.before:
        out.print(f"The previous home is kept in {done.before}.")
    numbers = [plural(count, kind[:-1]) for kind, count in done.held.items() if count]
    if numbers:
        words = (
            ", open when the backup was made. The gateway runs and sends none of it by itself: "
            "`holdfast release` lists, releases or drops it."
        )
        out.print(styled("Held for you: ", (", ".join(numbers), "yellow"), words))
    else:
        out.print("Nothing was open when the backup was made.")


def release(
    items: Annotated[
        list[str] | None, typer.Argument(metavar="ITEM", help="The names of items in the list.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every item in the list.")] = False,
    drop: Annotated[bool, typer.Option("--drop", help="Drop the items for good.")] = False,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """List, release or drop what waits for you: work that a restore holds, and conversations on hold.

    A conversation is on hold after its third park within a day. When you release it, the agent answers its
    waiting messages in a fresh session; --drop drops these messages. After a restore, a released turn resumes
    from its exact step (or delivers its answer), a released message is answered, and a released part is sent,
    marked as a possible repeat if the platform cannot tell. The ledger does not know what happened after the
    backup: look into the chats first. Without a running gateway, released work starts at the next start.
    """
    where = find_home(home)
    if not items and not everything:
        held = run(look(where, "held"))["held"]
        if as_json:
            print_json({"held": held})
        elif not held:
            stdout().print("Nothing is held.")
        else:
            now = SystemClock().now()
            rows = [(one["item"], one["chat"], ago(one["since"], now), one_line(one["text"])) for one in held]
            print_table(stdout(), ("item", "chat", "since", "begins"), rows)
            stdout().print(f"{counted(held)} held. Name items, or use --all; --drop drops them for good.")
        return
    found = run(_release(where, " ".join(items or ()) or None, drop))
    if as_json:
        print_json(found)
    else:
        done = found["dropped" if drop else "released"]
        stdout().print(f"{'Dropped' if drop else 'Released'}: {', '.join(done) or 'nothing'}.")
        for name, why in found["refused"].items():
            complain(f"{name}: {why}")
    if found["refused"]:
        raise typer.Exit(FAILED)


async def _release(home: Path, items: str | None, drop: bool) -> Json:
    try:
        return await ask(home, "release", items=items, drop=drop)
    except NotRunning:
        clock = SystemClock()
        return await release_at_rest(home, clock, SystemIds(clock), items, drop)
