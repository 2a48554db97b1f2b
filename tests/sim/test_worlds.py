"""Random worlds: people, kills, and everything that can go wrong between us and a platform.

Those in which something was wrong once come first. What goes wrong is written down as a file for
`holdfast replay`, in the folder that `HOLDFAST_FOUND` names.
"""

import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from holdfast.testing import FullDisk, Options, Say, Scenario, Stop, run_world
from holdfast.testing.explore.coverage import SOMETIMES
from tests.sim.workers import FOUND, Tally, play, play_found

LONG = bool(os.environ.get("HOLDFAST_LONG"))
WORLDS = 4_000 if LONG else 300
SHARE = 10


@pytest.mark.parametrize("path", sorted(FOUND.glob("*.json")), ids=lambda path: path.stem)
def test_a_world_found_earlier_holds(path: Path) -> None:
    assert play_found(path).failures == []


def test_random_worlds_hold(pool: ProcessPoolExecutor, tmp_path: Path) -> None:
    folder = Path(os.environ.get("HOLDFAST_FOUND", tmp_path))
    found = Tally()
    for job in [pool.submit(play, range(n, n + SHARE), folder) for n in range(0, WORLDS, SHARE)]:
        found.add(job.result())
    assert found.failures[:3] == []
    assert found.messages > 8 * WORLDS
    assert found.kills > 4 * WORLDS
    assert [name for name in SOMETIMES if not found.sometimes[name]] == []


@pytest.mark.guards("R8.6")
def test_a_stop_on_a_full_disk_is_no_crash_to_the_process_after_it() -> None:
    acts = (Say(0.1, "long 4"), FullDisk(0.6, 5), Stop(0.9, at_once=True), Say(9, "plain"))
    outcome = run_world(Scenario("stopped without room", acts), Options(boots_twice=False))
    assert outcome.violations == ()
    assert outcome.history.deaths == []
    assert len(outcome.history.ledger.cut) == 1
