"""The long proof: `scripts/soak --minutes N`, all layers one after the other, on all cores.

Worlds and sweeps, power cuts and failing disks, real processes killed, planted bugs. What is found is said in
words and, if it was a simulated world, written down for `holdfast replay`.
"""

import argparse
import json
import os
import platform
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any

from holdfast.cli.render.output import print_table, stderr, stdout
from tests.mutants import campaign
from tests.processes import proof as processes
from tests.sim import proof as worlds
from tests.support.disks import proof as disks
from tests.unit.project.tree import ROOT

Report = dict[str, Any]
Layer = Callable[[float, int, Path], Report]
LAYERS: dict[str, tuple[float, Layer]] = {
    "processes": (0.06, lambda seconds, seed, _folder: processes.run(seconds, seed)),
    "worlds": (0.42, worlds.run),
    "disks": (0.22, lambda seconds, seed, folder: disks.run(seconds, seed, keep=folder)),
    "mutants": (0.30, lambda seconds, seed, _folder: campaign.run(seconds, seed=seed)),
}
"""Each with its share of the time."""
COUNTED = (
    "worlds",
    "kills",
    "messages",
    "points",
    "distinct_points",
    "disk_states",
    "write_faults",
    "sigkills",
)
"""What stands at the top of a report, with the violations and the planted bugs."""


def soak(minutes: float, seed: int, folder: Path, only: tuple[str, ...] = ()) -> Report:
    """Spend this time on the layers; the report of all."""
    chosen = {name: LAYERS[name] for name in only or LAYERS}
    whole = sum(share for share, _ in chosen.values())
    began, began_at = monotonic(), datetime.now(UTC)
    found: Report = dict.fromkeys(COUNTED, 0) | {"mutants": {"planted": 0, "caught": 0}}
    wrong: list[str] = []
    for name, (share, layer) in chosen.items():
        seconds = minutes * 60 * share / whole
        with stderr().status(f"{name}: about {seconds / 60:.1f} minutes, {len(wrong)} violations so far"):
            report = layer(seconds, seed, folder)
        wrong += [f"{name}: {words}" for words in report.pop("violations")]
        wrong += [
            f"{name}: {survivor} was planted and not caught" for survivor in report.pop("survivors", ())
        ]
        found |= {key: value for key, value in report.items() if key not in ("seed", "seconds", "coverage")}
    return {
        "violations": len(wrong),
        **found,
        "what_was_wrong": wrong,
        "seed": seed,
        "minutes": round((monotonic() - began) / 60, 1),
        "began": began_at.isoformat(timespec="seconds"),
        **_what_it_ran_on(),
    }


def _what_it_ran_on() -> Report:
    def git(*words: str) -> str:
        return subprocess.run(
            ["git", *words], cwd=ROOT, capture_output=True, text=True, check=False
        ).stdout.strip()

    return {
        "commit": git("rev-parse", "HEAD") or "unknown",
        "changed_since": bool(git("status", "--porcelain")),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "cores": os.cpu_count(),
    }


def show(report: Report) -> None:
    """For people."""
    console, mutants = stdout(), report["mutants"]
    rows = [(name.replace("_", " "), f"{report[name]:,}") for name in COUNTED]
    rows.append(("planted bugs caught", f"{mutants['caught']} of {mutants['planted']}"))
    colour = "red" if report["violations"] else "green"
    rows.append(("violations", f"[{colour}]{report['violations']}[/]"))
    print_table(console, ("", "number"), rows)
    for words in report["what_was_wrong"]:
        console.print(f"  {words}", markup=False)
    console.print(f"[dim]{report['minutes']} min, seed {report['seed']}, commit {report['commit'][:12]}[/]")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/soak", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=_minutes, default=60.0, help="how long (60)")
    parser.add_argument("--seed", type=int, default=0, help="other seeds play other worlds (0)")
    parser.add_argument("--only", action="append", choices=LAYERS, default=[], help="only this layer")
    parser.add_argument(
        "--found", type=Path, default=Path("found"), help="folder for what goes wrong (found)"
    )
    parser.add_argument("--json", action="store_true", help="the whole report, as one JSON object")
    chosen = parser.parse_args(arguments)
    report = soak(chosen.minutes, chosen.seed, chosen.found.absolute(), tuple(chosen.only))
    if chosen.json:
        sys.stdout.write(json.dumps(report, indent=1) + "\n")
    else:
        show(report)
    return 1 if report["violations"] else 0


def _minutes(text: str) -> float:
    minutes = float(text)
    if not 0 <= minutes <= 60 * 24 * 365:
        raise argparse.ArgumentTypeError(f"{text} is no number of minutes")
    return minutes


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
