"""Failures that do not end: the ledger does not grow with them, and when they end the work goes on."""

from dataclasses import replace

import pytest

from holdfast.policy.settings import HOUR, RetrySettings
from holdfast.testing import (
    Bar,
    FaultRates,
    FullDisk,
    Options,
    Outage,
    Say,
    Scenario,
    Stop,
    WorldOutcome,
    run_world,
)
from tests.sim.scenarios import ASKING, SEED

# What fails, and the seconds after which all tries are made that count as tries.
FAILING = {
    "throttled": (FaultRates(throttled=1.0), 100.0),
    "down": (FaultRates(down=1.0), 400.0),
    "lost": (FaultRates(lost_request=1.0), 3_600.0),
    "no model": (FaultRates(model_errors=1.0), 400.0),
    "no disk": (FaultRates(disk_full=0.9), 200.0),
}
WORK = Scenario(
    "work that cannot go on",
    (Say(0.1, "tools read effect", platform="asked"), Say(0.2, "plain", "b", "plain")),
    replace(ASKING, on_interruption=ASKING.on_interruption.RESUME, retry=RetrySettings(age=HOUR // 2)),
)


def failing(what: str, times: int) -> WorldOutcome:
    rates, seconds = FAILING[what]
    options = Options(
        seed=SEED, faults=rates, lets_rest=times * seconds, most_steps=200_000, most_seconds=20_000
    )
    outcome = run_world(WORK, options)
    assert outcome.violations == ()
    return outcome


def rows(outcome: WorldOutcome) -> int:
    return outcome.history.sizes[-1].rows


@pytest.mark.parametrize("what", FAILING)
@pytest.mark.guards("R10.3", "R16")
def test_the_ledger_does_not_grow_with_the_time_something_fails(what: str) -> None:
    assert rows(failing(what, 3)) <= rows(failing(what, 1)) + 2


@pytest.mark.guards("R16")
def test_after_a_full_disk_messages_are_taken_again_without_a_restart() -> None:
    acts = (FullDisk(0.05, 40), Say(0.1, "plain", platform="hook"), Say(20, "tools effect"))
    outcome = run_world(Scenario("a full disk", acts), Options(seed=SEED, boots_twice=False))
    assert outcome.violations == ()
    assert outcome.kills == 0
    assert {turn.state for turn in outcome.history.ledger.turns} == {"done"}


@pytest.mark.guards("R10.1", "R14")
def test_a_reply_owed_before_its_person_was_let_out_is_still_delivered() -> None:
    acts = (Say(0.1, "plain", "b"), Outage(0.4, 20), Bar(5, "b"), Stop(30))
    outcome = run_world(Scenario("let out with a reply owed", acts), Options(seed=SEED))
    assert outcome.violations == ()
    assert [shown.text for shown in outcome.history.shown] == ["answer to plain #1"]
