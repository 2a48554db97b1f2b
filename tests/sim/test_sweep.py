"""Canonical scenarios, killed at the steps they take and at both edges of their commits.

The long run kills at every one of them, under several seeds; the ordinary run at every few.
"""

import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

import pytest

from tests.sim.at_work import AT_WORK
from tests.sim.scenarios import CANONICAL, SEED
from tests.sim.workers import CORES, Tally, stop_part, sweep_part

LONG = bool(os.environ.get("HOLDFAST_LONG"))
SEEDS = (SEED, 1, 3) if LONG else (SEED,)
EVERY, AT_WORK_EVERY = (1, 1) if LONG else (40, 96)
Sweeper = Callable[[str, int, int, int], Tally]
STOPPED = ("every class of tool", "a reply of several parts", "an edit and a withdrawal", "retry")


def judged(part: Sweeper, name: str, seed: int, pool: ProcessPoolExecutor) -> int:
    """How many points were tried, at none of which anything was wrong."""
    found = Tally()
    every = AT_WORK_EVERY if name in AT_WORK else EVERY
    for job in [pool.submit(part, name, seed, n, CORES * every) for n in range(CORES)]:
        found.add(job.result())
    assert found.failures == []
    assert found.kills == found.points, "a crash test that never crashed proves nothing"
    return found.points


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", CANONICAL)
def test_whatever_step_it_is_killed_at_it_holds(name: str, seed: int, pool: ProcessPoolExecutor) -> None:
    assert judged(sweep_part, name, seed, pool) > 100 // AT_WORK_EVERY


@pytest.mark.parametrize("name", STOPPED)
def test_whatever_step_it_is_told_to_stop_at_once_it_holds(name: str, pool: ProcessPoolExecutor) -> None:
    assert judged(stop_part, name, SEED, pool) > 100 // EVERY
