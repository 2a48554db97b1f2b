"""R1.2, R1.3: which session the next message belongs to."""

from dataclasses import replace

import pytest

from holdfast.model import Began
from holdfast.policy.intake.reset import Fresh, Same, SessionFacts, session_for
from holdfast.policy.settings import DAY, HOUR, ResetSettings

MIDNIGHT = 20_000 * DAY
NOW = MIDNIGHT + 12 * HOUR
LIVE = SessionFacts(live=True, completed_at=NOW - HOUR)
NEVER = ResetSettings()
IDLE = ResetSettings(idle=4 * HOUR)
DAILY = ResetSettings(daily_at=4 * HOUR)
BOTH = ResetSettings(idle=4 * HOUR, daily_at=4 * HOUR)


def began(facts: SessionFacts, settings: ResetSettings, now: int = NOW) -> Began | None:
    found = session_for(facts, now, settings)
    return found.began if isinstance(found, Fresh) else None


def test_the_first_session_is_not_told() -> None:
    assert session_for(SessionFacts(live=False), NOW, BOTH) == Fresh(Began.FIRST, None)


def test_after_new_the_next_session_says_so_in_the_ledger() -> None:
    assert began(SessionFacts(live=False, ended_by_new=True), NEVER) is Began.NEW


@pytest.mark.parametrize("settings", [NEVER, IDLE, DAILY, BOTH])
@pytest.mark.parametrize("open_turn", [True, False])
def test_suspended_wins_over_everything(settings: ResetSettings, open_turn: bool) -> None:
    facts = replace(LIVE, suspended=True, open_turn=open_turn, completed_at=0)
    found = session_for(facts, NOW, settings)
    assert isinstance(found, Fresh) and found.began is Began.SUSPENDED
    assert found.told is not None and "parked" in found.told


@pytest.mark.parametrize("settings", [NEVER, IDLE, DAILY, BOTH])
def test_unfinished_work_keeps_its_session_however_old(settings: ResetSettings) -> None:
    assert session_for(replace(LIVE, open_turn=True, completed_at=0), NOW, settings) == Same()


def test_without_a_policy_nothing_is_ever_reset() -> None:
    assert session_for(replace(LIVE, completed_at=0), NOW, NEVER) == Same()


def test_idle_counts_from_the_last_completed_turn() -> None:
    assert began(replace(LIVE, completed_at=NOW - 4 * HOUR), IDLE) is None
    assert began(replace(LIVE, completed_at=NOW - 4 * HOUR - 1), IDLE) is Began.IDLE


@pytest.mark.parametrize(
    ("completed", "now", "reset"),
    [
        (4 * HOUR, 28 * HOUR - 1, False),
        (4 * HOUR - 1, 4 * HOUR, True),
        (3 * HOUR, 3 * HOUR + 1, False),
        (20 * HOUR, 27 * HOUR, False),
        (20 * HOUR, 28 * HOUR, True),
        (0, 100 * DAY, True),
    ],
)
def test_a_day_begins_at_its_hour(completed: int, now: int, reset: bool) -> None:
    facts = replace(LIVE, completed_at=MIDNIGHT + completed)
    assert began(facts, DAILY, MIDNIGHT + now) is (Began.DAILY if reset else None)


def test_idle_is_named_before_daily() -> None:
    assert began(replace(LIVE, completed_at=0), BOTH) is Began.IDLE


@pytest.mark.parametrize("completed_at", [None, NOW + 400 * DAY])
def test_a_time_that_is_absent_or_ahead_of_the_clock_resets_nothing(completed_at: int | None) -> None:
    assert session_for(replace(LIVE, completed_at=completed_at), NOW, BOTH) == Same()


@pytest.mark.parametrize("settings", [IDLE, DAILY])
def test_a_reset_is_told(settings: ResetSettings) -> None:
    found = session_for(replace(LIVE, completed_at=0), NOW, settings)
    assert isinstance(found, Fresh) and found.told is not None and "fresh" in found.told
