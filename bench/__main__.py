"""`python -m bench ledger [--quick] [--json]`: measure, print, and fail if a limit is missed."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from rich.console import Console

from . import ledger
from .report import as_json, as_table, exit_code
from .turn import COMMITS


def main() -> int:
    arguments = _arguments()
    console, notes = Console(), Console(stderr=True)
    started = perf_counter()

    def say(what: str) -> None:
        notes.print(f"{perf_counter() - started:6.1f} s  {what}", highlight=False)

    with tempfile.TemporaryDirectory(prefix="holdfast-bench-", dir=arguments.dir) as folder:
        scale = ledger.QUICK if arguments.quick else ledger.FULL
        rows = asyncio.run(ledger.run(Path(folder), scale, say, arguments.only))
    say("done")
    if arguments.json:
        print(as_json(rows))
    else:
        print(f"Commits of one durable turn, each synced ({len(COMMITS)}):")
        print("\n".join(f"  {number:2}. {what}" for number, what in enumerate(COMMITS, 1)))
        as_table(rows, console)
    return exit_code(rows)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description="Measure Holdfast against its floors.")
    subjects = parser.add_subparsers(dest="subject", required=True)
    of_ledger = subjects.add_parser("ledger", help="the store: turns, growth, recovery, memory")
    of_ledger.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    of_ledger.add_argument(
        "--quick", action="store_true", help="smaller ledgers, fewer turns: under a minute"
    )
    of_ledger.add_argument("--dir", type=Path, help="where the ledgers are made; the disk that is measured")
    of_ledger.add_argument("--only", choices=ledger.PARTS, action="append", help="measure just this part")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
