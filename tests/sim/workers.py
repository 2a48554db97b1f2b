"""Sweeps and worlds in processes of their own, as many as there are cores."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

from holdfast.testing import (
    Options,
    Scenario,
    Swept,
    WorldOutcome,
    random_world,
    run_world,
    stop_points,
    sweep,
)
from holdfast.testing.explore.cells import cell_world
from holdfast.testing.explore.coverage import Cell, happened
from holdfast.testing.explore.saved import load_world, save
from holdfast.testing.explore.shrink import shrink
from tests.sim.scenarios import CANONICAL

CORES = os.cpu_count() or 1
LUCK = 6
"""Seeds under which a cell is tried."""
FOUND = Path(__file__).parent / "found"
"""Worlds in which something was wrong once: they are played before all others."""


@contextmanager
def cores() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(CORES, get_context("spawn")) as pool:
        yield pool


@dataclass
class Tally:
    """What came of some worlds or of a part of a sweep, added up."""

    worlds: int = 0
    points: int = 0
    kills: int = 0
    messages: int = 0
    states: set[str] = field(default_factory=set)
    """The different ways in which ledger and step stood at a death."""
    met: Counter[Cell] = field(default_factory=Counter)
    sometimes: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def add(self, other: "Tally") -> None:
        self.worlds += other.worlds
        self.points += other.points
        self.kills += other.kills
        self.messages += other.messages
        self.states |= other.states
        self.met += other.met
        self.sometimes += other.sometimes
        self.failures += other.failures


def sweep_part(name: str, seed: int, part: int, parts: int, folder: Path | None = None) -> Tally:
    return _of(name, sweep(CANONICAL[name], Options(seed=seed), part, parts), folder)


def stop_part(name: str, seed: int, part: int, parts: int, folder: Path | None = None) -> Tally:
    return _of(name, sweep(CANONICAL[name], Options(seed=seed), part, parts, points_of=stop_points), folder)


def _of(name: str, swept: Swept, folder: Path | None) -> Tally:
    failures = [_kept(CANONICAL[name], failure, folder) for failure in swept.failures]
    return Tally(points=swept.points, kills=swept.hit, states=set(swept.states), failures=failures)


def play(seeds: Iterable[int], folder: Path | None = None) -> Tally:
    """Play random worlds; one that goes wrong is made smaller and written into the folder."""
    tally = Tally()
    for seed in seeds:
        _count(tally, *random_world(seed), folder)
    return tally


def play_cells(cells: Iterable[Cell], folder: Path | None = None) -> Tally:
    """Play a world for each of these cells, until it is met or luck has run out."""
    tally = Tally()
    for cell in cells:
        for seed in range(LUCK):
            if not tally.met[cell]:
                _count(tally, *cell_world(*cell, seed), folder)
    return tally


def play_found(path: Path) -> Tally:
    """Play a world that was found earlier."""
    tally = Tally()
    _count(tally, *load_world(path), None)
    return tally


def _count(tally: Tally, scenario: Scenario, options: Options, folder: Path | None) -> None:
    outcome = run_world(scenario, options)
    tally.worlds += 1
    tally.kills += outcome.kills
    tally.messages += len(outcome.history.events)
    tally.met.update(outcome.cells)
    tally.sometimes.update(happened(outcome))
    if outcome.violations:
        tally.failures.append(_kept(scenario, outcome, folder))


def _kept(scenario: Scenario, outcome: WorldOutcome, folder: Path | None) -> str:
    """What was wrong, in words; with a folder also as a file, made as small as it gets."""
    if folder is None:
        return str(outcome)
    path = folder / f"{re.sub(r'[^a-z0-9]+', '-', scenario.name.lower())}.json"
    smaller, smallest = shrink(scenario, outcome.options)
    save(smaller, smallest, path)
    return f"{outcome}\nsmaller: {smaller.acts}\n{smallest}\nholdfast replay {path}"
