"""Tools that come and go while a turn runs: the model is told of those there are when it is asked."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from holdfast.agents import Message, Replied
from holdfast.model import CallState, EffectClass, TurnState
from holdfast.tools import Tool, ToolContext
from tests.support.ledger import Ledger
from tests.support.stage import Deed, Stage, says, soon, wants


@dataclass
class Shelf:
    """A source whose tools a test puts there and takes away."""

    now: dict[str, Tool] = field(default_factory=dict)
    settled: bool = True
    makes: Tool | None = None
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    ready: asyncio.Event = field(default_factory=asyncio.Event)

    async def settle(self) -> None:
        self.asked.set()
        await self.ready.wait()
        self.settled = True

    def tools(self) -> Sequence[Tool]:
        return tuple(self.now.values())

    def find(self, name: str) -> Tool | None:
        return self.now.get(name)


@dataclass
class Makes:
    """A tool after which there is another one, and it itself is gone."""

    shelf: Shelf
    name: str = "makes"
    effect: EffectClass = EffectClass.EFFECT

    async def run(self, context: ToolContext, arguments: str) -> str:
        self.shelf.now = {} if self.shelf.makes is None else {self.shelf.makes.name: self.shelf.makes}
        return "made"


async def test_the_model_is_told_of_the_tools_there_are_when_it_is_asked(ledger: Ledger) -> None:
    shelf = Shelf()
    shelf.now = {"makes": Makes(shelf)}
    own = Deed("own", held=False)
    await ledger.say("hello")
    stage = Stage(ledger, wants("makes"), wants("made"), says("good"), tools=(own,), more_tools=shelf)
    made = Deed("made", held=False)
    shelf.makes = made
    await stage.run()
    assert stage.model.offered == [["makes", "own"], ["made", "own"], ["made", "own"]]
    assert [state for state, _ in await stage.results()] == [CallState.DONE, CallState.DONE]
    assert (await stage.turn()).state is TurnState.DONE
    assert made.runs[0].effect is EffectClass.EFFECT, "it knows what it was planned as"


async def test_a_planned_call_of_a_tool_that_is_gone_fails_in_words(ledger: Ledger) -> None:
    shelf = Shelf()
    shelf.now = {"makes": Makes(shelf)}
    await ledger.say("hello")
    stage = Stage(ledger, wants("makes"), wants("makes"), says("well"), more_tools=shelf)
    await stage.run()
    (done, failed) = await stage.results()
    assert done[0] is CallState.DONE
    assert failed[0] is CallState.FAILED
    assert "There is no tool 'makes'" in failed[1]


async def test_a_tool_that_goes_while_the_model_thinks_is_not_run(ledger: Ledger) -> None:
    deed = Deed("deed", held=False)
    shelf = Shelf({"deed": deed})

    async def takes_it_away(_: Sequence[Message]) -> Replied:
        shelf.now = {}
        return wants("deed")

    await ledger.say("hello")
    stage = Stage(ledger, takes_it_away, says("well"), more_tools=shelf)
    await stage.run()
    assert [state for state, _ in await stage.results()] == [CallState.FAILED]
    assert deed.runs == []


async def test_a_tool_that_comes_while_the_model_thinks_is_not_run_as_the_harmless_call_it_was_planned_as(
    ledger: Ledger,
) -> None:
    deed = Deed("deed", held=False)
    shelf = Shelf()

    async def puts_it_there(_: Sequence[Message]) -> Replied:
        shelf.now = {"deed": deed}
        return wants("deed")

    await ledger.say("hello")
    stage = Stage(ledger, puts_it_there, wants("deed"), says("well"), more_tools=shelf)
    await stage.run()
    (first, second) = await stage.results()
    assert first == (
        CallState.FAILED,
        "The tool deed has changed since you called it. Call it again if you still want it.",
    )
    assert second[0] is CallState.DONE, "the model was told of it before this call"
    assert len(deed.runs) == 1


async def test_an_agents_own_tool_is_not_replaced_by_another_of_its_name(ledger: Ledger) -> None:
    own, other = Deed("deed", held=False), Deed("deed", held=False)
    await ledger.say("hello")
    stage = Stage(ledger, wants("deed"), says("good"), tools=(own,), more_tools=Shelf({"deed": other}))
    await stage.run()
    assert (len(own.runs), len(other.runs)) == (1, 0)
    assert stage.model.offered[0] == ["deed"]


async def test_an_agent_neither_sees_nor_runs_what_is_not_for_it(ledger: Ledger) -> None:
    git, mail = Deed("git__log", held=False), Deed("mail__send", held=False)
    await ledger.say("hello")
    shelf = Shelf({"git__log": git, "mail__send": mail})
    stage = Stage(
        ledger, wants("git__log"), wants("mail__send"), says("good"), more_tools=shelf, more=("git__*",)
    )
    await stage.run()
    assert (len(git.runs), len(mail.runs)) == (1, 0)
    assert stage.model.offered[0] == ["git__log"]
    assert [state for state, _ in await stage.results()] == [CallState.DONE, CallState.FAILED]


async def test_what_is_about_to_be_known_is_waited_for_before_the_model_is_asked(ledger: Ledger) -> None:
    shelf = Shelf(settled=False)
    await ledger.say("hello")
    async with Stage(ledger, says("good"), more_tools=shelf) as stage:
        await soon(shelf.asked.wait())
        assert stage.model.offered == []
        shelf.now["late"] = Deed("late")
        shelf.ready.set()
        await stage.leave_after_answer("good")
    assert stage.model.offered == [["late"]]
