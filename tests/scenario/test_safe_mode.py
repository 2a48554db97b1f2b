"""Safe mode as people meet it: paused work is told and kept, and only the word drop drops it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from holdfast.model import (
    InboxState,
    Key,
    OnInterruption,
    Place,
    Position,
    QuestionState,
    Session,
    Turn,
    TurnState,
)
from holdfast.policy.recovery.outcome import table
from holdfast.policy.settings import HOUR, MINUTE
from holdfast.recovery import SAFE_MODE_OFF, SAFE_MODE_ON
from tests.support.gateways import PLATFORM, STEP, Town
from tests.support.loops import on_a_loop

SENTENCES = {row.name: row.sentence for row in table()}
PAUSED, ASKED = SENTENCES["safe_mode"], SENTENCES["safe_mode_suspect"]


@asynccontextmanager
async def town(home: Path, **settings: object) -> AsyncIterator[Town]:
    made = Town(home)
    made.with_settings(**settings)
    await made.start()
    try:
        yield made
    finally:
        if not made.running.done():
            await made.crash()


async def session_of(town: Town, chat: str = "c1") -> Session:
    session = await town.store.live_session(Key(Place(PLATFORM, "bot", chat).address))
    assert session is not None
    return session


async def turn_of(town: Town, chat: str = "c1") -> Turn:
    return (await town.store.turns((await session_of(town, chat)).id))[0]


async def cut_off(town: Town, text: str = "work", times: int = 1, chat: str = "c1") -> None:
    """Work that so many crashes cut off, each in a run of its own; the last one finds safe mode on."""
    town.model.hold(text)
    town.mail.say(text, chat)
    for runs in range(1, times + 1):
        await town.until(lambda runs=runs: town.model.begun.count(text) == runs, step=STEP)  # type: ignore[misc]
        if runs == times:
            await town.store.request(SAFE_MODE_ON, f"test:on:{text}")
        await town.crash()
        if runs < times:
            await town.start()


async def end_safe_mode(town: Town) -> None:
    await town.store.request(SAFE_MODE_OFF, "test:off")


@pytest.mark.guards("R8.3")
@on_a_loop
async def test_held_work_is_told_once_at_the_start_and_a_message_releases_it_and_is_answered_in_it(
    tmp_path: Path,
) -> None:
    async with town(tmp_path) as one:
        await cut_off(one)
        await one.start()
        await one.until(lambda: bool(one.mail.texts()))
        assert one.mail.texts() == [PAUSED], "told before the person writes"
        await one.pass_time(MINUTE)
        await one.crash()
        await one.start()
        await one.pass_time(MINUTE)
        assert one.mail.texts() == [PAUSED], "and once, also after another start"
        assert one.model.begun == ["work"], "nothing goes on by itself"
        one.model.gates["work"].set()
        one.mail.say("and now?")
        await one.until(lambda: "answer to and now?" in one.mail.texts(), step=STEP)
        turn = await turn_of(one)
        assert (turn.state, turn.attempt) == (TurnState.DONE, 2), "the same turn went on"
        message = await one.store.row(Position(2))
        assert (message.state, message.turn) == (InboxState.TAKEN, turn.id)
        assert one.mail.texts()[0] == PAUSED and one.mail.texts().count(PAUSED) == 1


@pytest.mark.guards("R8.3", "R5")
@on_a_loop
async def test_work_held_by_safe_mode_does_not_grow_old_and_goes_on_by_itself_when_it_ends(
    tmp_path: Path,
) -> None:
    async with town(tmp_path) as one:
        await cut_off(one)
        one.model.gates["work"].set()
        await one.start()
        await one.until(lambda: one.mail.texts() == [PAUSED])
        one.clock.advance(5 * HOUR)
        await one.pass_time(MINUTE)
        assert (await turn_of(one)).held == "safe_mode"
        await end_safe_mode(one)
        await one.until(lambda: "answer to work" in one.mail.texts(), step=STEP)
        assert one.mail.texts() == [PAUSED, "answer to work"]


@pytest.mark.guards("R8.3", "R6.4")
@on_a_loop
async def test_a_suspects_messages_wait_for_the_answer_and_neither_they_nor_time_drop_the_work(
    tmp_path: Path,
) -> None:
    async with town(tmp_path) as one:
        await cut_off(one, times=2)
        await one.start()
        await one.until(lambda: one.mail.texts() == [ASKED])
        one.mail.say("what is going on?")
        await one.until(lambda: len(one.mail.texts()) == 2, step=STEP)
        assert one.mail.texts()[1].startswith("Queued. First I wait for an answer to: ")
        one.clock.advance(5 * HOUR)
        await one.pass_time(MINUTE)
        await one.crash()
        await one.start()
        await one.pass_time(MINUTE)
        assert (await turn_of(one)).state is TurnState.WAITING
        assert (await one.store.row(Position(2))).state is InboxState.WAITING
        assert one.model.begun == ["work", "work"]
        one.model.gates["work"].set()
        one.mail.say("continue")
        await one.until(lambda: "answer to what is going on?" in one.mail.texts(), step=STEP)
        assert (await turn_of(one)).state is TurnState.DONE
        assert one.mail.texts().count(ASKED) == 1


@pytest.mark.guards("R8.3")
@on_a_loop
async def test_when_safe_mode_ends_a_suspects_question_is_withdrawn_and_its_work_goes_on(
    tmp_path: Path,
) -> None:
    async with town(tmp_path) as one:
        await cut_off(one, times=2)
        await one.start()
        await one.until(lambda: one.mail.texts() == [ASKED])
        one.mail.say("hello?")
        one.clock.advance(5 * HOUR)
        await one.until(lambda: len(one.mail.texts()) == 2, step=STEP)
        one.model.gates["work"].set()
        await end_safe_mode(one)
        await one.until(lambda: "answer to hello?" in one.mail.texts(), step=STEP)
        turn = await turn_of(one)
        (question,) = await one.store.questions((turn.id,))
        assert (turn.state, question.state) == (TurnState.DONE, QuestionState.EXPIRED)
        assert (await one.store.row(Position(2))).turn == turn.id
        one.mail.say("drop")
        await one.until(lambda: "answer to drop" in one.mail.texts(), step=STEP)


@pytest.mark.guards("R8.3")
@on_a_loop
async def test_the_word_drop_drops_a_suspects_work_and_what_waited_is_answered_next(tmp_path: Path) -> None:
    async with town(tmp_path) as one:
        await cut_off(one, times=2)
        await one.start()
        await one.until(lambda: one.mail.texts() == [ASKED])
        one.mail.say("hello?")
        await one.until(lambda: len(one.mail.texts()) == 2, step=STEP)
        one.mail.say("drop")
        await one.until(lambda: "answer to hello?" in one.mail.texts(), step=STEP)
        newest, dropped = await one.store.turns((await session_of(one)).id)
        assert (dropped.state, dropped.why, newest.state) == (
            TurnState.CANCELLED,
            "dropped",
            TurnState.DONE,
        )


@pytest.mark.guards("R8.3", "R6.4")
@on_a_loop
async def test_in_a_chat_that_wants_to_be_asked_nothing_but_the_answer_drops_work_while_safe_mode_lasts(
    tmp_path: Path,
) -> None:
    async with town(tmp_path, on_interruption=OnInterruption.ASK) as one:
        await cut_off(one)
        await one.start()
        await one.until(lambda: one.mail.texts() == [SENTENCES["chat_says_ask"]])
        for _ in range(5):
            one.clock.advance(20 * MINUTE)
            await one.pass_time(MINUTE)
        one.mail.say("something else")
        await one.until(lambda: len(one.mail.texts()) == 2, step=STEP)
        assert (await turn_of(one)).state is TurnState.WAITING
        await end_safe_mode(one)
        await one.pass_time(MINUTE)
        assert (await turn_of(one)).state is TurnState.WAITING, "the chat still wants to be asked"
        one.mail.say("never mind")
        await one.until(lambda: "answer to never mind" in one.mail.texts(), step=STEP)
        assert "answer to something else" in one.mail.texts()


@pytest.mark.guards("R8.3")
@on_a_loop
async def test_crashes_whose_culprit_is_parked_at_the_start_are_told_as_safe_mode_to_no_chat(
    tmp_path: Path,
) -> None:
    async with town(tmp_path) as one:
        for text in ("x", "y"):
            one.model.hold(text)
            one.mail.say(text, text)
            await one.until(lambda text=text: text in one.model.begun)  # type: ignore[misc]
            await one.crash()
            one.model.gates[text].set()
            await one.start()
            await one.until(lambda text=text: f"answer to {text}" in one.mail.texts(text), step=STEP)  # type: ignore[misc]
        one.model.hold("poison")
        one.mail.say("poison")
        for runs in (1, 2):
            await one.until(lambda runs=runs: one.model.begun.count("poison") == runs, step=STEP)  # type: ignore[misc]
            await one.crash()
            await one.start()
        await one.until(lambda: one.model.begun.count("poison") == 3, step=STEP)
        one.model.hold("innocent")
        one.mail.say("innocent", "c2")
        await one.until(lambda: "innocent" in one.model.begun, step=STEP)
        await one.crash()
        one.model.gates["innocent"].set()
        await one.start()
        await one.until(lambda: "answer to innocent" in one.mail.texts("c2"), step=STEP)
        assert one.mail.texts("c2") == ["answer to innocent"]
