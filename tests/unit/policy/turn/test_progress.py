"""R12: stuck means no progress, not long duration."""

import pytest

from holdfast.model import Body, CallState
from holdfast.policy.settings import HOUR, SECOND, ProgressSettings
from holdfast.policy.turn.progress import RunFacts, Stuck, is_progress, stuck
from tests.support.transcripts import noted, replied, returned, said

NOW = 1_800_000_000_000
SETTINGS = ProgressSettings()


@pytest.mark.parametrize(
    ("silent", "verdict"),
    [
        (0, None),
        (900 * SECOND - 1, None),
        (900 * SECOND, Stuck.WARN),
        (1800 * SECOND - 1, Stuck.WARN),
        (1800 * SECOND, Stuck.ABORT),
        (28 * HOUR, Stuck.ABORT),
    ],
)
def test_a_run_is_stuck_by_its_silence(silent: int, verdict: Stuck | None) -> None:
    assert stuck(RunFacts(NOW - 48 * HOUR, NOW - silent), NOW, SETTINGS) is verdict


def test_a_resumed_turn_is_not_blamed_for_the_time_before_its_claim() -> None:
    assert stuck(RunFacts(claimed_at=NOW - 1, progress_at=NOW - HOUR), NOW, SETTINGS) is None


def test_a_run_without_readable_progress_is_judged_from_its_claim() -> None:
    assert stuck(RunFacts(NOW - 900 * SECOND, None), NOW, SETTINGS) is Stuck.WARN


def test_a_clock_that_jumped_back_aborts_nobody() -> None:
    assert stuck(RunFacts(NOW + HOUR, NOW + 2 * HOUR), NOW, SETTINGS) is None


@pytest.mark.parametrize(
    ("body", "moves"),
    [
        (said("go on"), True),
        (replied("thinking"), True),
        (replied("", "a"), True),
        (replied(""), False),
        (returned("a"), True),
        (returned("a", state=CallState.FAILED), True),
        (returned("a", state=CallState.UNKNOWN), False),
        (returned("a", state=CallState.SKIPPED), False),
        (noted(), False),
    ],
)
def test_only_messages_model_output_and_real_results_are_progress(body: Body, moves: bool) -> None:
    assert is_progress(body) is moves
