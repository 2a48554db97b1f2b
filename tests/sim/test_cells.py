"""The coverage matrix: whatever goes wrong has gone wrong while a row was in each state it can be in.

The long run tries every cell; the ordinary run every few.
"""

import os
from concurrent.futures import ProcessPoolExecutor

from holdfast.testing.explore.cells import WAYS
from holdfast.testing.explore.coverage import FAULTS, STATES, UNREACHABLE
from tests.sim.workers import Tally, play_cells

LONG = bool(os.environ.get("HOLDFAST_LONG"))
EVERY = 1 if LONG else 11
SHARE = 6
CELLS = [(fault, state) for state in STATES for fault in FAULTS if (fault, state) not in UNREACHABLE]


def test_there_is_a_way_into_every_state() -> None:
    assert set(WAYS) == set(STATES)


def test_whatever_goes_wrong_in_whatever_state_it_holds(pool: ProcessPoolExecutor) -> None:
    cells = CELLS[::EVERY]
    found = Tally()
    for job in [pool.submit(play_cells, cells[n : n + SHARE]) for n in range(0, len(cells), SHARE)]:
        found.add(job.result())
    assert found.failures[:3] == []
    assert [cell for cell in cells if not found.met[cell]] == []
