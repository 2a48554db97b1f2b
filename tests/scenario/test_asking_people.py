"""R13 on the real ledger: a turn that asks rests in the ledger alone, and goes on from what it finds."""

import asyncio
import json

import pytest

from holdfast.errors import DiskFull
from holdfast.model import (
    CallId,
    CallState,
    InboxState,
    QuestionId,
    QuestionKind,
    QuestionState,
    Replied,
    StopKind,
    StopReason,
    ToolCall,
    TurnState,
)
from holdfast.policy.settings import DAY, HOUR, MINUTE, QuestionSettings, TurnSettings
from holdfast.policy.turn.views import Role
from holdfast.tools import AskPerson
from tests.support.ledger import ANN, BOB, Ledger, key
from tests.support.stage import Deed, Line, Stage, hangs, says, soon

QUESTION = "Which colour?"


def call(name: str = "ask_person", **arguments: object) -> ToolCall:
    return ToolCall(CallId("x"), name, json.dumps(arguments))


def wants(*calls: ToolCall) -> Replied:
    return Replied("", StopReason.CALLS, calls)


def asks(*options: str) -> Replied:
    return wants(call(question=QUESTION, options=list(options)))


def stage_of(ledger: Ledger, *lines: Line, settings: TurnSettings = TurnSettings()) -> Stage:  # noqa: B008 - frozen
    return Stage(ledger, *lines, tools=[AskPerson(), Deed(held=False)], settings=settings)


async def state(stage: Stage) -> TurnState:
    return (await stage.turn()).state


async def question_state(stage: Stage, number: int = 0) -> QuestionState:
    turn = await stage.turn()
    return (await stage.ledger.store.questions((turn.id,)))[number].state


async def is_asked(stage: Stage) -> None:
    """Return once the turn has asked something."""
    store, seen = stage.ledger.store, 0
    while not await store.questions(((await stage.turn()).id,)):
        seen = await store.changed("steps", seen)


@pytest.mark.guards("R13")
async def test_the_question_its_message_and_the_rest_are_durable_and_the_answer_is_the_result(
    ledger: Ledger,
) -> None:
    await ledger.say("paint it", message_id="m1")
    stage = stage_of(ledger, asks("red", "blue"))
    await stage.run()
    assert await state(stage) is TurnState.WAITING
    (sent,) = await ledger.outbox()
    assert (sent.text, sent.options, sent.reply_to) == (QUESTION, ("red", "blue"), "m1")
    turn = await stage.turn()
    (asked,) = await ledger.store.questions((turn.id,))
    assert (asked.id, asked.kind, asked.asked_of) == (sent.dedupe, QuestionKind.CLARIFY, ANN)
    assert asked.id == f"clarify:{turn.id}:{asked.call}", "the same whenever the call is run"
    assert asked.expires_at == ledger.clock.now() + DAY
    for _ in range(3):
        await ledger.crash()
        await stage_of(ledger).run()
    row = await ledger.say("2")
    assert (await ledger.store.row(row)).state is InboxState.ANSWERED
    after = stage_of(ledger, says("painted"))
    await after.run()
    assert await after.results() == [(CallState.DONE, "blue")]
    assert (await state(after), await after.told()) == (TurnState.DONE, [QUESTION, "painted"])


@pytest.mark.guards("R13")
async def test_a_free_question_takes_any_words(ledger: Ledger) -> None:
    await ledger.say()
    stage = stage_of(ledger, asks(), says())
    await stage.run()
    await ledger.say("a warm grey, please")
    await stage.run()
    assert await stage.results() == [(CallState.DONE, "a warm grey, please")]


@pytest.mark.guards("R5", "R6.2", "R13")
@pytest.mark.parametrize("crash", [False, True], ids=["the gateway runs", "no gateway ran"])
async def test_a_question_without_an_answer_calls_no_model_and_the_next_message_is_answered_for_itself(
    ledger: Ledger, crash: bool
) -> None:
    await ledger.say()
    short = TurnSettings(questions=QuestionSettings(HOUR))
    stage = stage_of(ledger, asks(), says("good morning"), settings=short)
    await stage.run()
    if crash:
        await ledger.crash()
        stage = stage_of(ledger, says("good morning"), settings=short)
    ledger.clock.advance(3 * DAY if crash else HOUR)
    assert len(await ledger.expired()) == 1
    shown = len(stage.model.shown)
    await stage.run()
    turn = await stage.turn()
    assert (turn.state, turn.why, len(stage.model.shown)) == (TurnState.EXPIRED, "unanswered", shown)
    ((call_state, text),) = await stage.results()
    assert call_state is CallState.FAILED and text.startswith("no answer")
    await ledger.say("hello again")
    await stage.run()
    assert [one.role for one in stage.model.shown[-1]] == [Role.USER, Role.ASSISTANT, Role.TOOL, Role.USER]
    assert stage.model.shown[-1][-1].text == "hello again"
    assert (await stage.told())[-1] == "good morning"


