"""Shrinks a failing world: fewer messages, fewer kills, fewer faults, earlier kills."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import TypeVar

from holdfast.testing.sim.scenario import Scenario

from .options import Kill, Options, WorldOutcome
from .world import run_world

T = TypeVar("T")
World = tuple[Scenario, Options]
MOST_RUNS = 150


def shrink(scenario: Scenario, options: Options, most: int = MOST_RUNS) -> tuple[Scenario, WorldOutcome]:
    """The smallest world found within this many runs that breaks an invariant the given one breaks."""
    outcome = run_world(scenario, options)
    broken = _broken(outcome)
    left = most

    def fails(world: World) -> WorldOutcome | None:
        nonlocal left
        left -= 1
        found = run_world(*world)
        return found if _broken(found) & broken else None

    smallest = _with_kills_fixed(scenario, outcome)
    if broken and (found := fails(smallest)):
        outcome = found
    else:
        smallest = (scenario, options)
    while broken and left > 0:
        for smaller in _smaller(*smallest):
            if left <= 0:
                break
            if found := fails(smaller):
                smallest, outcome = smaller, found
                break
        else:
            break
    return smallest[0], outcome


def _broken(outcome: WorldOutcome) -> set[str]:
    return {words.partition(":")[0].partition(" after ")[0] for words in outcome.violations}


def _with_kills_fixed(scenario: Scenario, outcome: WorldOutcome) -> World:
    """The same world with the kills that chance chose, and no further random kills."""
    kills = (*outcome.options.kills, *outcome.killed_at)
    return scenario, replace(outcome.options, kills=kills, kill_rate=0.0, edge_rate=0.0)


def _smaller(scenario: Scenario, options: Options) -> Iterator[World]:
    for acts in _fewer(scenario.acts):
        yield replace(scenario, acts=acts), options
    for kills in _fewer(options.kills):
        yield scenario, replace(options, kills=kills)
    for field in fields(options.faults):
        if getattr(options.faults, field.name):
            calmer = replace(options.faults, **{field.name: 0.0})
            yield scenario, replace(options, faults=calmer)
    for place, kill in enumerate(options.kills):
        for earlier in _earlier(kill):
            kills = (*options.kills[:place], earlier, *options.kills[place + 1 :])
            yield scenario, replace(options, kills=kills)


def _fewer(many: tuple[T, ...]) -> Iterator[tuple[T, ...]]:
    """Halves first, then all but one."""
    half = len(many) // 2
    if half > 1:
        yield many[:half]
        yield many[half:]
    for place in range(len(many)):
        yield (*many[:place], *many[place + 1 :])


def _earlier(kill: Kill) -> Iterator[Kill]:
    if kill.step is not None and kill.step > 1:
        yield replace(kill, step=kill.step // 2)
    if kill.edge is not None and kill.edge > 1:
        yield replace(kill, edge=kill.edge // 2)
