"""Alternation: floors and subjects run in short stretches in turn, so that a slow minute hits all alike."""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable, Sequence
from statistics import median
from time import perf_counter

ROUNDS = 3

Stretch = Callable[[int], Awaitable[None]]
"""Runs this many turns."""


async def interleave(stretches: Sequence[Stretch], turns: int, chunk: int) -> list[float]:
    """Run `turns` of each in chunks, with a different first each time; returns seconds per turn of each.

    Garbage is collected before each chunk, and as usual during it, for all alike.
    """
    spent = [0.0] * len(stretches)
    for number in range(turns // chunk):
        for offset in range(len(stretches)):
            which = (number + offset) % len(stretches)
            gc.collect()
            started = perf_counter()
            await stretches[which](chunk)
            spent[which] += perf_counter() - started
    return [total / (turns // chunk * chunk) for total in spent]


def set_memory_aside() -> None:
    """Exclude everything built for the measurement itself from garbage collection."""
    gc.collect()
    gc.freeze()


def median_round(rounds: Sequence[Sequence[float]], value: int, floor: int) -> tuple[float, float]:
    """The round whose ratio of two columns is the median: its value and its floor."""
    ratios = [one[value] / one[floor] for one in rounds]
    chosen = rounds[ratios.index(median(ratios))]
    return chosen[value], chosen[floor]


def percentile(samples: Sequence[float], share: float) -> float:
    """The sample that this share of all samples does not exceed."""
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