@pytest.mark.guards("R13", "R7.4")
async def test_what_finished_beside_a_question_without_an_answer_is_kept(ledger: Ledger) -> None:
    await ledger.say()
    stage = stage_of(ledger, wants(call(question=QUESTION), call("deed")), says("never said"))
    await stage.run()
    ledger.clock.advance(DAY)
    await ledger.store.expire_questions()
    await stage.run()
    assert [state for state, _ in await stage.results()] == [CallState.DONE, CallState.FAILED]
    assert (await state(stage), len(stage.model.shown)) == (TurnState.EXPIRED, 1)


@pytest.mark.guards("R13")
async def test_a_question_that_expires_while_a_tool_runs_ends_the_turn_when_that_is_done(
    ledger: Ledger,
) -> None:
    await ledger.say()
    deed = Deed(held=True)
    lines = (wants(call(question=QUESTION), call("deed")), says("never said"))
    short = TurnSettings(questions=QuestionSettings(MINUTE))
    async with Stage(ledger, *lines, tools=[AskPerson(), deed], settings=short) as stage:
        await soon(deed.running.wait())
        await soon(is_asked(stage))
        ledger.clock.advance(MINUTE)
        assert len(await ledger.expired()) == 1
        deed.release.set()
        await soon(stage.quiet())
    assert (await state(stage), len(stage.model.shown)) == (TurnState.EXPIRED, 1)


@pytest.mark.guards("R13")
async def test_who_writes_something_else_has_it_seen_in_the_same_turn(ledger: Ledger) -> None:
    await ledger.say()
    stage = stage_of(ledger, asks("red", "blue"), says("as you wish"))
    await stage.run()
    await ledger.say("leave it as it is")
    await stage.run()
    ((_, text),) = await stage.results()
    assert text.startswith("set aside")
    assert stage.model.shown[-1][-1].text == "leave it as it is"
    assert await state(stage) is TurnState.DONE


@pytest.mark.guards("R13")
async def test_somebody_else_waits_and_is_told_what_for(ledger: Ledger) -> None:
    await ledger.say()
    stage = stage_of(ledger, asks("red", "blue"))
    await stage.run()
    row = await ledger.say("red", sender=BOB)
    assert (await ledger.store.row(row)).state is InboxState.WAITING
    assert await question_state(stage) is QuestionState.OPEN
    assert QUESTION in (await ledger.outbox())[-1].text


@pytest.mark.guards("R13")
async def test_a_stop_withdraws_the_question_and_a_late_button_is_told_so(ledger: Ledger) -> None:
    await ledger.say()
    stage = stage_of(ledger, asks("red", "blue"))
    await stage.run()
    asked = QuestionId((await ledger.outbox())[0].dedupe)
    await ledger.store.stop(key(), StopKind.STOP, None)
    assert (await state(stage), await question_state(stage)) == (TurnState.CANCELLED, QuestionState.CANCELLED)
    await ledger.say("red", pressed=asked)
    words = (await ledger.outbox())[-1].text
    assert words == "The work that asked this was stopped, so I did nothing with this answer."
    await stage.run()
    assert await state(stage) is TurnState.CANCELLED


@pytest.mark.guards("R13", "F13")
@pytest.mark.parametrize(
    ("how", "words"),
    [("answered", "already has an answer"), ("expired", "has expired"), ("set_aside", "Another message set")],
)
async def test_a_late_button_gets_an_honest_reply(ledger: Ledger, how: str, words: str) -> None:
    await ledger.say()
    stage = stage_of(ledger, asks("red", "blue"), says())
    await stage.run()
    asked = QuestionId((await ledger.outbox())[0].dedupe)
    if how == "answered":
        await ledger.say("red", pressed=asked)
    elif how == "set_aside":
        await ledger.say("something else")
    else:
        ledger.clock.advance(DAY)
    row = await ledger.say("blue", pressed=asked)
    assert (await ledger.store.row(row)).state is InboxState.REFUSED
    assert words in (await ledger.outbox())[-1].text


