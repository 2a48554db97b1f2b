"""Sweeps and worlds in processes of their own, as many as there are cores."""

import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context

from holdfast.testing import Options, Swept, run_world, stop_points, sweep
from tests.sim.scenarios import CANONICAL, random_world

CORES = os.cpu_count() or 1


@contextmanager
def cores() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(CORES, get_context("spawn")) as pool:
        yield pool


Found = tuple[int, int, list[str]]
"""Points tried, deaths, and failures in words."""


def sweep_part(name: str, seed: int, part: int, parts: int) -> Found:
    return _in_words(sweep(CANONICAL[name], Options(seed=seed), part, parts))


def stop_part(name: str, seed: int, part: int, parts: int) -> Found:
    return _in_words(sweep(CANONICAL[name], Options(seed=seed), part, parts, points_of=stop_points))


def _in_words(swept: Swept) -> Found:
    return swept.points, swept.hit, [str(failure) for failure in swept.failures]


def play(seeds: range) -> tuple[int, int, list[str]]:
    """Messages, deaths, and failures in words."""
    messages, deaths, failures = 0, 0, list[str]()
    for seed in seeds:
        outcome = run_world(*random_world(seed))
        messages += len(outcome.history.events)
        deaths += outcome.kills
        if outcome.violations:
            failures.append(str(outcome))
    return messages, deaths, failures
