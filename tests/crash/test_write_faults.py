"""Disks that are full or fail, at any write of a real run: nothing told is lost, and work goes on."""

import errno
import os

import pytest

from tests.support.disks.proof import fail_write, fail_writes
from tests.support.disks.recorder import COPY_SYNCS, LOG_SYNCS, LOG_WRITES, Fault
from tests.support.disks.subject import DEAF
from tests.support.disks.watched import can_watch
from tests.support.parts import missing

LONG = bool(os.environ.get("HOLDFAST_LONG"))
SEED = 20_260_102
RUNS = 2_000 if LONG else 8


@pytest.fixture(autouse=True)
def _watched() -> None:
    if not can_watch():
        missing("Linux on x86_64 or aarch64 that lets a process watch its child's calls (seccomp)")


@pytest.mark.guards("R16")
def test_a_disk_that_fails_at_any_write_loses_nothing_told() -> None:
    """A run whose disk fails comes to rest all the same, unless a commit could not be synced: then it ends.

    Either way a fresh start is sound, and comes to rest; so is one after a power cut in between.
    """
    found = fail_writes(SEED, runs=RUNS)
    assert found["violations"] == []
    assert found["write_faults"] == RUNS
    assert sum(found["write_faults_by_call"].values()) >= RUNS // 2


@pytest.mark.guards("R16")
def test_a_full_disk_is_waited_out_without_a_restart() -> None:
    full = Fault(50, errno.ENOSPC, calls=30, short=True, at_work=True, only=LOG_WRITES)
    found = fail_write(full)
    assert (found["violations"], found["write_faults_by_end"]) == ([], {"0 running": 1})
    assert sum(found["write_faults_by_call"].values()) == 30


@pytest.mark.guards("R16")
def test_a_failed_sync_of_a_commit_ends_the_process_and_the_next_start_is_sound() -> None:
    failing = Fault(50, errno.EIO, calls=5, at_work=True, only=LOG_SYNCS)
    found = fail_write(failing)
    assert (found["violations"], found["write_faults_by_end"]) == ([], {"1 running": 1})
    assert fail_write(failing, planted=DEAF)["violations"]


FIRST_COPIES = {
    "starting": Fault(100, errno.EIO, only=COPY_SYNCS),  # After the file was made.
    "running": Fault(0, errno.EIO, at_work=True, only=COPY_SYNCS),
}


@pytest.mark.guards("R16")
@pytest.mark.parametrize("phase", FIRST_COPIES)
def test_a_failed_sync_of_a_copy_of_the_log_ends_the_process_and_the_next_start_is_sound(phase: str) -> None:
    """SQLite copies a log in parts, while somebody reads, and syncs only the last: all may be lost."""
    found = fail_write(FIRST_COPIES[phase])
    assert (found["violations"], found["write_faults_by_end"]) == ([], {f"1 {phase}": 1})


def test_a_file_whose_name_could_not_be_synced_is_not_acknowledged_when_it_is_brought_again() -> None:
    found = fail_write(Fault(0, errno.EIO, only=("fsync home/blobs",)))
    assert (found["violations"], found["write_faults_by_call"]) == ([], {"fsync blobs": 1})
