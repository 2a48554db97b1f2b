"""One turn on the real ledger: what is committed before what, and what a tool's failure becomes."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from holdfast.agents import Message, Replied, Role
from holdfast.model import CallState, EffectClass, OwedKind, Said, TurnState
from holdfast.tools import ToolContext, ToolFailed
from tests.support.ledger import Ledger
from tests.support.stage import Deed, Stage, says, soon, wants


def calls_in(ledger: Ledger) -> list[str]:
    """The states of all calls, as committed."""
    return [str(value) for row in ledger.dump()["tool_calls"] for value in row if value in set(CallState)]


@pytest.mark.guards("R10.1")
async def test_a_message_is_answered_and_its_reply_owed_once(ledger: Ledger) -> None:
    await ledger.say("hello", message_id="m1")
    stage = Stage(ledger, says("good day"))
    await stage.run()
    (part,) = await ledger.outbox()
    assert (part.text, part.kind, part.reply_to) == ("good day", OwedKind.REPLY, "m1")
    assert (await stage.turn()).state is TurnState.DONE


@pytest.mark.guards("R7.1")
async def test_a_tool_runs_only_once_its_start_is_committed(ledger: Ledger) -> None:
    found: list[list[str]] = []

    @dataclass
    class Looks:
        name: str = "looks"
        effect: EffectClass = EffectClass.EFFECT

        async def run(self, context: ToolContext, arguments: str) -> str:
            found.append(calls_in(ledger))
            return "seen"

    await ledger.say()
    await Stage(ledger, wants("looks"), says(), tools=[Looks()]).run()
    assert found == [["started"]]


@pytest.mark.guards("R7.1", "B4")
async def test_a_result_is_committed_before_the_model_is_asked_again(ledger: Ledger) -> None:
    found: list[list[str]] = []

    async def looks(_: Sequence[Message]) -> Replied:
        found.append(calls_in(ledger))
        return says()

    await ledger.say()
    await Stage(ledger, wants("deed"), looks, tools=[Deed(held=False)]).run()
    assert found == [["done"]]


async def test_a_result_is_committed_while_another_tool_still_runs(ledger: Ledger) -> None:
    slow, quick = Deed("slow"), Deed("quick", held=False)
    await ledger.say()
    async with Stage(ledger, wants("slow", "quick"), says(), tools=[slow, quick]) as stage:
        await soon(slow.running.wait())
        seen = ledger.store.version("steps")
        while [state for state, _ in await stage.results()] != [CallState.DONE]:
            seen = await soon(ledger.store.changed("steps", seen))
        assert not slow.release.is_set()
        slow.release.set()
        await stage.leave()
        assert (await stage.turn()).state is TurnState.DONE


async def test_what_a_tool_says_of_its_failure_is_its_result(ledger: Ledger) -> None:
    async def fails() -> str:
        raise ToolFailed("no paper")

    @dataclass
    class Fails:
        name: str = "fails"
        effect: EffectClass = EffectClass.EFFECT

        async def run(self, context: ToolContext, arguments: str) -> str:
            return await fails()

    await ledger.say()
    stage = Stage(ledger, wants("fails"), says(), tools=[Fails()])
    await stage.run()
    assert await stage.results() == [(CallState.FAILED, "no paper")]


async def test_a_tool_that_breaks_leaves_a_read_failed_and_an_effect_unknown(ledger: Ledger) -> None:
    @dataclass
    class Breaks:
        name: str
        effect: EffectClass

        async def run(self, context: ToolContext, arguments: str) -> str:
            raise KeyError("page")

    await ledger.say()
    tools = [Breaks("look", EffectClass.READ), Breaks("pay", EffectClass.EFFECT)]
    stage = Stage(ledger, wants("look", "pay"), says(), tools=tools)
    await stage.run()
    assert [state for state, _ in await stage.results()] == [CallState.FAILED, CallState.UNKNOWN]
    assert [type(fault) for _, fault in stage.reports] == [KeyError, KeyError]


async def test_a_tool_that_cancels_itself_does_not_take_the_turn_along(ledger: Ledger) -> None:
    @dataclass
    class Quits:
        name: str = "quits"
        effect: EffectClass = EffectClass.READ

        async def run(self, context: ToolContext, arguments: str) -> str:
            raise asyncio.CancelledError

    await ledger.say()
    stage = Stage(ledger, wants("quits"), says("so be it"), tools=[Quits()])
    await stage.run()
    assert await stage.told() == ["so be it"]


async def test_a_tool_nobody_knows_is_a_failed_call_that_names_those_there_are(ledger: Ledger) -> None:
    await ledger.say()
    stage = Stage(ledger, wants("fly"), says(), tools=[Deed("walk")])
    await stage.run()
    ((state, text),) = await stage.results()
    assert state is CallState.FAILED
    assert "walk" in text


async def test_two_replies_may_use_the_same_call_id(ledger: Ledger) -> None:
    deed = Deed(held=False)
    await ledger.say()
    await Stage(ledger, wants("deed", "deed"), wants("deed"), says(), tools=[deed]).run()
    assert len(deed.runs) == len({context.key for context in deed.runs}) == 3


async def test_the_model_sees_the_turns_before(ledger: Ledger) -> None:
    await ledger.say("first")
    await ledger.say("second")
    stage = Stage(ledger, says("one"), says("two"))
    await stage.run()
    shown = [(message.role, message.text) for message in stage.model.shown[-1]]
    assert shown == [(Role.USER, "first"), (Role.ASSISTANT, "one"), (Role.USER, "second")]


async def cut_in_a_tool(ledger: Ledger, deed: Deed) -> None:
    """A crash while the tool runs; afterwards its work is ready to go on."""
    await ledger.say()
    async with Stage(ledger, wants(deed.name), tools=[deed]):
        await soon(deed.running.wait())
    await ledger.recover()
    deed.release.set()


@pytest.mark.guards("R7.2", "C9", "F8")
async def test_an_effect_cut_off_by_a_crash_is_unknown_once_and_never_repeated(ledger: Ledger) -> None:
    deed = Deed()
    await cut_in_a_tool(ledger, deed)
    stage = Stage(ledger, says(), tools=[deed])
    await stage.run()
    assert len(deed.runs) == 1
    assert [state for state, _ in await stage.results()] == [CallState.UNKNOWN]
    shown = [message.state for message in stage.model.shown[-1] if message.role is Role.TOOL]
    assert shown == [CallState.UNKNOWN]


@pytest.mark.guards("R7.2")
async def test_a_read_and_an_idempotent_call_cut_off_run_again_with_the_same_key(ledger: Ledger) -> None:
    for chat, effect in enumerate((EffectClass.READ, EffectClass.IDEMPOTENT)):
        deed = Deed(effect=effect)
        await ledger.say(chat=f"r{chat}")
        async with Stage(ledger, wants("deed"), tools=[deed]):
            await soon(deed.running.wait())
        await ledger.recover()
        deed.release.set()
        await Stage(ledger, says(), tools=[deed]).run()
        first, second = deed.runs
        assert first.key == second.key
        assert first.generation < second.generation


@pytest.mark.guards("R7.2")
async def test_a_reconcilable_call_cut_off_is_asked_about(ledger: Ledger) -> None:
    happened = Deed(effect=EffectClass.RECONCILABLE, found="it is there")
    await cut_in_a_tool(ledger, happened)
    stage = Stage(ledger, says(), tools=[happened])
    await stage.run()
    assert len(happened.runs) == len(happened.checks) == 1
    assert await stage.results() == [(CallState.DONE, "it is there")]


async def test_a_call_that_cannot_be_asked_about_is_unknown(ledger: Ledger) -> None:
    silent = Deed(effect=EffectClass.RECONCILABLE, found=ToolFailed("the bank is closed"))
    await cut_in_a_tool(ledger, silent)
    stage = Stage(ledger, says(), tools=[silent])
    await stage.run()
    ((state, text),) = await stage.results()
    assert state is CallState.UNKNOWN
    assert "the bank is closed" in text


@pytest.mark.guards("R7.2")
async def test_a_call_planned_and_not_started_before_a_crash_runs(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.start(claimed.fence, "a", start=False)
    await ledger.recover()
    deed = Deed("tool_a", held=False)
    stage = Stage(ledger, says(), tools=[deed])
    await stage.run()
    assert len(deed.runs) == 1
    assert [state for state, _ in await stage.results()] == [CallState.DONE]


async def test_an_answer_committed_before_a_crash_is_owed_without_asking_the_model(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.append(claimed.fence, says("forty-two"))
    await ledger.recover()
    stage = Stage(ledger)
    await stage.run()
    assert await stage.told() == ["forty-two"]
    assert not any(isinstance(entry.body, Said) for entry in (await stage.entries())[1:])


async def test_the_first_turn_of_a_conversation_asks_the_ledger_for_no_past(ledger: Ledger) -> None:
    await ledger.say("hello")
    stage = Stage(ledger, says("hi"), says("again"))
    await stage.run()
    assert "transcript" not in stage.store.log
    await ledger.say("and now?")
    await stage.run()
    assert [one.text for one in stage.model.shown[-1]] == ["hello", "hi", "and now?"]
