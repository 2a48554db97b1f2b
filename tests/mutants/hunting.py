"""Looking for something wrong in a gateway, bug or no bug: the same worlds in the same order for all.

Run as a module it prints what it found, for whoever has put a bug into the sources it runs on.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import count

import holdfast
from holdfast.testing import Kill, Options, WorldOutcome, random_world, run_world
from tests.sim.scenarios import CANONICAL, SEED

GOLDEN = 0.618034
"""Multiples of it, modulo one, lie spread over everything there is, however early one stops."""
RANDOM_PER_ROUND = 20
NUMBERED = re.compile(r"([IR][0-9.]+)[^:]*: ")


@dataclass(frozen=True)
class Found:
    """What a hunt came to."""

    worlds: int
    """Tried until the first violation, or all that there was time for."""
    kills: int
    where: str = ""
    violation: str = ""

    @property
    def invariant(self) -> str:
        """Who caught it: an invariant by its number, or the world itself (no rest, a stage that broke)."""
        numbered = NUMBERED.match(self.violation)
        return numbered[1] if numbered else "liveness"


def worlds(seed: int = 0) -> Iterator[tuple[str, WorldOutcome]]:
    """Every scenario unharmed; then round by round each killed, or stopped, at a place, and random worlds."""
    sizes = {}
    for name, scenario in CANONICAL.items():
        calm = run_world(scenario, Options(seed=SEED + seed))
        sizes[name] = (calm.edges, calm.steps)
        yield f"{name}, unharmed", calm
    seeds = count(seed * 1_000_000)
    for number in count(1):
        for name, (edges, steps) in sizes.items():
            kill = _kill(number, edges, steps)
            yield f"{name}, {_words(kill)}", run_world(CANONICAL[name], Options(SEED + seed, kills=(kill,)))
        for _ in range(RANDOM_PER_ROUND):
            world = next(seeds)
            yield f"random world {world}", run_world(*random_world(world))


def _kill(number: int, edges: int, steps: int) -> Kill:
    """Most of what can be wrong is wrong around a commit: two of four are killed there."""
    place = number * GOLDEN % 1
    if number % 2:
        return Kill(edge=1 + int(place * edges))
    return Kill(step=1 + int(place * steps), orderly=number % 4 == 0)


def _words(kill: Kill) -> str:
    if kill.edge is not None:
        return f"killed at edge {kill.edge} of its commits"
    return f"{'stopped' if kill.orderly else 'killed'} at step {kill.step}"


def _clearest(violations: tuple[str, ...]) -> str:
    """The first that an invariant has flagged, if any has: that nothing rests is often only what follows."""
    return next((words for words in violations if NUMBERED.match(words)), violations[0])


def hunt(budget: int, seed: int = 0) -> Found:
    """Go through up to so many worlds, to the first in which something is wrong."""
    kills = 0
    for tried, (where, outcome) in enumerate(worlds(seed), start=1):
        kills += outcome.kills
        if outcome.violations:
            return Found(tried, kills, where, _clearest(outcome.violations))
        if tried >= budget:
            break
    return Found(budget, kills)


if __name__ == "__main__":
    budget, seed = int(sys.argv[1]), int(sys.argv[2])
    found = hunt(budget, seed)
    json.dump({"sources": holdfast.__file__, **asdict(found)}, sys.stdout)
