"""`python -m bench ledger|gateway [--quick] [--json]`: measure, print, and fail if a limit is missed."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

from rich.console import Console

from . import gateway, ledger, turn
from .report import Row, as_json, as_table, exit_code


def main() -> int:
    arguments = _arguments()
    console, notes = Console(), Console(stderr=True)
    started = perf_counter()

    def say(what: str) -> None:
        notes.print(f"{perf_counter() - started:6.1f} s  {what}", highlight=False)

    with tempfile.TemporaryDirectory(prefix="holdfast-bench-", dir=arguments.dir) as folder:
        rows, commits = _measure(Path(folder), arguments, say)
    say("done")
    if arguments.json:
        print(as_json(rows))
    else:
        print(f"Commits of one durable turn, each synced ({len(commits)}):")
        print("\n".join(f"  {number:2}. {what}" for number, what in enumerate(commits, 1)))
        as_table(rows, console)
    return exit_code(rows)


def _measure(
    folder: Path, arguments: argparse.Namespace, say: Callable[[str], None]
) -> tuple[list[Row], tuple[str, ...]]:
    """The rows of the selected benchmark, and the commits of the turn it measures."""
    if arguments.subject == "gateway":
        of_gateway = gateway.QUICK if arguments.quick else gateway.FULL
        return asyncio.run(gateway.run(folder, of_gateway, say, arguments.only)), gateway.COMMITS
    scale = ledger.QUICK if arguments.quick else ledger.FULL
    return asyncio.run(ledger.run(folder, scale, say, arguments.only)), turn.COMMITS


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description="Measure Holdfast against its floors.")
    subjects = parser.add_subparsers(dest="subject", required=True)
    for name, parts, words in (
        ("ledger", ledger.PARTS, "the store: turns, growth, recovery, memory"),
        ("gateway", gateway.PARTS, "the whole gateway: messages, latency, start, recovery, memory"),
    ):
        one = subjects.add_parser(name, help=words)
        one.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
        one.add_argument(
            "--quick", action="store_true", help="smaller ledgers, fewer turns: about a minute or less"
        )
        one.add_argument("--dir", type=Path, help="folder for the ledgers, on the disk to measure")
        one.add_argument("--only", choices=parts, action="append", help="measure only this part")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
