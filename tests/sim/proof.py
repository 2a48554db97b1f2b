"""The long run of sweeps and worlds: `python -m tests.sim.proof SECONDS [SEED] [FOLDER]`.

Worlds in which something was wrong once come first, then a world for each cell of the coverage matrix, then
canonical scenarios killed everywhere, then random worlds until the time is over. What goes wrong is made
smaller and written down for `holdfast replay`.
"""

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import count
from pathlib import Path
from time import monotonic

from holdfast.testing.explore.coverage import FAULTS, SOMETIMES, STATES, UNREACHABLE, empty_cells, matrix
from tests.sim.scenarios import CANONICAL, SEED
from tests.sim.workers import CORES, FOUND, Tally, cores, play, play_cells, play_found, sweep_part

PARTS = 40
"""Each scenario is swept in so many parts, a part of all of them before the next part of any."""
SHARE = 5
CELLS, SWEEPING = 0.2, 0.25
"""Of the time there is; the rest is for random worlds."""
Job = tuple[Callable[..., Tally], tuple[object, ...]]


def run(seconds: float, seed: int = 0, folder: Path = Path("found")) -> dict[str, object]:
    """Spend this time on it, all cores at work; what was counted, with every violation in words."""
    began = monotonic()
    with cores() as pool:
        known = _done(pool, ((play_found, (path,)) for path in sorted(FOUND.glob("*.json"))), None)
        cells = _done(pool, _cells(folder), began + CELLS * seconds)
        all_tried = monotonic() <= began + CELLS * seconds
        swept = _done(pool, _sweeps(folder), began + (CELLS + SWEEPING) * seconds)
        played = _done(pool, _worlds(seed, folder), began + seconds)
        cells.add(played)
    empty = [" × ".join(cell) for cell in empty_cells(cells.met)]
    missed = [f"nothing has met {cell}" for cell in empty] if all_tried else []
    return {
        "seed": seed,
        "seconds": round(monotonic() - began),
        "worlds": cells.worlds,
        "kills": cells.kills,
        "messages": cells.messages,
        "points": swept.points,
        "point_kills": swept.kills,
        "distinct_points": len(swept.states),
        "scenarios": len(CANONICAL),
        "found_earlier": known.worlds,
        "violations": [*known.failures, *swept.failures, *cells.failures, *missed],
        "never_happened": [name for name in SOMETIMES if not played.sometimes[name]],
        "empty_cells": empty,
        "unreachable_cells": {" × ".join(cell): why for cell, why in UNREACHABLE.items()},
        "coverage": matrix(cells.met),
    }


def _sweeps(folder: Path) -> Iterator[Job]:
    for part in range(PARTS):
        for name in CANONICAL:
            yield sweep_part, (name, SEED, part, PARTS, folder)


def _cells(folder: Path) -> Iterator[Job]:
    cells = [(fault, state) for state in STATES for fault in FAULTS]
    for first in range(0, len(cells), SHARE):
        yield play_cells, (cells[first : first + SHARE], folder)


def _worlds(seed: int, folder: Path) -> Iterator[Job]:
    for first in count(seed, SHARE):
        yield play, (range(first, first + SHARE), folder)


def _done(pool: ProcessPoolExecutor, jobs: Iterable[Job], until: float | None) -> Tally:
    """Have jobs done one after the other, on all cores, until there are none or the time is over."""
    found, running = Tally(), set[Future[Tally]]()
    for work, arguments in jobs:
        running.add(pool.submit(work, *arguments))
        if len(running) >= 2 * CORES:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for job in done:
                found.add(job.result())
        if until is not None and monotonic() > until:
            break
    for job in running:
        found.add(job.result())
    return found


def main(seconds: str, seed: str = "0", folder: str = "found") -> int:
    report = run(float(seconds), int(seed), Path(folder))
    shown = {name: value for name, value in report.items() if name != "coverage"}
    sys.stdout.write(f"{report['coverage']}\n{json.dumps(shown, indent=1)}\n")
    return 1 if report["violations"] else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
