"""R12: the message that work goes on gets its last words with the answer, and as soon as it is stopped."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from holdfast.config.settings import GatewaySettings
from holdfast.model import ChatAddress, Delivery, Owed, SendResult, Sent, StopKind, working_key
from holdfast.platforms import Ack, Capabilities, Pace, Rate
from holdfast.policy.settings import SECOND, ProgressSettings
from holdfast.store import Store
from holdfast.testing import ManualClock
from holdfast.turns import Showing
from tests.support.gateways import Mail, Post, Town
from tests.support.ledger import Ledger, address, key
from tests.support.loops import on_a_loop
from tests.support.platforms import FakePlatform
from tests.support.stage import Between, Deed, Stage, soon, wants

SPEAKING = GatewaySettings(progress=ProgressSettings(notice=SECOND))
EDITS = Capabilities(Ack.OFFSET, edit=True, longest=100, show_every=1.0)


class Paced(Post):
    """Takes as much as Telegram does, and notes what people see and when."""

    def __init__(self, mail: Mail, clock: ManualClock, seen: list[tuple[str, int]]) -> None:
        super().__init__(mail)
        self.capabilities = EDITS
        self._clock = clock
        self._seen = seen
        self._pace = Pace(clock.monotonic, Rate(2, 2.0), Rate(30))
        self.reached: Callable[[], None] = lambda: None

    async def send(self, delivery: Delivery) -> SendResult:
        await self._clock.sleep(self._pace.to_send(delivery.chat))
        self._seen.append((delivery.text, self._clock.now()))
        await super().send(delivery)
        return Sent(str(len(self._seen)))

    async def edit(self, chat: ChatAddress, message_id: str, text: str, in_line: bool = False) -> bool:
        if in_line:
            await self._clock.sleep(self._pace.to_send(chat))
        elif not self._pace.may_show(chat):
            return False
        self._seen.append((text, self._clock.now()))
        return True


def when(seen: list[tuple[str, int]], words: str) -> int:
    return next(at for text, at in seen if words in text)


async def at_work(town: Town, seen: list[tuple[str, int]]) -> None:
    """It works long enough to be spoken of, and has just spoken."""
    town.model.hold("do")
    town.mail.say("do")
    await town.until(lambda: any("Still working" in text for text, _ in seen), step=250)
    spoken = len(seen)
    await town.until(lambda: len(seen) > spoken, step=250)


async def opened(folder: Path) -> tuple[Town, list[tuple[str, int]]]:
    town, seen = Town(folder, SPEAKING), list[tuple[str, int]]()
    town.post = lambda mail: Paced(mail, town.clock, seen)
    await town.start()
    return town, seen


@pytest.mark.guards("R12")
@on_a_loop
async def test_the_last_words_of_a_run_come_no_later_than_its_answer(tmp_path: Path) -> None:
    town, seen = await opened(tmp_path)
    try:
        await at_work(town, seen)
        town.model.gates["do"].set()
        await town.until(lambda: "answer to do" in town.mail.texts(), step=50)
        await town.until(lambda: any(text == "This is done." for text, _ in seen), step=50)
        assert when(seen, "This is done.") <= when(seen, "answer to do")
        await town.pass_time(5_000)
        assert [text for text, _ in seen].count("This is done.") == 1
    finally:
        await town.crash()


@pytest.mark.guards("R12")
@pytest.mark.parametrize("command", ["/stop", "/new"])
@on_a_loop
async def test_the_last_words_of_a_stopped_run_come_with_the_answer_to_the_command(
    tmp_path: Path, command: str
) -> None:
    town, seen = await opened(tmp_path)
    try:
        await at_work(town, seen)
        town.mail.say(command)
        await town.until(lambda: any(text == "This was stopped." for text, _ in seen), step=50)
        await town.until(lambda: len(town.mail.texts()) > 1, step=50)
        answered = next(at for text, at in seen if text == town.mail.texts()[-1])
        assert when(seen, "This was stopped.") <= answered + SECOND
        town.mail.say("and now")
        await town.until(lambda: "answer to and now" in town.mail.texts(), step=50)
        assert [text for text, _ in seen if "Still working" in text][-1:] != [seen[-1][0]]
    finally:
        await town.crash()


@pytest.mark.guards("R12")
@on_a_loop
async def test_a_platform_that_hangs_while_it_edits_keeps_the_answer_for_a_moment_only(
    tmp_path: Path,
) -> None:
    town, seen = await opened(tmp_path)
    hangs = asyncio.Event()

    async def edit(*_: object, **__: object) -> bool:
        await hangs.wait()
        return True

    try:
        await at_work(town, seen)
        town.gateway._platforms[0].edit = edit  # type: ignore[attr-defined]
        began = town.clock.now()
        town.model.gates["do"].set()
        await town.until(lambda: "answer to do" in town.mail.texts(), step=50)
        assert when(seen, "answer to do") - began < 6 * SECOND
    finally:
        await town.crash()


class Screen(FakePlatform):
    """Notes what its messages are changed to."""

    def __init__(self) -> None:
        super().__init__(Capabilities(Ack.OFFSET, edit=True))
        self.edits: list[str] = []

    async def edit(self, chat: ChatAddress, message_id: str, text: str, in_line: bool = False) -> bool:
        self.edits.append(text)
        self.bell.ring()
        return True


@pytest.mark.guards("R12")
@pytest.mark.parametrize("kind", StopKind)
async def test_a_run_that_is_stopped_says_so_before_its_tools_have_ended(
    ledger: Ledger, kind: StopKind
) -> None:
    async def never_ends() -> str:
        await asyncio.Event().wait()
        return "never"

    await ledger.say()
    deed, screen = Deed(when_cancelled=never_ends), Screen()
    async with Stage(ledger, wants("deed"), tools=[deed], platform=screen) as stage:
        await soon(deed.running.wait())
        await stage.clock.nap(60.0)
        ledger.clock.advance(60_000)
        await stage.store.logged("tell_working", 1)
        (notice,) = await ledger.send()
        await ledger.store.record_delivery(notice.id, Sent("p1"))
        await ledger.store.stop(key(), kind, None)
        while "This was stopped." not in screen.edits:
            await soon(screen.bell.since(screen.bell.rung))
        assert "finish" not in stage.store.log, "its tools still have their time"
        ledger.clock.advance(10_000)
        await stage.quiet()
    assert screen.edits[-1] == "This was stopped."
    assert await ledger.store.live_notices() == ()


async def test_a_notice_told_in_the_middle_of_a_look_for_notices_is_not_overlooked(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    owed = Owed(address(), working_key(claimed.turn.id, claimed.turn.generation), ("Still working",))

    async def told() -> None:
        await ledger.store.tell_working(claimed.fence, owed)
        (notice,) = await ledger.send()
        await ledger.store.record_delivery(notice.id, Sent("p1"))

    store, screen = Between(ledger.store), Screen()
    showing = Showing(cast("Store", store), ledger.clock, (screen,))
    store.after["live_notices"] = told
    await showing.before_send(address())
    await ledger.finish(claimed.fence)
    await showing.before_send(address())
    assert screen.edits == ["This is done."]
