"""A run shown on a platform that hangs, breaks or is away: the turn is none the worse for it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest

from holdfast.agents import Message, Replied
from holdfast.model import ChatAddress, StopKind
from holdfast.platforms import Ack, Capabilities, PlatformDown, Working
from tests.support.ledger import Ledger, address, key
from tests.support.platforms import FakePlatform
from tests.support.stage import Deed, Stage, says, soon, wants

TYPES = Capabilities(Ack.OFFSET, typing=4.0)


class Screen(FakePlatform):
    """Shows typing and drafts; `during` happens while it does."""

    def __init__(self, capabilities: Capabilities = TYPES) -> None:
        super().__init__(capabilities)
        self.seen: list[Working] = []
        self.reached = asyncio.Event()
        self.during: Callable[[], Awaitable[object]] | None = None

    async def show(self, chat: ChatAddress, working: Working) -> bool:
        self.reached.set()
        if self.during is not None:
            await self.during()
        assert chat == address()
        self.seen.append(working)
        self.bell.ring()
        return True

    async def edit(self, chat: ChatAddress, message_id: str, text: str, in_line: bool = False) -> bool:
        raise AssertionError("nothing is to be edited")

    async def until(self, number: int) -> None:
        while len(self.seen) < number:
            await soon(self.bell.since(self.bell.rung))


class Slow:
    """A model that answers when it is told to."""

    def __init__(self) -> None:
        self.told = asyncio.Event()

    async def __call__(self, messages: Sequence[Message]) -> Replied:
        await self.told.wait()
        return says()


async def typing(stage: Stage, screen: Screen) -> None:
    """Let the run be at work for as long as it takes to show that."""
    await stage.clock.nap(0.5)
    stage.ledger.clock.advance(500)
    await soon(screen.reached.wait())


@pytest.mark.guards("R10.4", "R12", "C23")
async def test_typing_is_shown_while_a_run_lasts_again_and_again_and_taken_away_at_its_end(
    ledger: Ledger,
) -> None:
    await ledger.say()
    model, screen = Slow(), Screen()
    async with Stage(ledger, model, platform=screen) as stage:
        await typing(stage, screen)
        await stage.clock.nap(4.0)
        ledger.clock.advance(4_000)
        await screen.until(2)
        model.told.set()
        await stage.quiet()
        assert [working.typing for working in screen.seen] == [True, True, False]
        ledger.clock.advance(60_000)
        assert await stage.told() == ["the answer"]
    assert len(screen.seen) == 3


@pytest.mark.guards("R12", "R10.5", "F14")
async def test_what_is_on_its_way_to_people_arrives_before_the_turn_is_let_go_of(ledger: Ledger) -> None:
    await ledger.say()
    model, screen, gate = Slow(), Screen(), asyncio.Event()
    screen.during = gate.wait
    async with Stage(ledger, model, platform=screen) as stage:
        await typing(stage, screen)
        model.told.set()
        await stage.clock.nap(1.0)
        assert "finish" not in stage.store.log
        gate.set()
        await stage.quiet()
        assert "finish" in stage.store.log


@pytest.mark.guards("R10.4")
async def test_a_platform_that_hangs_keeps_an_answer_waiting_for_a_moment_and_no_longer(
    ledger: Ledger,
) -> None:
    await ledger.say()
    model, screen = Slow(), Screen()
    screen.during = asyncio.Event().wait
    async with Stage(ledger, model, platform=screen) as stage:
        await typing(stage, screen)
        model.told.set()
        for _ in ("the show", "taking it away"):
            await stage.clock.nap(1.0)
            ledger.clock.advance(1_000)
        await stage.quiet()
        assert await stage.told() == ["the answer"]


@pytest.mark.guards("R10.4", "G19")
@pytest.mark.parametrize("fault", [RuntimeError("a bug"), PlatformDown("away"), PlatformDown("flood", 30.0)])
async def test_a_platform_that_cannot_show_anything_changes_nothing_about_the_answer(
    ledger: Ledger, fault: Exception
) -> None:
    async def breaks() -> None:
        raise fault

    await ledger.say()
    model, screen = Slow(), Screen()
    screen.during = breaks
    async with Stage(ledger, model, platform=screen) as stage:
        await typing(stage, screen)
        model.told.set()
        await stage.quiet()
        assert await stage.told() == ["the answer"]
    assert screen.seen == []
    assert bool(stage.reports) == isinstance(fault, RuntimeError)


@pytest.mark.guards("R12", "F14", "F15")
@pytest.mark.parametrize("kind", StopKind)
async def test_a_stop_and_a_new_one_end_what_the_old_run_showed_before_the_next_shows_anything(
    ledger: Ledger, kind: StopKind
) -> None:
    await ledger.say()
    old, new, screen = Slow(), Slow(), Screen()
    async with Stage(ledger, old, new, platform=screen) as stage:
        await typing(stage, screen)
        first = screen.seen[0].by
        await ledger.store.stop(key(), kind, None)
        await stage.quiet()
        assert screen.seen[-1] == Working(first)
        await ledger.say("and now?")
        await stage.clock.nap(0.5)
        ledger.clock.advance(500)
        await screen.until(3)
        assert screen.seen[2].typing
        assert screen.seen[2].by.turn != first.turn
        stage.model.on_text("late words of nobody")
        old.told.set()
        new.told.set()
        await stage.leave_after_answer("the answer")
    assert {working.by.turn for working in screen.seen[2:]} == {screen.seen[2].by.turn}


@pytest.mark.guards("R12", "R10.5")
async def test_a_run_that_is_cut_shows_nothing_while_its_tools_are_given_time_to_end(ledger: Ledger) -> None:
    async def never_ends() -> str:
        await asyncio.Event().wait()
        return "never"

    await ledger.say()
    deed, screen = Deed(when_cancelled=never_ends), Screen()
    async with Stage(ledger, wants("deed"), tools=[deed], platform=screen) as stage:
        await typing(stage, screen)
        await soon(deed.running.wait())
        cutting = asyncio.ensure_future(stage.pool.cut("restart_timeout"))
        await stage.store.logged("interrupt", 1)
        await stage.clock.nap(5.0)
        ledger.clock.advance(4_900)
        stage.model.on_text("more")
        await stage.turn()
        assert [working.typing for working in screen.seen] == [True]
        ledger.clock.advance(100)
        await soon(cutting)
    assert [working.typing for working in screen.seen] == [True, False]


@pytest.mark.guards("R12", "F14")
async def test_a_run_that_ends_late_takes_nothing_away_that_the_next_one_shows(ledger: Ledger) -> None:
    await ledger.say()
    old, new, screen, gate = Slow(), Slow(), Screen(), asyncio.Event()
    async with Stage(ledger, old, new, platform=screen) as stage:
        await typing(stage, screen)
        stage.store.after["finish"] = gate.wait
        old.told.set()
        await stage.store.logged("finish", 1)
        await ledger.say("and now?")
        await stage.clock.nap(0.5)
        ledger.clock.advance(500)
        await screen.until(2)
        gate.set()
        await stage.turn()
        new.told.set()
        await stage.store.logged("finish", 2)
        await stage.quiet()
    assert [(working.typing, working.by.generation) for working in screen.seen] == [
        (True, 1),
        (True, 2),
        (False, 2),
    ]
