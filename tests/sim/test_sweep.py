"""Canonical scenarios, killed at every step they take and at both edges of every commit."""

from concurrent.futures import ProcessPoolExecutor

import pytest

from tests.sim.scenarios import CANONICAL
from tests.sim.workers import CORES, sweep_part

SEED = 1


@pytest.mark.parametrize("name", CANONICAL)
def test_whatever_step_it_is_killed_at_it_holds(name: str, pool: ProcessPoolExecutor) -> None:
    jobs = [pool.submit(sweep_part, name, SEED, part, CORES) for part in range(CORES)]
    points, deaths, failures = zip(*(job.result() for job in jobs), strict=True)
    assert sum(failures, []) == []
    assert sum(points) > 100
    assert sum(deaths) == sum(points), "a crash test that never crashed proves nothing"
