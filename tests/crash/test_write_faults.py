"""Disks that are full or fail, at any write of a real run: nothing told is lost, and work goes on."""

import os

import pytest

from tests.support.disks.proof import fail_writes
from tests.support.disks.watched import can_watch
from tests.support.parts import missing

LONG = bool(os.environ.get("HOLDFAST_LONG"))
SEED = 20_260_102
RUNS = 2_000 if LONG else 12


@pytest.mark.guards("R16")
def test_a_disk_that_fails_at_any_write_loses_nothing_told_and_is_waited_out() -> None:
    """A run whose disk fails comes to rest all the same, unless a commit could not be synced: then it ends.

    Either way a fresh start is sound, and comes to rest; so is one after a power cut in between.
    """
    if not can_watch():
        missing("Linux on x86_64 or aarch64 that lets a process watch its child's calls (seccomp)")
    found = fail_writes(SEED, runs=RUNS)
    assert found["violations"] == []
    assert found["write_faults"] == RUNS
    assert sum(found["write_faults_by_call"].values()) >= RUNS // 2
