"""Systematic small mutations against the tests that cover them: `scripts/mutate [PACKAGE …]`.

Each mutant is tried in a copy of the project. The tool keeps every verdict at once: a run that was stopped
goes on from there. A mutant that no test notices survives. The file equivalent.toml lists mutants that no
test could notice, each with the reason.

Why no tool off the shelf: mutmut changes only code inside of functions, and much of what Holdfast decides is
in tables and defaults outside of them. cosmic-ray runs one whole test command for each mutant.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from time import monotonic

from holdfast.cli.render.output import stderr, stdout
from tests.mutation.covering import LEFT_OUT, Covering, files_of, refresh, test_files
from tests.mutation.operators import Mutation
from tests.mutation.report import Report, package_report, publish, table
from tests.mutation.sample import EQUIVALENT, NothingThere, changed_since, drawn, equivalents, population
from tests.mutation.trials import Verdict, Verdicts, copies, try_all
from tests.unit.project.tree import ROOT

SAMPLE = 150
SEED = 7
BUDGET = 20.0
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def say(words: str) -> None:
    stderr().print(words, markup=False, highlight=False, soft_wrap=True)


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/mutate", description="Small mutations, tried by the tests."
    )
    parser.add_argument("packages", nargs="*", help="packages or modules (policy, policy/ages.py); else all")
    parser.add_argument("--sample", type=int, default=SAMPLE, help="mutants of each package; 0 for all")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--since", metavar="REVISION", help="all mutants of lines changed since then")
    parser.add_argument("--budget", type=float, default=BUDGET, help="seconds of tests for each mutant")
    parser.add_argument("--jobs", type=int, default=CORES, help="mutants tried at a time")
    parser.add_argument("--slow", action="store_true", help="with tests of processes and browsers too")
    parser.add_argument("--fresh", action="store_true", help="forget earlier verdicts")
    parser.add_argument("--json", action="store_true", help="the report as JSON")
    parser.add_argument("--publish", action="store_true", help="write the report and the table into docs")
    parser.add_argument("--project", type=Path, default=ROOT, help=argparse.SUPPRESS)
    return parser.parse_args(given)


def prepared(options: argparse.Namespace, folder: Path) -> Covering:
    """A copy of the project as it is now, and which of its tests run which lines."""
    folder.mkdir(exist_ok=True)
    copy = folder / "copy-0"
    refresh(copy, options.project)
    covering = Covering.load(folder)
    files = test_files(copy, options.slow)
    stale = covering.stale(copy, files)
    if stale:
        say(f"Looking which lines the tests run: {len(stale)} of {len(files)} test files.")
        for left in covering.collect(copy, stale, options.jobs):
            say(f"  {left} left")
    for test in covering.failed:
        say(f"  fails without any change, so it judges nothing: {test}")
    return covering.only(files)


def run(options: argparse.Namespace) -> dict[str, Report]:
    folder: Path = options.project / ".mutation"
    covering = prepared(options, folder)
    copy = folder / "copy-0"
    every = population(copy, options.packages)
    if options.since:
        lines = changed_since(options.project, options.since)
        every = {name: [m for m in found if m.line in lines.get(m.file, ())] for name, found in every.items()}
        options.sample = 0
    kept = folder / "verdicts.jsonl"
    if options.fresh:
        kept.unlink(missing_ok=True)
    verdicts = Verdicts(kept, copy, whole_digest(copy, options.budget))
    places = copies(copy, options.jobs)
    listed = equivalents(EQUIVALENT if options.project == ROOT else options.project / EQUIVALENT.name)
    reports = {}
    for name, found in every.items():
        chosen = drawn(found, options.sample, options.seed)
        equal = {m.key: one for m in chosen for one in listed if one.is_about(m)}
        judged = judge(
            name, [m for m in chosen if m.key not in equal], covering, verdicts, places, options.budget
        )
        reports[name] = package_report(len(found), judged, equal)
        if options.publish:
            publish({name: reports[name]})
    return reports


def whole_digest(copy: Path, budget: float) -> str:
    """Of all that could notice a mutant."""
    summed = sha256(str(budget).encode())
    for path in files_of(copy):
        name = path.relative_to(copy).as_posix()
        if name.startswith(("src/", "tests/")) and not name.startswith(LEFT_OUT):
            summed.update(name.encode() + b"\0" + path.read_bytes())
    return summed.hexdigest()[:16]


def judge(
    name: str,
    chosen: Sequence[Mutation],
    covering: Covering,
    verdicts: Verdicts,
    places: Sequence[Path],
    budget: float,
) -> list[tuple[Mutation, Verdict]]:
    """The verdict on each mutant, from the earlier run where it still holds."""
    judged = {m.key: (m, known) for m in chosen if (known := verdicts.known(m))}
    lines = {m.file: covering.lines(places[0], m.file) for m in chosen if m.key not in judged}
    wanted = [(m, covering.tests_for(m, lines[m.file], budget)) for m in chosen if m.key not in judged]
    say(f"{name}: {len(chosen)} mutants, {len(judged)} known from before")
    began = monotonic()
    for done, (mutation, verdict, by, seconds, tests) in enumerate(
        try_all(wanted, covering, places), start=1
    ):
        judged[mutation.key] = (mutation, verdicts.keep(mutation, verdict, by, seconds, tests))
        if judged[mutation.key][1].survived:
            say(f"  survives {tests} tests: {mutation}")
        if done % 10 == 0 or done == len(wanted):
            left = (monotonic() - began) / done * (len(wanted) - done)
            alive = sum(one.survived for _, one in judged.values())
            say(f"  {name} {len(judged)}/{len(chosen)}: {alive} survived, about {left / 60:.1f} minutes left")
    return [judged[m.key] for m in chosen]


def main(given: Sequence[str] | None = None) -> int:
    options = arguments(given)
    if hasattr(os, "nice"):
        os.nice(10)
    try:
        reports = run(options)
    except NothingThere as nothing:
        say(str(nothing))
        return 2
    except KeyboardInterrupt:
        say("Stopped. The same command goes on from here.")
        return 130
    if options.json:
        report = {"seed": options.seed, "sample": options.sample, "packages": reports}
        stdout().print_json(json.dumps(report))
    else:
        stdout().print(table(reports), markup=False, highlight=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
