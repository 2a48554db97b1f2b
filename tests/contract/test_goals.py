"""Standing goals: each turn that succeeds queues the next in its own commit, and nothing else does."""

import pytest

from holdfast.errors import WrongState
from holdfast.model import Claimed, Goal, GoalState, InboxKind, ProcessState, StopKind, TurnState
from holdfast.store import GoalReport, Scope
from tests.support.ledger import ANN, BOB, Ledger, address, answers, key, spawned

BUDGET = 3


async def set_goal(ledger: Ledger, text: str = "tidy up", chat: str = "c1") -> Goal:
    by = await ledger.command(f"/goal {text}", chat)
    return await ledger.store.set_goal(key(chat), address(chat), text, BUDGET, ANN, by)


async def found(ledger: Ledger) -> Goal:
    goal = await ledger.store.goal(key())
    assert goal is not None
    return goal


async def queued(ledger: Ledger) -> list[str]:
    return [row.event_id for row in await ledger.store.waiting(key()) if row.kind is InboxKind.WAKEUP]


async def turn_of_the_goal(ledger: Ledger) -> Claimed:
    claimed = await ledger.claim()
    assert claimed.cause.kind is InboxKind.WAKEUP
    return claimed


@pytest.mark.guards("R17")
async def test_a_goal_begins_at_once_also_where_nothing_was_said_before(ledger: Ledger) -> None:
    goal = await set_goal(ledger)
    assert (goal.state, goal.used, goal.budget, goal.set_by) == (GoalState.ACTIVE, 1, BUDGET, ANN)
    claimed = await turn_of_the_goal(ledger)
    assert (claimed.session.id, claimed.cause.sender) == (goal.session, ANN)
    assert claimed.cause.text.startswith("Standing goal: tidy up")


@pytest.mark.guards("R17")
async def test_each_turn_that_succeeds_queues_one_more_until_the_budget_is_used_and_told(
    ledger: Ledger,
) -> None:
    await set_goal(ledger)
    for number in range(1, BUDGET + 1):
        assert (await found(ledger)).used == number
        claimed = await turn_of_the_goal(ledger)
        await ledger.finish(claimed.fence)
    assert await ledger.try_claim() is None
    goal = await found(ledger)
    assert (goal.state, goal.used) == (GoalState.SPENT, BUDGET)
    told = [part.text for part in await ledger.outbox()]
    assert sum("have used all 3 turns" in text for text in told) == 1


@pytest.mark.guards("R17")
@pytest.mark.parametrize("end", [TurnState.FAILED, TurnState.CANCELLED])
async def test_a_turn_that_does_not_succeed_queues_none(ledger: Ledger, end: TurnState) -> None:
    await set_goal(ledger)
    claimed = await turn_of_the_goal(ledger)
    await ledger.finish(claimed.fence, end)
    assert await ledger.try_claim() is None
    goal = await found(ledger)
    assert (goal.state, goal.waits) == (GoalState.ACTIVE, False)


@pytest.mark.guards("R17")
async def test_an_interrupted_turn_queues_none_and_its_resume_one(ledger: Ledger) -> None:
    await set_goal(ledger)
    claimed = await turn_of_the_goal(ledger)
    await ledger.recover()
    assert await queued(ledger) == []
    again = await ledger.claim()
    assert again.turn.id == claimed.turn.id
    await ledger.finish(again.fence)
    assert await queued(ledger) == [f"goal:{claimed.turn.id}"]


@pytest.mark.guards("R17", "R5")
async def test_a_turn_that_recovery_finds_answered_queues_one(ledger: Ledger) -> None:
    await set_goal(ledger)
    claimed = await turn_of_the_goal(ledger)
    await ledger.append(claimed.fence, answers())
    await ledger.recover("answered")
    assert await queued(ledger) == [f"goal:{claimed.turn.id}"]
    await ledger.crash()
    assert await ledger.settle("answered") == ()
    assert await queued(ledger) == [f"goal:{claimed.turn.id}"]


@pytest.mark.guards("R17")
async def test_a_crash_neither_loses_nor_doubles_what_is_queued(ledger: Ledger) -> None:
    await set_goal(ledger)
    claimed = await turn_of_the_goal(ledger)
    await ledger.finish(claimed.fence)
    await ledger.crash()
    assert await queued(ledger) == [f"goal:{claimed.turn.id}"]
    await turn_of_the_goal(ledger)


