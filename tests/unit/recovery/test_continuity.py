"""What a start says it found, for the operator."""

import pytest

from holdfast.model import TurnId, TurnState
from holdfast.recovery.continuity import ContinuityReport, Fate, render


def report(turns: int) -> ContinuityReport:
    fates = [
        Fate(TurnId(f"t{n}"), TurnState.RUNNING, None, "resume", "resume", "It goes on.")
        for n in range(turns)
    ]
    return ContinuityReport(9, "crashed", 1, 2, tuple(fates), (("resume", turns),), 4, 5, 6)


def test_it_says_how_the_last_run_ended_and_what_was_open() -> None:
    assert render(report(1)) == (
        "The last run ended without a word: a crash, a kill or a power cut.",
        "Turns found open: 1. Decided: resume 1.",
        "- t0, running: resume (resume): It goes on.",
        "Replies owed: 4; of unknown outcome: 5.",
        "Messages waiting: 6.",
    )


@pytest.mark.parametrize(("turns", "listed", "more"), [(20, 20, []), (23, 20, ["… and 3 more"])])
def test_a_long_list_is_cut_and_says_how_many_more_there_are(
    turns: int, listed: int, more: list[str]
) -> None:
    lines = render(report(turns))
    assert len([line for line in lines if line.startswith("- ")]) == listed
    assert [line for line in lines if line.startswith("…")] == more
