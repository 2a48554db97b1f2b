"""Every planted bug is hunted in a process of its own, as many at a time as there are cores.

    python -m tests.mutants.campaign [NAME …]

says of each, or of those named, what caught it, where, and after how many worlds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

from tests.mutants.hunting import Found
from tests.mutants.planting import ROOT, Mutant, mutants, plant

CORES = os.cpu_count() or 1
BUDGET = 1_500
"""Worlds in which a bug has to show itself."""
PATIENCE = 1_800.0
"""Seconds after which a hunt is given up: a bug may also keep a world from ever ending."""


@dataclass(frozen=True)
class Hunted:
    """A planted bug and what became of it."""

    mutant: Mutant
    found: Found | None
    """None if the hunt did not come to an end."""

    @property
    def caught(self) -> bool:
        return self.found is not None and bool(self.found.violation)

    def __str__(self) -> str:
        found = self.found
        if found is None:
            return f"{self.mutant.name}: the hunt broke or did not end"
        if not found.violation:
            return f"{self.mutant.name}: survives {found.worlds} worlds"
        words = f"{found.invariant} after {found.worlds} worlds, in {found.where}: {found.violation}"
        return f"{self.mutant.name}: {words}"


def hunt_apart(mutant: Mutant | None, budget: int, seed: int = 0) -> Found | None:
    """Hunt in a process that runs on a copy of the sources with this bug in it, or with none."""
    with TemporaryDirectory() as folder:
        copy = plant(mutant, Path(folder))
        path = os.pathsep.join((str(copy), str(ROOT)))
        command = [sys.executable, "-m", "tests.mutants.hunting", str(budget), str(seed)]
        try:
            done = subprocess.run(
                command,
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": path},
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None
        if done.returncode:
            return None
        said: dict[str, Any] = json.loads(done.stdout)
        assert Path(said.pop("sources")).is_relative_to(copy), "it ran on other sources than the copy"
        return Found(**said)


def hunt_all(
    chosen: Iterable[Mutant], budget: int = BUDGET, seed: int = 0, until: float = inf
) -> Iterator[Hunted]:
    """Hunt each of them, in the order they were given; none is begun when the time is over."""

    def hunted(mutant: Mutant) -> Hunted | None:
        return Hunted(mutant, hunt_apart(mutant, budget, seed)) if monotonic() < until else None

    with ThreadPoolExecutor(CORES) as pool:
        yield from (one for one in pool.map(hunted, chosen) if one is not None)


def run(seconds: float = inf, budget: int = BUDGET, seed: int = 0) -> dict[str, Any]:
    """All of them, and the sources as they are, which have to be clean: a report for the soak.

    When time runs out, the rest are not planted; another seed begins with others.
    """
    until = monotonic() + seconds
    known = list(mutants().values())
    first = seed % len(known)
    hunted = list(hunt_all([*known[first:], *known[:first]], budget, seed, until))
    control = hunt_apart(None, max((one.found.worlds for one in hunted if one.found), default=1), seed)
    if control is None:
        violations = ["the sources as they are: the hunt broke"]
    else:
        violations = [f"{control.where}: {control.violation}"] if control.violation else []
    return {
        "mutants": {"planted": len(hunted), "caught": sum(one.caught for one in hunted)},
        "mutants_known": len(known),
        "survivors": [one.mutant.name for one in hunted if not one.caught],
        "worlds_to_find": {one.mutant.name: one.found.worlds for one in hunted if one.found and one.caught},
        "caught_by": {one.mutant.name: one.found.invariant for one in hunted if one.found and one.caught},
        "violations": violations,
    }


def main(names: list[str]) -> int:
    known = mutants()
    missed = 0
    for hunted in hunt_all(known[name] for name in names or known):
        missed += not hunted.caught
        sys.stdout.write(f"{hunted}\n")
    return missed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
