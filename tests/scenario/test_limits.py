"""R18 on the real ledger: told and asked once a limit is reached, counted across resumes and kills."""

import asyncio
from dataclasses import replace

import pytest

from holdfast.agents import Metered, Replied, Usage
from holdfast.model import Position, QuestionState, StopKind, TurnState
from holdfast.policy.settings import DAY, LimitSettings, TurnSettings
from tests.support.ledger import Ledger, key
from tests.support.stage import Deed, Line, Stage, hangs, says, soon, wants

STEPS = TurnSettings(limits=LimitSettings(steps=2))
MONEY = TurnSettings(limits=LimitSettings(steps=0, turn_tokens=100))
DAILY = TurnSettings(limits=LimitSettings(steps=0, day_cost=1_000_000))
ASKS = "Shall I continue, or stop here?"


def metered(reply: Replied, tokens: int = 0, cost: int = 0) -> Metered:
    return Metered(reply, Usage("big", tokens, 0, cost))


def stage_of(ledger: Ledger, settings: TurnSettings, *lines: Line) -> Stage:
    return Stage(ledger, *lines, tools=[Deed(held=False)], settings=settings)


async def answer(ledger: Ledger, text: str) -> Position:
    return await ledger.say(text)


async def state(stage: Stage) -> TurnState:
    return (await stage.turn()).state


@pytest.mark.guards("R18")
async def test_at_its_limit_of_steps_a_turn_asks_once_and_goes_on_when_told_to(ledger: Ledger) -> None:
    await ledger.say("much", message_id="m1")
    stage = stage_of(ledger, STEPS, wants("deed"), wants("deed"), wants("deed"), says("done at last"))
    await stage.run()
    assert await state(stage) is TurnState.WAITING
    (question,) = await ledger.outbox()
    assert question.text.startswith("This has taken 2 steps") and ASKS in question.text
    assert (question.options, question.reply_to) == (("continue", "stop"), "m1")
    await answer(ledger, "continue")
    await stage.run()
    assert await state(stage) is TurnState.DONE, "two more are allowed, and three replies are left of four"
    assert [part.text for part in await ledger.outbox()][1:] == ["done at last"]


@pytest.mark.guards("R18")
async def test_each_continue_allows_as_much_again(ledger: Ledger) -> None:
    await ledger.say()
    stage = stage_of(ledger, STEPS, *(wants("deed") for _ in range(6)), says())
    for times in (1, 2, 3):
        await stage.run()
        assert await state(stage) is TurnState.WAITING
        assert len(stage.model.shown) == 2 * times
        await answer(ledger, "yes")
    await stage.run()
    assert await state(stage) is TurnState.DONE


@pytest.mark.guards("R18")
@pytest.mark.parametrize("text", ["stop", "2"])
async def test_told_to_stop_the_work_ends_and_the_session_is_free(ledger: Ledger, text: str) -> None:
    await ledger.say()
    stage = stage_of(ledger, STEPS, wants("deed"), wants("deed"), says("the next answer"))
    await stage.run()
    await answer(ledger, text)
    assert await state(stage) is TurnState.CANCELLED
    await ledger.say("something new")
    await stage.run()
    assert "the next answer" in await stage.told()
    note = stage.model.shown[-1][-2]
    assert "the person dropped it" in note.text


@pytest.mark.guards("R18")
async def test_a_question_nobody_answers_for_a_day_stops_the_work(ledger: Ledger) -> None:
    await ledger.say()
    stage = stage_of(ledger, STEPS, wants("deed"), wants("deed"))
    await stage.run()
    ledger.clock.advance(DAY)
    assert len(await ledger.expired()) == 1
    assert await state(stage) is TurnState.CANCELLED


@pytest.mark.guards("R18")
async def test_steps_and_tokens_of_killed_runs_count(ledger: Ledger) -> None:
    settings = replace(MONEY, limits=LimitSettings(steps=3, turn_tokens=100))
    await ledger.say()
    async with stage_of(ledger, settings, metered(wants("deed"), 60), hangs) as stage:
        while len(stage.model.shown) < 2:
            stage.model.asked.clear()
            await stage.model.asked.wait()
    await ledger.recover()
    after = stage_of(ledger, settings, metered(wants("deed"), 40), says())
    await after.run()
    assert await state(after) is TurnState.WAITING, "60 before the kill and 40 after it are 100"
    (question,) = await ledger.outbox()
    assert question.text.startswith("This has taken 100 tokens")


@pytest.mark.guards("R18")
async def test_killed_between_the_question_and_its_answer_it_still_waits_and_then_goes_on(
    ledger: Ledger,
) -> None:
    await ledger.say()
    stage = stage_of(ledger, STEPS, wants("deed"), wants("deed"))
    stage.store.before["wait"] = asyncio.Event().wait
    async with stage:
        await soon(stage.store.reach("wait").wait())
    assert await state(stage) is TurnState.RUNNING
    await ledger.recover()
    after = stage_of(ledger, STEPS, says("done"))
    await after.run()
    assert await state(after) is TurnState.WAITING
    assert len(await ledger.outbox()) == 1, "asked once"
    await answer(ledger, "continue")
    # And killed once more, right after it was taken up again.
    await ledger.claim()
    await ledger.recover()
    last = stage_of(ledger, STEPS, says("done"))
    await last.run()
    assert await state(last) is TurnState.DONE
    assert await last.told() == [(await ledger.outbox())[0].text, "done"]


