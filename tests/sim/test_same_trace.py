import os
import subprocess
import sys

from holdfast.testing import random_world
from tests.unit.project.tree import ROOT


def with_platform(name: str) -> list[int]:
    """The first worlds in which an adapter of ours is at work as it is."""
    return [seed for seed in range(200) if name in random_world(seed)[0].platforms][:2]


SEEDS = [str(seed) for seed in (*range(5), *with_platform("bot"), *with_platform("web"))]


def digests(hash_seed: int) -> str:
    return subprocess.run(
        [sys.executable, "-m", "tests.sim.digests", *SEEDS],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_the_same_seed_gives_the_same_trace_whatever_strings_hash_to() -> None:
    first = digests(1)
    assert len(first.splitlines()) == len(SEEDS)
    assert first == digests(2)
