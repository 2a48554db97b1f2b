"""What commands show to people: how work stands, what waits, which conversations and goals there are."""

from typing import Any

import pytest

from holdfast.model import StopKind, TurnState
from holdfast.policy.recovery.outcome import decide
from holdfast.policy.recovery.parks import ON_HOLD
from holdfast.policy.settings import QueueSettings, RecoverySettings
from holdfast.store import ArrivalSettings, Verdict
from tests.scenario.test_choosing import agents
from tests.scenario.test_inbox_commands import commands, said
from tests.support.judging import ANY_FACTS
from tests.support.ledger import Ledger, key


async def stands(ledger: Ledger, **more: Any) -> str:
    """The first line of `/status`."""
    return (await said(ledger, "/status", **more)).splitlines()[0]


async def test_status_says_in_which_state_unfinished_work_is(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    assert (await stands(ledger)).startswith("Running for")
    await ledger.store.interrupt(claimed.fence, "restart_timeout")
    assert await stands(ledger) == "The work here was interrupted. I'll look at it in a moment."
    await ledger.settle("resume")
    assert await stands(ledger) == "I go on with the work here as soon as a worker is free."
    again = await ledger.claim()
    await ledger.ask(again.fence)
    assert await stands(ledger) == "I am waiting for an answer to my question."


async def test_status_says_that_work_is_being_stopped(ledger: Ledger) -> None:
    await ledger.begin()
    await ledger.store.stop(key(), StopKind.STOP, None)
    assert await stands(ledger) == "I am stopping the current work."


@pytest.mark.guards("R8.4")
async def test_status_says_that_messages_wait_for_an_owner_only_where_they_do(ledger: Ledger) -> None:
    for n in range(3):
        await ledger.die(3 if n == 0 else 1)
        for stale in await ledger.store.stale_turns():
            facts = ANY_FACTS._replace(strikes=3, record=stale.stands.record)
            await ledger.give(Verdict(stale, decide(facts, 0, RecoverySettings())))
    await ledger.say("hello?")
    assert ON_HOLD in (await said(ledger, "/status")).splitlines()
    assert ON_HOLD not in await said(ledger, "/status", chat="c2")


async def test_status_counts_all_that_waits(ledger: Ledger) -> None:
    """More than a page of the ledger holds."""
    await ledger.begin()
    ledger.arrival = ArrivalSettings(queue=QueueSettings(most=100))
    for n in range(51):
        await ledger.say(f"message {n}")
    assert "Waiting: 51 messages." in await said(ledger, "/status")


@pytest.mark.parametrize(("count", "rest"), [(10, []), (51, ["… and 41 more"])])
async def test_sessions_lists_the_last_ten_and_counts_the_rest(
    ledger: Ledger, count: int, rest: list[str]
) -> None:
    newest = ""
    for _ in range(count):
        newest = (await ledger.complete()).session.id
        await ledger.store.stop(key(), StopKind.NEW, None)
    lines = (await said(ledger, "/sessions")).splitlines()
    assert lines[0].startswith(f"- {newest[:12]}  ended, started")
    assert lines[10:] == [*rest, "/resume ID goes on with one of them."]


async def test_model_says_that_the_first_of_its_models_answers_until_another_is_chosen(
    ledger: Ledger,
) -> None:
    there = agents("main")
    assert (await said(ledger, "/model", agents=there)).splitlines()[0] == "Now: main-1."
    await said(ledger, "/model main-2", agents=there)
    assert (await said(ledger, "/model", agents=there)).splitlines()[0] == "Now: main-2."


# Goals.


async def test_a_goal_that_is_worked_at_is_shown_as_such_while_its_turn_runs(ledger: Ledger) -> None:
    await said(ledger, "/goal tidy up")
    running = await ledger.claim()
    assert (await said(ledger, "/goal")).startswith("I work towards “tidy up”")
    await ledger.finish(running.fence, TurnState.FAILED)
    assert "I do not work on it now: the last turn did not succeed" in await said(ledger, "/goal")


async def test_a_goal_is_stopped_once_and_then_there_is_none_to_stop(ledger: Ledger) -> None:
    assert await said(ledger, "/goal stop") == "There is no standing goal here to stop."
    await said(ledger, "/goal tidy up")
    assert (await said(ledger, "/goal stop")).startswith("Stopped:")
    assert await said(ledger, "/goal stop") == "There is no standing goal here to stop."


async def test_a_stop_of_running_work_says_that_its_goal_is_stopped_with_it(ledger: Ledger) -> None:
    await said(ledger, "/goal tidy up")
    await ledger.claim()
    assert await said(ledger, "/stop") == (
        "Stopped. The conversation is kept. The standing goal is stopped too."
    )


# Resuming.


async def test_work_that_was_left_for_its_age_goes_on_when_a_person_resumes_it(ledger: Ledger) -> None:
    claimed = await ledger.begin("the work")
    await ledger.recover("too_old")
    assert (await said(ledger, "/resume")).startswith("The conversation goes on.")
    assert (await ledger.claim()).session.id == claimed.session.id


async def test_a_parked_conversation_that_an_operator_reopened_goes_on_when_a_person_resumes_it(
    ledger: Ledger,
) -> None:
    session = await ledger.die(3)
    await ledger.settle("too_many_strikes")
    await ledger.store.stop(key(), StopKind.NEW, None)
    await ledger.store.reopen(session, None)
    assert (await said(ledger, "/resume")).startswith("The conversation goes on.")
    assert (await ledger.claim()).session.id == session


async def test_resume_says_that_work_goes_on_when_its_question_is_answered_meanwhile(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.crash()
    await ledger.store.interrupt_orphans()
    await ledger.settle("chat_says_ask", ask=ledger.question("go on?", None))

    class Late:
        """The answer comes between two looks of the command."""

        answered = False

        def __getattr__(self, verb: str) -> Any:
            return getattr(ledger.store, verb)

        async def journal(self, *args: Any) -> Any:
            if not self.answered:
                self.answered = True
                await ledger.store.revive(claimed.session.id, None, "")
            return await ledger.store.journal(*args)

    position = await ledger.command("/resume")
    carrying = commands(ledger, Late())
    await carrying.carry_out_all()
    await carrying.carry_out_all()
    (answer,) = [part.text for part in await ledger.outbox() if part.dedupe == f"command:{position}"]
    assert answer == "I am already going on with the work here."
