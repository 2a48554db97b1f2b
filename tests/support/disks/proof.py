"""The whole layer, for the tests and for the long run: power cuts and failing disks, in several processes."""

import json
import subprocess
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from holdfast.clock import SystemClock
from tests.unit.project.tree import ROOT

from .recorder import Fault

WORKERS = 2
CUTTING = 0.65


def run(seconds: float, seed: int, workers: int = WORKERS, keep: Path | None = None) -> dict[str, Any]:
    """Cut the power for most of the time and let disks fail for the rest; what came of it.

    Disks that were found wrong are written down in `keep`.
    """
    cuts = cut_power(seed, workers, seconds=CUTTING * seconds, keep=keep)
    faults = fail_writes(seed, workers, seconds=(1 - CUTTING) * seconds)
    return {**cuts, **faults, "violations": cuts["violations"] + faults["violations"]}


def cut_power(
    seed: int,
    workers: int = WORKERS,
    seconds: float | None = None,
    states: int | None = None,
    planted: str | None = None,
    keep: Path | None = None,
) -> dict[str, Any]:
    """Power cuts: until that many states, or for that long."""
    more = {"seconds": seconds, "most": states and -(-states // workers), "planted": planted, "keep": keep}
    began = SystemClock().monotonic()
    found = _work("power", seed, workers, **more)
    took = SystemClock().monotonic() - began
    return {
        "disk_states": _sum(found, "states"),
        "disk_states_tried": _sum(found, "tried"),
        "disk_points": _sum(found, "points"),
        "disk_states_per_second": round(_sum(found, "states") / took, 1),
        "disk_runs": _counts(found, "seen"),
        "violations": _lists(found, "violations"),
    }


def fail_writes(
    seed: int, workers: int = WORKERS, seconds: float | None = None, runs: int | None = None
) -> dict[str, Any]:
    """Disks that fail: until that many runs, or for that long."""
    return _failed(_work("faults", seed, workers, seconds=seconds, most=runs and -(-runs // workers)))


def fail_write(fault: Fault, planted: str | None = None) -> dict[str, Any]:
    """One run in which the disk fails in this way."""
    return _failed(_work("fault", 0, 1, fault=asdict(fault), planted=planted))


def _failed(found: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "write_indexes": max(one["indexes"] for one in found),
        "write_faults": _sum(found, "runs"),
        "write_faults_by_call": _counts(found, "hit"),
        "write_faults_by_end": _counts(found, "ended"),
        "violations": _lists(found, "violations"),
    }


def _work(what: str, seed: int, workers: int, **more: object) -> list[dict[str, Any]]:
    """Processes of their own: they fork gateways, and must have no threads."""
    asked = [{"what": what, "seed": seed, "mine": mine, "of": workers} for mine in range(workers)]
    given = {name: str(value) if isinstance(value, Path) else value for name, value in more.items()}
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.support.disks.worker", json.dumps({**one, **given})],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        for one in asked
    ]
    said = [process.communicate()[0] for process in started]
    codes = [process.returncode for process in started]
    assert not any(codes), f"workers ended with {codes}"
    return [json.loads(one) for one in said]


def _sum(found: list[dict[str, Any]], name: str) -> int:
    return sum(one[name] for one in found)


def _counts(found: list[dict[str, Any]], name: str) -> dict[str, int]:
    total = Counter[str]()
    for one in found:
        total.update(one[name])
    return dict(sorted(total.items()))


def _lists(found: list[dict[str, Any]], name: str) -> list[str]:
    return [each for one in found for each in one[name]]
