"""After a restore nothing goes on by itself: what was open in the backup waits for the operator."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from holdfast.agents import Role
from holdfast.api.held_items import HeldItems
from holdfast.maintenance.backup import make_backup, restore
from holdfast.model import OnInterruption, QuestionState, TurnState
from holdfast.policy.settings import DAY, HOUR
from tests.support.gateways import Town
from tests.support.loops import on_a_loop


def _silent(what: str, done: int, of: int) -> None:
    return None


async def backed_up(town: Town, file: Path) -> None:
    """A backup while the gateway runs."""
    await asyncio.to_thread(make_backup, town.home, file, town.clock, False, _silent)


@asynccontextmanager
async def brought_back(town: Town, file: Path, later: int = 0) -> AsyncIterator[Town]:
    """Another home made from a backup, on platforms that have shown everything meanwhile."""
    again = Town(file.with_name("again"), town.settings)
    again.clock.advance(town.clock.now() - again.clock.now() + later)
    again.mail.arrivals = list(town.mail.arrivals)
    restore(file, again.home, again.clock, again.ids, False, _silent)
    await again.start()
    try:
        yield again
    finally:
        await again.crash()


async def busy_town(home: Path) -> Town:
    """One chat answered, one at work with a message behind it, one whose answer is on its way."""
    town = Town(home)
    await town.start()
    town.mail.say("first", chat="c1")
    await town.until(lambda: town.mail.texts("c1") == ["answer to first"])
    town.model.hold("work")
    town.mail.say("work", chat="c2")
    await town.until(lambda: "work" in town.model.begun)
    town.mail.say("behind", chat="c2")
    await town.until(lambda: len(town.mail.texts("c2")) == 1)  # It was told that it is queued.
    town.mail.sends_hang = True
    town.mail.say("third", chat="c3")
    await town.until(lambda: town.mail.sending >= 1)
    return town


@pytest.mark.guards("R19")
@on_a_loop
async def test_what_was_open_is_neither_run_nor_sent_however_long_it_lasts(tmp_path: Path) -> None:
    town = await busy_town(tmp_path / "home")
    await backed_up(town, tmp_path / "x.tar")
    await town.crash()
    async with brought_back(town, tmp_path / "x.tar", later=2 * HOUR) as again:
        await again.pass_time(5_000)
        again.clock.advance(2 * DAY)
        await again.pass_time(5_000)
        assert again.mail.sent == []
        assert again.model.begun == []
        held = await again.store.restored()
        assert sorted((one.kind, one.text) for one in held) == [
            ("message", "behind"),
            ("part", "answer to third"),
            ("turn", "work"),
        ]
        assert await again.store.verify() == ()
        report = again.gateway.continuity
        assert report is not None
        assert report.previous_ended == "restored"
        assert [(fate.became, fate.row) for fate in report.fates] == [("hold", "restored")]
        again.mail.say("hello", chat="c1")
        await again.until(lambda: again.mail.texts("c1") == ["answer to hello"])


@pytest.mark.guards("R19")
@on_a_loop
async def test_what_is_released_goes_on_once_and_a_repeat_shows_once(tmp_path: Path) -> None:
    town = await busy_town(tmp_path / "home")
    await backed_up(town, tmp_path / "x.tar")
    await town.crash()
    async with brought_back(town, tmp_path / "x.tar", later=DAY // 2) as again:
        done = await HeldItems(again.store, again.clock).release()
        assert done["refused"] == {} and len(done["released"]) == 3
        await again.until(lambda: bool(again.mail.texts("c2") and again.mail.texts("c3")), step=250)
        await again.pass_time(5_000)
        # The message that waited is answered in the turn that goes on, after what was unfinished.
        assert again.mail.texts("c2") == ["answer to behind"]
        asked = [message.text for message in again.model.shown[-1] if message.role is Role.USER]
        assert asked == ["work", "behind"]
        assert again.mail.texts("c3") == ["answer to third"]
        (third,) = (one for one in again.mail.sent if one.text == "answer to third")
        assert third.key in {one.key for one in await again.store.deliveries(third.chat)}
        assert await again.store.restored() == ()
        assert (await HeldItems(again.store, again.clock).release())["released"] == []
        assert await again.store.verify() == ()


@pytest.mark.guards("R19")
@on_a_loop
async def test_what_is_dropped_never_goes_on(tmp_path: Path) -> None:
    town = await busy_town(tmp_path / "home")
    await backed_up(town, tmp_path / "x.tar")
    await town.crash()
    async with brought_back(town, tmp_path / "x.tar") as again:
        await HeldItems(again.store, again.clock).release(drop=True)
        await again.pass_time(10_000)
        assert again.mail.sent == [] and again.model.begun == []
        again.mail.say("hello", chat="c3")
        await again.until(lambda: again.mail.texts("c3") == ["answer to hello"])
        assert await again.store.verify() == ()


@pytest.mark.guards("R19")
@on_a_loop
async def test_a_question_open_in_the_backup_neither_expires_nor_wakes_its_turn(tmp_path: Path) -> None:
    town = Town(tmp_path / "home")
    town.with_settings(on_interruption=OnInterruption.ASK)
    await town.start()
    town.model.hold("work")
    town.mail.say("work", chat="c2")
    await town.until(lambda: "work" in town.model.begun)
    await town.crash()
    await town.start()
    await town.until(lambda: any("continue" in one.text for one in town.mail.sent), step=250)
    await backed_up(town, tmp_path / "x.tar")
    await town.crash()
    async with brought_back(town, tmp_path / "x.tar", later=3 * HOUR) as again:
        await again.pass_time(5_000)
        (held,) = (one for one in await again.store.restored() if one.kind == "turn")
        assert held.session is not None
        (turn,) = await again.store.turns(held.session)
        assert turn.state is TurnState.INTERRUPTED
        (question,) = (await again.store.journal(turn.id, turn.generation)).questions
        assert question.state is QuestionState.CANCELLED
        assert again.mail.sent == []
