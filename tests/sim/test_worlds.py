"""Random worlds: people, kills, and everything that can go wrong between us and a platform."""

import os
from concurrent.futures import ProcessPoolExecutor

from tests.sim.workers import play

LONG = bool(os.environ.get("HOLDFAST_LONG"))
WORLDS = 4_000 if LONG else 300
SHARE = 20


def test_random_worlds_hold(pool: ProcessPoolExecutor) -> None:
    jobs = [pool.submit(play, range(first, first + SHARE)) for first in range(0, WORLDS, SHARE)]
    messages, deaths, failures = zip(*(job.result() for job in jobs), strict=True)
    assert sum(failures, [])[:3] == []
    assert sum(messages) > 4 * WORLDS
    assert sum(deaths) > 2 * WORLDS
