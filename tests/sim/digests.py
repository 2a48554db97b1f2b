"""Prints the digests of a few worlds: `python -m tests.sim.digests SEED …`."""

import sys

from holdfast.testing import random_world, run_world

if __name__ == "__main__":
    for seed in sys.argv[1:]:
        outcome = run_world(*random_world(int(seed)))
        sys.stdout.write(f"{seed} {outcome.steps} {outcome.kills} {outcome.digest}\n")
