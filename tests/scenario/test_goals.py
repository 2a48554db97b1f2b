"""`/goal` from the command to the last turn: on the real ledger, with a scripted agent."""

import json

import pytest

from holdfast.agents import Replied
from holdfast.inbox import CommandContext, Commands
from holdfast.model import CallId, CallState, GoalState, InboxState, StopReason, ToolCall
from holdfast.policy.intake.access import Access
from holdfast.tools import goal_tool
from tests.support.ledger import ANN, Ledger, key
from tests.support.platforms import HalfRng
from tests.support.stage import Line, Stage, says

BUDGET = 3


async def command(ledger: Ledger, text: str) -> tuple[str, InboxState]:
    """What a command answers, and what became of it."""
    position = await ledger.command(text)
    desk = CommandContext(
        ledger.store, ledger.clock, lambda: Access(owners=frozenset({ANN})), goal_budget=BUDGET
    )
    await Commands(desk, HalfRng()).carry_out_all()
    (part,) = [one for one in await ledger.outbox() if one.dedupe == f"command:{position}"]
    return part.text, (await ledger.store.row(position)).state


def on(ledger: Ledger, *lines: Line) -> Stage:
    return Stage(ledger, *lines, tools=[goal_tool()])


def reports(outcome: str) -> Replied:
    arguments = json.dumps({"outcome": outcome, "words": "it is tidy"})
    return Replied("", StopReason.CALLS, (ToolCall(CallId("x"), "goal", arguments),))


@pytest.mark.guards("R17")
async def test_a_goal_is_worked_at_turn_after_turn_until_the_agent_reports(ledger: Ledger) -> None:
    text, state = await command(ledger, "/goal tidy up")
    assert (state, "for up to 3 turns: “tidy up”" in text) == (InboxState.EXECUTED, True)
    stage = on(ledger, says("step one"), reports("reached"), says("all tidy"))
    await stage.run()
    assert (await stage.told())[1:] == ["step one", "all tidy"]
    goal = await ledger.store.goal(key())
    assert goal is not None
    assert (goal.state, goal.used, goal.words) == (GoalState.DONE, 2, "it is tidy")
    assert "is reached, as the agent reported" in (await command(ledger, "/goal"))[0]


@pytest.mark.guards("R17")
async def test_a_goal_that_is_never_reported_ends_with_its_turns(ledger: Ledger) -> None:
    await command(ledger, "/goal tidy up")
    stage = on(ledger, says("one"), says("two"), says("three"))
    await stage.run()
    told = await stage.told()
    assert told[1:4] == ["one", "two", "three"]
    assert len(told) == 5
    assert "have used all 3 turns" in told[4]


@pytest.mark.guards("R17")
async def test_a_turn_that_fails_stops_nothing_and_queues_nothing_until_it_is_tried_again(
    ledger: Ledger,
) -> None:
    await command(ledger, "/goal tidy up")
    await on(ledger, RuntimeError("broken")).run()
    assert "the last turn did not succeed" in (await command(ledger, "/goal"))[0]
    await command(ledger, "/retry")
    stage = on(ledger, says("better"), reports("blocked"), says("I need you"))
    await stage.run()
    assert (await stage.told())[-2:] == ["better", "I need you"]


async def test_a_goal_can_be_stopped_and_shown(ledger: Ledger) -> None:
    assert "There is no standing goal here" in (await command(ledger, "/goal"))[0]
    assert (await command(ledger, "/goal stop"))[1] is InboxState.REFUSED
    await command(ledger, "/goal tidy up")
    assert "I work towards “tidy up” (1 of 3 turns used)" in (await command(ledger, "/goal"))[0]
    text, state = await command(ledger, "/goal stop")
    assert (state, "I no longer go on by myself with “tidy up”" in text) == (InboxState.EXECUTED, True)
    assert await ledger.try_claim() is None
    assert "is stopped" in (await command(ledger, "/goal"))[0]


async def test_a_stop_says_that_the_goal_is_stopped_too(ledger: Ledger) -> None:
    await command(ledger, "/goal tidy up")
    assert "The standing goal is stopped." in (await command(ledger, "/stop"))[0]


async def test_a_goal_too_long_to_say_is_refused(ledger: Ledger) -> None:
    text, state = await command(ledger, f"/goal {'x' * 5_000}")
    assert (state, "Not set" in text) == (InboxState.REFUSED, True)


async def test_a_report_without_a_goal_is_told_so(ledger: Ledger) -> None:
    await ledger.say()
    stage = on(ledger, reports("reached"), says("well"))
    await stage.run()
    assert await stage.results() == [(CallState.FAILED, "there is no standing goal in this conversation")]
