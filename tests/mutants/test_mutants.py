"""Planted bugs are caught by the checker in sweeps and random worlds, with no test for any of them."""

import os

import pytest

from tests.mutants.campaign import BUDGET, hunt_all, hunt_apart
from tests.mutants.planting import ROOT, DoesNotApply, Hunk, Mutant, mutants

LONG = bool(os.environ.get("HOLDFAST_LONG"))
PLANTED = mutants()
SAMPLE = (
    "answers-the-newest-first",
    "asks-who-may-only-at-the-claim",
    "boots-beside-another",
    "confirms-before-the-commit",
    "counts-no-strikes",
    "goes-on-after-the-report",
    "takes-the-unknown-for-done",
    "wakes-for-what-was-seen",
)
"""For every run: one bug of each kind, of those that show themselves soon."""


@pytest.mark.parametrize("name", PLANTED)
def test_every_diff_applies(name: str) -> None:
    mutant = PLANTED[name]
    source = (ROOT / mutant.file).read_text()
    spoilt = mutant.applied_to(source)
    assert spoilt != source
    if mutant.file.endswith(".py"):
        compile(spoilt, mutant.file, "exec")


def test_a_diff_that_fits_no_more_is_named() -> None:
    mutant = Mutant("an old one", "", "", (), "a.py", (Hunk("one\n", "two\n"),))
    for source in ("three\n", "one\none\n"):
        with pytest.raises(DoesNotApply, match="an old one"):
            mutant.applied_to(source)


def test_there_are_many_and_many_of_them_have_happened_elsewhere() -> None:
    assert len(PLANTED) >= 30
    assert len({row for mutant in PLANTED.values() for row in mutant.failures}) >= 10


def test_without_a_bug_nothing_is_found() -> None:
    found = hunt_apart(None, BUDGET if LONG else 40)
    assert found is not None
    assert found.violation == ""


def test_planted_bugs_are_caught() -> None:
    chosen = PLANTED if LONG else SAMPLE
    hunted = hunt_all((PLANTED[name] for name in chosen), BUDGET if LONG else 150)
    assert [str(one) for one in hunted if not one.caught] == []