async def test_another_turn_that_succeeds_does_not_queue_a_second_one(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.append(claimed.fence, spawn=(spawned(),))
    await ledger.store.end_process("p1", ProcessState.EXITED, 0)
    await set_goal(ledger)
    await ledger.finish(claimed.fence)
    woken = await ledger.claim()
    assert woken.cause.event_id == "process:p1:ended"
    await ledger.finish(woken.fence)
    assert len(await queued(ledger)) == 1
    assert (await found(ledger)).used == 1


@pytest.mark.parametrize("state", [GoalState.DONE, GoalState.BLOCKED])
@pytest.mark.guards("R17")
async def test_a_report_of_the_agent_ends_it(ledger: Ledger, state: GoalState) -> None:
    await set_goal(ledger)
    claimed = await turn_of_the_goal(ledger)
    await ledger.append(claimed.fence, goal=GoalReport(state, "all tidy"))
    await ledger.finish(claimed.fence)
    assert await ledger.try_claim() is None
    goal = await found(ledger)
    assert (goal.state, goal.words) == (state, "all tidy")


@pytest.mark.guards("R17")
@pytest.mark.parametrize("running", [False, True])
async def test_a_message_ends_it_and_its_sender_is_told_once(ledger: Ledger, running: bool) -> None:
    await set_goal(ledger)
    claimed = await turn_of_the_goal(ledger) if running else None
    await ledger.say("wait a moment")
    await ledger.say("and one more thing")
    assert (await found(ledger)).state is GoalState.STOPPED
    assert await queued(ledger) == []
    if claimed is not None:
        await ledger.finish(claimed.fence)
    assert (await ledger.claim()).cause.text == "wait a moment"
    assert sum("You wrote" in part.text for part in await ledger.outbox()) == 1


async def test_an_answer_to_a_question_of_its_turn_does_not_end_it(ledger: Ledger) -> None:
    await set_goal(ledger)
    claimed = await turn_of_the_goal(ledger)
    await ledger.ask(claimed.fence)
    await ledger.say("this one")
    assert (await found(ledger)).state is GoalState.ACTIVE


@pytest.mark.guards("R17")
async def test_it_is_stopped_by_a_word_and_its_queued_turn_goes(ledger: Ledger) -> None:
    await set_goal(ledger)
    by = await ledger.command("/goal stop")
    await ledger.store.stop_goal(key(), by)
    assert (await found(ledger)).state is GoalState.STOPPED
    assert await ledger.try_claim() is None
    again = await ledger.command("/goal stop")
    async with ledger.refused(WrongState):
        await ledger.store.stop_goal(key(), again)


async def test_a_goal_in_place_of_another_has_a_whole_budget_and_one_turn_queued(ledger: Ledger) -> None:
    await set_goal(ledger)
    claimed = await turn_of_the_goal(ledger)
    await ledger.finish(claimed.fence)
    goal = await set_goal(ledger, "something else")
    assert (goal.text, goal.used, goal.waits) == ("something else", 1, True)
    assert len(await queued(ledger)) == 1
    assert "something else" in (await turn_of_the_goal(ledger)).cause.text


@pytest.mark.parametrize("kind", [StopKind.STOP, StopKind.NEW])
async def test_a_stop_ends_it(ledger: Ledger, kind: StopKind) -> None:
    goal = await set_goal(ledger)
    claimed = await turn_of_the_goal(ledger)
    stop = await ledger.store.stop(key(), kind, None)
    assert stop.goal
    await ledger.finish(claimed.fence, TurnState.CANCELLED)
    assert await ledger.try_claim() is None
    states = {row[0]: row for row in ledger.dump()["goals"]}
    assert GoalState.STOPPED in states[goal.session]


async def test_goals_of_other_conversations_are_unaffected(ledger: Ledger) -> None:
    await set_goal(ledger)
    await set_goal(ledger, chat="c2")
    await ledger.say("hello", chat="c2", sender=BOB)
    assert (await found(ledger)).state is GoalState.ACTIVE


async def test_a_turn_of_a_goal_whose_setter_is_let_out_is_refused(ledger: Ledger) -> None:
    await set_goal(ledger)
    assert await ledger.try_claim(allowed=lambda person: person != ANN) is None
    assert await queued(ledger) == []


async def test_a_goal_is_forgotten_with_its_conversation(ledger: Ledger) -> None:
    await set_goal(ledger)
    claimed = await turn_of_the_goal(ledger)
    await ledger.append(claimed.fence, goal=GoalReport(GoalState.DONE, "all tidy"))
    await ledger.finish(claimed.fence)
    assert "tidy" in str(ledger.dump()["goals"])

    scope = Scope(key(), await ledger.command("/forget everything"))
    await ledger.store.quiet(scope)
    await ledger.store.erase(scope)
    assert "tidy" not in str(ledger.dump()["goals"])