async def test_one_thing_is_asked_at_a_time(ledger: Ledger) -> None:
    await ledger.say()
    both = wants(call(question="This?"), call(question="That?"))
    stage = stage_of(ledger, both, asks("red", "blue"), says())
    await stage.run()
    assert [part.text for part in await ledger.outbox()] == ["This?"]
    await ledger.say("yes, this")
    await stage.run()
    results = await stage.results()
    assert sorted(results)[0] == (CallState.DONE, "yes, this")
    assert any("ask this one after its answer" in text for _, text in results)
    assert (await ledger.outbox())[-1].text == QUESTION, "and later it may be asked"


async def asked_beside(ledger: Ledger, stage: Stage, deed: Deed) -> None:
    """The person answers while another tool of the same message runs, and the turn with it."""
    await soon(deed.running.wait())
    seen = ledger.store.version("outbox")
    while not await ledger.outbox():
        seen = await soon(ledger.store.changed("outbox", seen))
    await ledger.say("red")
    assert await state(stage) is TurnState.RUNNING
    deed.release.set()


async def test_a_run_that_was_answered_while_it_ran_may_ask_again(ledger: Ledger) -> None:
    await ledger.say()
    deed = Deed()
    both = wants(call(question=QUESTION), call("deed"))
    stage = Stage(ledger, both, wants(call(question="And then?")), tools=[AskPerson(), deed])
    async with stage:
        await asked_beside(ledger, stage, deed)
        await stage.leave_after_answer("And then?")
    assert await state(stage) is TurnState.WAITING


@pytest.mark.guards("R13")
async def test_other_tools_go_on_beside_a_question(ledger: Ledger) -> None:
    await ledger.say()
    deed = Deed()
    both = wants(call(question=QUESTION), call("deed"))
    stage = Stage(ledger, both, says("done"), tools=[AskPerson(), deed])
    async with stage:
        await asked_beside(ledger, stage, deed)
        await stage.leave_after_answer("done")
    assert sorted(await stage.results()) == [(CallState.DONE, "deed is done"), (CallState.DONE, "red")]


@pytest.mark.guards("R13")
async def test_killed_before_the_question_was_kept_it_is_asked_once(ledger: Ledger) -> None:
    await ledger.say()
    stage = stage_of(ledger, asks())

    async def dies() -> None:
        raise RuntimeError("the process is gone")

    async def after_the_start() -> None:
        stage.store.before["record"] = dies

    stage.store.after["record"] = after_the_start
    await stage.run()
    assert await ledger.outbox() == ()
    await ledger.recover()
    again = stage_of(ledger, says())
    await again.run()
    assert (await state(again), len(await ledger.outbox())) == (TurnState.WAITING, 1)
    await ledger.say("red")
    await again.run()
    assert await again.results() == [(CallState.DONE, "red")]


@pytest.mark.guards("R13", "R5")
async def test_a_drain_that_cuts_the_turn_keeps_what_it_asked(ledger: Ledger) -> None:
    await ledger.say()
    stage = stage_of(ledger, asks())

    async def after_the_start() -> None:
        stage.store.faults["record"] = [DiskFull("no room for the question")]

    stage.store.after["record"] = after_the_start
    async with stage:
        await stage.clock.nap(1.0)
        await soon(stage.pool.cut("restart_timeout"))
    assert [part.text for part in await ledger.outbox()] == [QUESTION]
    assert await question_state(stage) is QuestionState.OPEN
    await ledger.recover("question_open")
    assert await state(stage) is TurnState.WAITING


@pytest.mark.guards("R13")
async def test_an_answer_faster_than_the_run_that_asked_has_its_own_run_which_counts(ledger: Ledger) -> None:
    """Recovery takes what does not count as running for lost: it would be begun a second time."""
    await ledger.say()
    gate = asyncio.Event()
    async with stage_of(ledger, asks(), hangs) as stage:
        stage.store.after["wait"] = gate.wait
        await stage.store.logged("wait", 1)
        await ledger.say("a warm grey, please")
        while len(stage.model.shown) < 2:
            stage.model.asked.clear()
            await soon(stage.model.asked.wait())
        turn = (await stage.turn()).id
        assert stage.pool.running() == (turn, turn)
        gate.set()
        while len(stage.pool.running()) > 1:
            await stage.turn()
        assert stage.pool.running() == (turn,)
        assert await ledger.store.interrupt_orphans(running=stage.pool.running()) == 0
        await soon(stage.pool.cut("restart_timeout"))
