"""Canonical scenarios, killed at the steps they take and at both edges of their commits.

The long run kills at every one of them, under several seeds; the ordinary run at every few.
"""

import os
from concurrent.futures import ProcessPoolExecutor

import pytest

from tests.sim.scenarios import CANONICAL
from tests.sim.workers import CORES, sweep_part

LONG = bool(os.environ.get("HOLDFAST_LONG"))
SEEDS = range(1, 4) if LONG else range(1, 2)
EVERY = 1 if LONG else 4


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", CANONICAL)
def test_whatever_step_it_is_killed_at_it_holds(name: str, seed: int, pool: ProcessPoolExecutor) -> None:
    jobs = [pool.submit(sweep_part, name, seed, part, CORES * EVERY) for part in range(CORES)]
    points, deaths, failures = zip(*(job.result() for job in jobs), strict=True)
    assert sum(failures, []) == []
    assert sum(points) > 100 // EVERY
    assert sum(deaths) == sum(points), "a crash test that never crashed proves nothing"
