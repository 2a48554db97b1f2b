import os
import subprocess
import sys

from tests.unit.project.tree import ROOT

SEEDS = [str(seed) for seed in range(5)]


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
