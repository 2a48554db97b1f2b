"""R8: strikes, suspects, and safe mode."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model import Instance, InstanceId, Interruption, Stopped
from holdfast.policy.recovery.strikes import SafeMode, SafeModeFacts, cleared, cut_by, is_suspect, safe_mode
from holdfast.policy.settings import HOUR, MINUTE, SECOND, RecoverySettings, SafeModeSettings
from tests.support.strike_rules import RunEnd, after_claim, after_end

RECOVERY = RecoverySettings()
SETTINGS = SafeModeSettings()
BEGIN = 1_800_000_000_000


# Strikes


@pytest.mark.parametrize(
    ("ended", "reason"),
    [
        (None, Interruption.RESTART_INTERRUPTED),
        (Stopped.STOPPED, Interruption.SHUTDOWN_TIMEOUT),
        (Stopped.RESTART, Interruption.RESTART_TIMEOUT),
        (Stopped.FAILED, Interruption.RESTART_INTERRUPTED),
        (Stopped.RESTORED, Interruption.RESTART_INTERRUPTED),
    ],
)
def test_what_an_owner_left_running_was_cut_by_how_that_owner_ended(
    ended: Stopped | None, reason: Interruption
) -> None:
    assert cut_by(ended) is reason


@pytest.mark.parametrize(
    ("how", "productive", "left"),
    [
        (RunEnd.DONE, True, 0),
        (RunEnd.FAILED, False, 2),
        (RunEnd.CANCELLED, False, 2),
        (RunEnd.WAITING, False, 2),
        (RunEnd.UNBEGUN, False, 2),
        (RunEnd.DRAINED, True, 2),
        (RunEnd.DRAINED, False, 3),
        (RunEnd.DIED, False, 3),
        (RunEnd.DIED, True, 3),
    ],
)
def test_an_orderly_end_takes_the_strike_of_its_claim_back(how: RunEnd, productive: bool, left: int) -> None:
    assert after_end(after_claim(2), how, productive) == left


@given(st.lists(st.tuples(st.sampled_from(RunEnd), st.booleans())))
def test_strikes_count_the_deaths_and_fruitless_cuts_since_the_last_completed_turn(
    runs: list[tuple[RunEnd, bool]],
) -> None:
    strikes = 0
    for how, productive in runs:
        strikes = after_end(after_claim(strikes), how, productive)
    since = 1 + max((at for at, (how, _) in enumerate(runs) if how is RunEnd.DONE), default=-1)
    blamed = [(RunEnd.DIED, True), (RunEnd.DIED, False), (RunEnd.DRAINED, False)]
    assert strikes == sum(run in blamed for run in runs[since:])


def test_a_strike_taken_back_after_clearing_does_not_go_below_zero() -> None:
    assert after_end(0, RunEnd.FAILED, True) == 0


def test_two_strikes_make_a_suspect() -> None:
    assert [is_suspect(strikes, RECOVERY) for strikes in range(4)] == [False, False, True, True]


@pytest.mark.parametrize(
    ("ran_for", "longest", "clear"),
    [
        (60 * SECOND, 0, True),
        (60 * SECOND - 1, 0, False),
        (60 * SECOND, 30 * SECOND, True),
        (60 * SECOND, 31 * SECOND, False),
        (2 * HOUR, HOUR, True),
        (2 * HOUR - 1, HOUR, False),
    ],
)
def test_a_suspect_is_cleared_when_it_outlived_its_earlier_runs_twice(
    ran_for: int, longest: int, clear: bool
) -> None:
    assert cleared(ran_for, longest, RECOVERY) is clear


# Safe mode


def run(number: int, begun: int, lived: int, stopped: Stopped | None = None, park: bool = False) -> Instance:
    """The `number`-th run, from minute `begun` for `lived` minutes."""
    start = BEGIN + begun * MINUTE
    end = start + lived * MINUTE
    return Instance(
        InstanceId(f"i{number}"),
        "host",
        number,
        "boot",
        "0",
        start,
        end,
        stopped,
        end if stopped else None,
        park,
    )


def judged(minute: int, *past: Instance, command: int | None = None, since: int | None = None) -> SafeMode:
    """Safe mode at `minute`; the current run began right after the last of the past ones, or at `since`."""
    now = BEGIN + minute * MINUTE
    begun = max([instance.heartbeat_at for instance in past], default=now)
    current = replace(
        run(99, 0, 0),
        started_at=begun if since is None else BEGIN + since * MINUTE,
        heartbeat_at=now,
    )
    facts = SafeModeFacts(
        (current, *reversed(past)),
        current.id,
        ended_by_command_at=None if command is None else BEGIN + command * MINUTE,
    )
    return safe_mode(facts, now, SETTINGS)


def crashes(count: int, every: int = 1, first: int = 0) -> list[Instance]:
    return [run(number, first + number * every, every) for number in range(count)]


def test_five_unclean_exits_in_ten_minutes_put_safe_mode_on() -> None:
    found = judged(5, *crashes(5))
    assert found.active and found.since == BEGIN + 5 * MINUTE
    assert found.why == "5 unclean exits in 10 minutes"
    assert found.ends_at == BEGIN + 15 * MINUTE


def test_four_do_not_nor_do_five_spread_wider() -> None:
    assert not judged(4, *crashes(4)).active
    assert not judged(15, *crashes(5, every=3)).active
    assert not judged(0).active


def test_orderly_exits_do_not_count() -> None:
    stops = [Stopped.STOPPED, Stopped.RESTART, Stopped.FAILED]
    orderly = [run(number, number, 1, stops[number % 3]) for number in range(20)]
    assert not judged(20, *orderly).active
    assert not judged(6, *crashes(4), run(4, 4, 1, Stopped.RESTART)).active


def test_an_exit_that_led_to_a_park_does_not_count() -> None:
    past = [*crashes(4), run(4, 4, 1, park=True)]
    assert not judged(5, *past).active


def test_exits_before_and_after_a_park_add_up_to_five() -> None:
    past = [*crashes(3), run(3, 3, 1, park=True), *crashes(2, first=4)]
    found = judged(6, *past)
    assert found.active and found.why == "5 unclean exits in 10 minutes"


def test_three_unclean_exits_after_a_park_suffice() -> None:
    park = run(90, 0, 1, park=True)
    assert not judged(3, park, *crashes(2, first=1)).active
    found = judged(4, park, *crashes(3, first=1))
    assert found.active and found.why == "3 unclean exits after a park"


def test_the_count_after_a_park_starts_anew_with_the_next_park() -> None:
    past = [run(90, 0, 1, park=True), *crashes(2, first=1), run(91, 3, 1, park=True), *crashes(2, first=4)]
    assert not judged(6, *past).active


def test_exits_far_apart_after_a_park_are_no_loop() -> None:
    park = run(90, 0, 1, park=True)
    assert not judged(100, park, *crashes(3, every=30, first=1)).active


def test_safe_mode_ends_after_ten_clean_minutes() -> None:
    assert judged(14, *crashes(5)).active
    assert not judged(15, *crashes(5)).active


def test_time_switched_off_is_not_clean_running() -> None:
    found = judged(301, *crashes(5), since=300)
    assert found.active and found.ends_at == BEGIN + 310 * MINUTE


def test_a_planned_restart_does_not_start_the_clean_minutes_over() -> None:
    past = [*crashes(5), run(5, 5, 6, Stopped.RESTART)]
    assert judged(14, *past).active
    assert not judged(15, *past).active


def test_safe_mode_stays_while_exits_keep_the_minutes_unclean() -> None:
    past = [*crashes(5), run(5, 5, 8), run(6, 13, 8)]
    found = judged(22, *past)
    assert found.active and found.since == BEGIN + 5 * MINUTE and found.ends_at == BEGIN + 31 * MINUTE


def test_ten_clean_minutes_wipe_the_slate() -> None:
    assert not judged(17, *crashes(5), run(5, 5, 11)).active


def test_a_command_ends_safe_mode_and_what_came_before_no_longer_counts() -> None:
    assert not judged(6, *crashes(5), command=5).active
    assert not judged(7, *crashes(6), command=5).active
    assert judged(10, *crashes(10), command=5).active


def test_a_living_gateway_elsewhere_is_no_unclean_exit() -> None:
    past = crashes(5)
    others = frozenset({past[0].id})
    now = BEGIN + 5 * MINUTE
    current = replace(run(99, 5, 0), heartbeat_at=now)
    facts = SafeModeFacts((current, *reversed(past)), current.id, others)
    assert not safe_mode(facts, now, SETTINGS).active
    assert safe_mode(replace(facts, others_alive=frozenset()), now, SETTINGS).active


def test_a_clock_that_jumped_back_does_not_keep_safe_mode_for_ever() -> None:
    ahead = crashes(5, first=1_000_000)
    assert judged(5, *ahead, since=0).active
    assert not judged(10, *ahead, since=0).active
