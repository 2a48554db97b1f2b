"""A wait that Telegram asks for is kept by every later process, once one of them was told of it."""

from collections.abc import Callable

import pytest

from holdfast.model import SendResult, TryAgain
from holdfast.platforms.telegram import adapter
from holdfast.platforms.telegram.client import CallFault
from holdfast.testing import Die, FaultRates, Options, Outage, Say, Scenario, Stop, WorldOutcome, run_world
from holdfast.testing.sim.scenario import Act

IN_FLIGHT = (0.35, 0.36, 0.37, 0.38)
"""Seconds at which the reply is on its way and its answer is not there yet, with this seed."""
ANSWERED = 0.5
OPTIONS = Options(seed=1, faults=FaultRates(throttled=1.0), downtime=(0.1, 0.2), calm_for=0.25, lets_rest=0.0)


def played(act: Act) -> WorldOutcome:
    """The reply to a command is throttled; nothing is any more after this act."""
    return run_world(Scenario("throttled", (Say(0.3, "/status", platform="bot"), act)), OPTIONS)


@pytest.mark.parametrize(
    "act",
    [Die, lambda at: Stop(at, at_once=True), lambda at: Outage(at, 0.5, "bot")],
    ids=["killed", "stopped", "cut off"],
)
@pytest.mark.parametrize("at", IN_FLIGHT)
def test_a_wait_of_which_no_process_was_told_is_not_asked_of_the_next_one(
    act: Callable[[float], Act], at: float
) -> None:
    outcome = played(act(at))
    assert outcome.drawn["throttled"] == 1
    assert outcome.violations == ()


@pytest.mark.guards("R10.3")
@pytest.mark.parametrize("act", [Die(ANSWERED), Stop(ANSWERED, at_once=True)], ids=["killed", "stopped"])
def test_a_wait_that_was_heard_is_kept_by_the_next_process(act: Act) -> None:
    outcome = played(act)
    assert outcome.drawn["throttled"] == 1
    assert outcome.violations == ()


@pytest.mark.parametrize("act", [Die(ANSWERED), Stop(ANSWERED, at_once=True)], ids=["killed", "stopped"])
def test_a_gateway_that_does_not_keep_it_is_found_out(act: Act, monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(fault: CallFault, now: int) -> SendResult:
        return TryAgain(now, str(fault), counts=False)

    monkeypatch.setattr(adapter, "unsent", forgetful)
    assert [words[:5] for words in played(act).violations] == ["R10.3"]
