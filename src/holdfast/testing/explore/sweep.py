"""Kills a scenario at each step it takes and at each edge of each commit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from holdfast.records import dataclass
from holdfast.testing.sim.scenario import Scenario

from .options import Kill, Options, WorldOutcome
from .world import run_world

Points = Callable[[Scenario, Options], list[Kill]]
STARTING = 10


@dataclass(frozen=True, slots=True)
class Swept:
    """The result of a sweep."""

    points: int
    """Crash points tried."""
    hit: int
    """The points at which a process really died."""
    failures: tuple[WorldOutcome, ...]
    states: frozenset[str]
    """The different states of ledger and step at the deaths."""


def crash_points(scenario: Scenario, options: Options) -> list[Kill]:
    """Every place at which this scenario can be killed, taken from a run without a kill."""
    calm = run_world(scenario, replace(options, kills=(), boots_twice=False))
    if calm.violations:
        raise AssertionError(f"it does not even hold without a kill\n{calm}")
    # Edges first: most faults are around a commit.
    edges = [Kill(edge=number) for number in range(1, calm.edges + 1)]
    return edges + [Kill(step=number) for number in range(1, calm.steps + 1)]


def stop_points(scenario: Scenario, options: Options) -> list[Kill]:
    """Every step at which this scenario can be asked to stop at once."""
    steps = [kill.step for kill in crash_points(scenario, options) if kill.step is not None]
    # Before its first steps, no process can be asked.
    return [Kill(step, orderly=True) for step in steps[STARTING:]]


def sweep(
    scenario: Scenario,
    options: Options,
    part: int = 0,
    parts: int = 1,
    most: int = 3,
    points_of: Points = crash_points,
) -> Swept:
    """Kill the scenario at every `parts`-th crash point from `part` on; stops after `most` failures."""
    points = points_of(scenario, options)[part::parts]
    hit, failures, states = 0, list[WorldOutcome](), set[str]()
    for outcome in _outcomes(scenario, options, points):
        # The boot at the end is a kill as well.
        hit += outcome.kills > options.boots_twice
        states.update(outcome.deaths)
        if outcome.violations:
            failures.append(outcome)
            if len(failures) == most:
                break
    return Swept(len(points), hit, tuple(failures), frozenset(states))


def _outcomes(scenario: Scenario, options: Options, points: list[Kill]) -> Iterator[WorldOutcome]:
    for kill in points:
        yield run_world(scenario, replace(options, kills=(*options.kills, kill)))
