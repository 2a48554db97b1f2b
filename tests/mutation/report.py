"""What a run found, as a table, as JSON and in the page of the proof."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.mutation.operators import Mutation
from tests.mutation.sample import Equivalent
from tests.mutation.trials import Verdict
from tests.unit.project.tree import ROOT

REPORT = ROOT / "docs" / "explanation" / "mutation-report.json"
PAGE = ROOT / "docs" / "explanation" / "proof.md"
BEGIN, END = "<!-- mutation: written by scripts/mutate --publish -->", "<!-- /mutation -->"
HEAD = """\
| package | date | mutants | sample | killed | survived | equivalent | rate |
|---|---|---|---|---|---|---|---|
"""
Report = dict[str, Any]


def package_report(
    population: int, judged: Iterable[tuple[Mutation, Verdict]], equivalent: Mapping[str, Equivalent]
) -> Report:
    """How many of a package's mutants were noticed; those that cannot be count for nothing."""
    real = [(mutation, verdict) for mutation, verdict in judged if mutation.key not in equivalent]
    survivors = [(mutation, verdict) for mutation, verdict in real if verdict.survived]
    killed = len(real) - len(survivors)
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "mutants": population,
        "sample": len(real) + len(equivalent),
        "killed": killed,
        "survived": len(survivors),
        "equivalent": len(equivalent),
        "rate": round(100 * killed / len(real), 1) if real else None,
        "ended": dict(sorted(Counter(verdict.verdict for _, verdict in real).items())),
        "survivors": [described(mutation) | {"tests": verdict.tests} for mutation, verdict in survivors],
    }


def described(mutation: Mutation) -> Report:
    names = ("file", "line", "function", "operator", "was", "becomes", "nth")
    return {name: getattr(mutation, name) for name in names}


def table(packages: Mapping[str, Report]) -> str:
    rows = []
    for name, one in sorted(packages.items()):
        cells = [f"`{name}`", one["date"], f"{one['mutants']:,}"]
        cells += [str(one[count]) for count in ("sample", "killed", "survived", "equivalent")]
        rows.append(f"| {' | '.join(cells)} | {one['rate']} % |\n")
    return HEAD + "".join(rows)


def publish(packages: Mapping[str, Report], report: Path = REPORT, page: Path = PAGE) -> None:
    """Put these packages into the kept report, beside what is kept of others, and the table into the page."""
    kept = json.loads(report.read_text(encoding="utf-8")) if report.exists() else {}
    kept |= dict(packages)
    report.write_text(json.dumps(kept, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
    page.write_text(with_table(page.read_text(encoding="utf-8"), kept), encoding="utf-8")


def with_table(words: str, packages: Mapping[str, Report]) -> str:
    """The page with this table between its marks."""
    before, _, rest = words.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{table(packages)}\n{END}{after}"