@pytest.mark.guards("R18")
async def test_killed_right_after_continue_the_work_is_taken_up_and_not_left(ledger: Ledger) -> None:
    await ledger.say()
    stage = stage_of(ledger, STEPS, wants("deed"), wants("deed"))
    await stage.run()
    await answer(ledger, "continue")
    claimed = await ledger.claim()
    await ledger.crash()
    await ledger.store.interrupt_orphans()
    (stale,) = await ledger.store.stale_turns()
    assert stale.stands.tail == "work", "what it waited for was the gateway's question, not the model's"
    await ledger.settle("resume")
    after = stage_of(ledger, STEPS, says("done"))
    await after.run()
    assert (await ledger.turn(claimed.session.id)).state is TurnState.DONE


@pytest.mark.guards("R18")
async def test_a_day_is_limited_for_the_chat_and_one_continue_holds_for_it(ledger: Ledger) -> None:
    stage = stage_of(
        ledger,
        DAILY,
        metered(says("first"), cost=1_500_000),
        metered(says("second"), cost=100_000),
        metered(says("third"), cost=100_000),
        says("elsewhere"),
        says("tomorrow"),
    )
    await ledger.say("one")
    await stage.run()
    assert await stage.told() == ["first"], "a reply that is there is given, whatever it cost"
    await ledger.say("two")
    await stage.run()
    assert (await stage.told())[-1].startswith("Today this chat has taken $1.50, and I ask after $1.00")
    await answer(ledger, "continue")
    await stage.run()
    await ledger.say("three")
    await stage.run()
    assert (await stage.told())[2:] == ["second", "third"]
    await ledger.say("four", chat="c2")
    await stage.run()
    assert await stage.told("c2") == ["elsewhere"]
    ledger.clock.advance(DAY)
    await ledger.say("five")
    await stage.run()
    assert (await stage.told())[-1] == "tomorrow"


@pytest.mark.guards("R18")
async def test_a_continue_given_before_midnight_allows_nothing_of_the_next_day(ledger: Ledger) -> None:
    """The same turn goes on over midnight, and a later one of that day asks, each by the day's own count."""
    until_midnight = DAY - ledger.clock.now() % DAY
    ledger.clock.advance(until_midnight - 1)
    dear = (metered(wants("deed"), cost=1_000_000) for _ in range(3))
    stage = stage_of(ledger, DAILY, *dear, says("over midnight"), says("the next one"))
    await ledger.say("one")
    await stage.run()
    await answer(ledger, "continue")
    ledger.clock.advance(1)
    await stage.run()
    assert await state(stage) is TurnState.WAITING, "what was allowed yesterday is not allowed today"
    assert (await stage.told())[-1].startswith("Today this chat has taken $1.00, and I ask after $1.00")
    assert len(stage.model.shown) == 2
    await answer(ledger, "continue")
    await stage.run()
    assert await state(stage) is TurnState.WAITING, "one continue of today allows as much again, once"
    assert (await stage.told())[-1].startswith("Today this chat has taken $2.00")
    await answer(ledger, "continue")
    await stage.run()
    ledger.clock.advance(DAY)
    await ledger.say("two")
    await stage.run()
    assert (await stage.told())[-2:] == ["over midnight", "the next one"]


@pytest.mark.guards("R18")
async def test_a_continue_counts_for_the_day_on_which_it_was_given(ledger: Ledger) -> None:
    ledger.clock.advance(DAY - ledger.clock.now() % DAY - 1)
    stage = stage_of(ledger, DAILY, *(metered(wants("deed"), cost=1_000_000) for _ in range(2)), says("done"))
    await ledger.say("one")
    await stage.run()
    assert await state(stage) is TurnState.WAITING
    ledger.clock.advance(1)
    await answer(ledger, "continue")
    await stage.run()
    assert await state(stage) is TurnState.DONE, "asked yesterday, allowed today: $1.00 more is within it"


@pytest.mark.guards("R18")
async def test_what_a_stopped_turn_used_is_counted(ledger: Ledger) -> None:
    await ledger.say()
    stage = stage_of(ledger, DAILY, metered(wants("deed"), cost=1_000_000))

    async def stops() -> None:
        await ledger.store.stop(key(), StopKind.STOP, None)

    stage.store.before["record"] = stops
    await stage.run()
    turn = await stage.turn()
    assert turn.state is TurnState.CANCELLED
    chat = (await ledger.store.session(turn.session)).chat
    assert (await ledger.store.spent(turn.id, chat, 0)).cost == 1_000_000


@pytest.mark.guards("R18")
async def test_the_questions_stand_closed_in_the_journal(ledger: Ledger) -> None:
    await ledger.say()
    stage = stage_of(ledger, STEPS, wants("deed"), wants("deed"), says())
    await stage.run()
    await answer(ledger, "1")
    await stage.run()
    turn = await stage.turn()
    (question,) = (await ledger.store.journal(turn.id, turn.generation)).questions
    assert (question.state, question.answer) == (QuestionState.ANSWERED, "continue")
