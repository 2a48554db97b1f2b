"""The command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from holdfast import __version__
from holdfast.app import load
from holdfast.errors import HoldfastError, Unusable

from .demo import run_demo

__all__ = ["main"]

EXIT_BAD_CONFIG = 78

app = typer.Typer(
    help="Holdfast: a gateway between chat platforms and AI agents whose sessions cannot be lost.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    if version:
        print(__version__)
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def demo(
    text: Annotated[
        str, typer.Argument(help="What to ask for; a number in it is the number of steps.")
    ] = "Please do your 6 steps.",
    home: Annotated[
        Path | None,
        typer.Option(help="Where everything is kept.", show_default="$HOLDFAST_HOME, else ~/.holdfast"),
    ] = None,
    pace: Annotated[
        float | None, typer.Option(help="Seconds per beat of the work.", show_default="0.5")
    ] = None,
) -> None:
    """Run one long piece of work in the terminal. Kill it with `kill -9`, run it again: it goes on."""
    run_demo(load(home, pace), text, Console())


def main() -> None:
    """Run the command line; what went wrong is said in words, and the exit code says whose fault it is."""
    try:
        app()
    except Unusable as error:
        Console(stderr=True).print(f"[red]holdfast:[/] {error}", highlight=False)
        raise SystemExit(EXIT_BAD_CONFIG) from None
    except HoldfastError as error:
        Console(stderr=True).print(f"[red]holdfast:[/] {error}", highlight=False)
        raise SystemExit(1) from None
