"""The power cut in real runs of the gateway: whatever the disk kept, what was told before is there.

The writes of a gateway are watched, and disks rebuilt from them as a cut may leave them: all that was synced,
any part of the rest, torn at sectors. On each the ledger is opened, recovered and verified.
"""

import os
from pathlib import Path

import pytest

from tests.support.disks.proof import cut_power
from tests.support.disks.subject import DEAF, PLANTED
from tests.support.disks.watched import can_watch
from tests.support.parts import missing

LONG = bool(os.environ.get("HOLDFAST_LONG"))
SEED = 20_260_101
STATES = 20_000 if LONG else 300
HUNT = 20_000
"""A hunt for a planted fault ends with its first find, after about 500 states, or here."""


@pytest.fixture(autouse=True)
def _watched() -> None:
    if not can_watch():
        missing("Linux on x86_64 or aarch64 that lets a process watch its child's calls (seccomp)")


@pytest.mark.guards("R16")
def test_what_was_told_before_a_power_cut_is_there_after_it(tmp_path: Path) -> None:
    found = cut_power(SEED, states=STATES, keep=tmp_path)
    assert found["violations"] == [], f"the disks are in {tmp_path}"
    assert found["disk_states"] >= STATES * 0.9
    # A run that never did what is hard on a disk would prove little.
    for what in ("told", "sync", "log copied", "log started over", "log cut"):
        assert found["disk_runs"].get(what, 0) > 0, (what, found["disk_runs"])


@pytest.mark.parametrize("planted", sorted(set(PLANTED) - {DEAF}))
def test_a_gateway_that_trusts_its_disk_too_much_is_found_out(planted: str) -> None:
    assert cut_power(SEED, workers=1, states=HUNT, planted=planted)["violations"]
