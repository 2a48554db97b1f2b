"""One run as people see it: typing, what is written, and after a while that it goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar, cast

from holdfast.clock import Bell, Clock
from holdfast.errors import Refused, Report, StoreClosed, StoreFault
from holdfast.model import ChatAddress, Claimed, DeliveryState, Fence, Owed, OwedKind, TurnState, working_key
from holdfast.platforms import Platform, PlatformDown, Shows, Working
from holdfast.policy.settings import SECOND, ProgressSettings
from holdfast.policy.turn.progress_notice import WorkFacts, still_working
from holdfast.store import Store

T = TypeVar("T")

AT_FIRST = 0.5
"""Seconds of work before typing is shown: what is answered at once needs no sign of it."""
LOOK_AGAIN = 10.0
"""Seconds after which the words for a run that goes on are looked at again."""
AWAY = 10.0
"""Seconds a platform is left alone that cannot be reached, unless it names a time itself."""
MOMENT = 1.0
"""Seconds somebody else is kept waiting for what is only for eyes."""


class House(Protocol):
    """What the runs of one process share."""

    store: Store
    clock: Clock
    settings: ProgressSettings
    report: Report

    def can_show(self, platform: Platform) -> bool:
        """Whether the platform can be reached."""
        ...

    def shows(self, shown: RunDisplay) -> None:
        """What stands beside the messages of that chat is this run's from now on."""
        ...

    def is_newest(self, shown: RunDisplay) -> bool:
        """Whether it still is."""
        ...

    def left(self, shown: RunDisplay) -> None:
        """This run is over; what it showed may still be there."""
        ...

    async def close_notice(self, dedupe: str, state: TurnState | None = None) -> None:
        """Give the message of a run that is over its last words; what cannot be done now is done later.

        With `state` it is not over yet, and will end like this.
        """
        ...


class RunDisplay:
    """Implements `Live` on a platform: one task, cancelled before its turn is let go of.

    A call to the platform is never broken off by news: what has left us may arrive, and who shows the next
    thing must come after it.
    """

    def __init__(self, house: House, platform: Platform, claimed: Claimed, silent: Callable[[], int]) -> None:
        self._house = house
        self._platform = platform
        self._fence = claimed.fence
        self.chat: ChatAddress = claimed.session.chat
        self._silent = silent
        self._begun = house.clock.monotonic()
        self._text = self._step = ""
        self._news = Bell()
        self._calling: asyncio.Task[Any] | None = None
        self._seen: Working | None = None
        """What stands beside the messages now."""
        self._last = self._begun
        """When something was last shown."""
        self._told = False
        self._message: str | None = None
        """The platform's name of the message, once it is known."""
        self._said = ""
        self._drafts = platform.capabilities.drafts
        """Whether what is written can be seen beside the messages of this chat."""
        self._task: asyncio.Task[None] | None = None
        self.go_on()

    # What the run says.

    def show(self, text: str) -> bool:
        if text and text != self._text:
            self._text = text
            self._news.ring()
        can = self._platform.capabilities
        return (can.shows and self._drafts) or can.edit

    def over(self) -> None:
        if self._text:
            self._text = ""
            self._news.ring()

    def step(self, words: str) -> None:
        if words != self._step:
            self._step = words
            self._news.ring()

    def go_on(self) -> None:
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._work())

    def halt(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def rest(self) -> None:
        self.halt()
        if (calling := self._calling) is not None:
            await self._briefly(_done(calling))
            calling.cancel()
            self._calling = None

    async def stopped(self) -> None:
        await self._end(TurnState.CANCELLED)

    async def end(self) -> None:
        await self._end()

    async def _end(self, state: TurnState | None = None) -> None:
        await self.rest()
        await self._briefly(self.clear())
        if self._speaks:
            await self._briefly(self._house.close_notice(_key(self._fence), state))

    def drop(self) -> None:
        self.halt()
        if self._calling is not None:
            self._calling.cancel()
            self._calling = None
        self._house.left(self)

    @property
    def is_seen(self) -> bool:
        """Whether something of it still stands beside the messages."""
        return self._seen is not None

    async def clear(self) -> None:
        """Take away what stands beside the messages, unless a later run shows itself there."""
        if self._seen is None:
            return
        self._seen = None
        if self._house.is_newest(self) and self._house.can_show(self._platform):
            await cast("Shows", self._platform).show(self.chat, Working(self._fence))

    # What is shown of it.

    async def _work(self) -> None:
        """Show what is due, until cancelled; a run whose turn is somebody else's shows nothing more."""
        house = self._house
        while True:
            rung, pause = self._news.rung, 0.0
            try:
                if house.can_show(self._platform):
                    await self._show_beside()
                    await self._show_message()
            except (Refused, StoreClosed):
                return
            except PlatformDown as down:
                pause = down.retry_after or AWAY
            except StoreFault as fault:
                house.report(f"showing turn {self._fence.turn}", fault)
                pause = AWAY
            except Exception as fault:  # noqa: BLE001 - the boundary to an adapter: only eyes miss this
                house.report(f"showing turn {self._fence.turn}", fault)
                return
            if not pause:
                await self._first(self._until_next(), self._news.since(rung))
                pause = self._until_free()
            if pause:
                await house.clock.sleep(pause)

    @property
    def _elapsed(self) -> float:
        return self._house.clock.monotonic() - self._begun

    @property
    def _speaks(self) -> bool:
        """Whether it has worked long enough to be spoken of."""
        return self._elapsed * SECOND >= self._house.settings.notice

    def _words(self, draft: str = "") -> str:
        facts = WorkFacts(round(self._elapsed * SECOND), self._silent(), self._step, draft)
        return still_working(facts, self._house.settings, self._platform.capabilities.longest)

    def _until_next(self) -> float:
        """Seconds until something is to be shown without any news."""
        can = self._platform.capabilities
        waits = [LOOK_AGAIN if self._speaks else self._house.settings.notice / SECOND - self._elapsed]
        if can.shows:
            waits.append(AT_FIRST - self._elapsed if self._elapsed < AT_FIRST else can.typing or LOOK_AGAIN)
        return max(min(waits), 0.01)

    def _until_free(self) -> float:
        """Seconds until this chat may be shown something again: news comes faster than people read."""
        if self._last == self._begun:
            return 0.0
        return max(0.0, self._last + self._platform.capabilities.show_every - self._house.clock.monotonic())

    async def _show_beside(self) -> None:
        can, now = self._platform.capabilities, self._house.clock.monotonic()
        draft = self._text if self._drafts else ""
        notice = self._words() if can.notices and self._speaks else ""
        if not can.shows or not (draft or notice or self._seen or self._elapsed >= AT_FIRST):
            return
        working = Working(self._fence, can.typing > 0, draft, notice)
        fades = can.typing > 0 and now - self._last >= can.typing
        if working != self._seen or fades:
            self._seen, self._last = working, now
            self._house.shows(self)
            self._drafts &= await self._call(cast("Shows", self._platform).show(self.chat, working))

    async def _show_message(self) -> None:
        """Say once by a message that work goes on, and keep it true where messages can be edited."""
        can = self._platform.capabilities
        if can.notices or not self._speaks:
            return
        if not self._told:
            words = self._words()
            owed = Owed(self.chat, _key(self._fence), (words,), OwedKind.NOTICE)
            self._told = await self._call(self._house.store.tell_working(self._fence, owed))
            self._said = words
        elif can.edit:
            await self._edit(self._words("" if self._drafts else self._text))

    async def _edit(self, words: str) -> None:
        if words == self._said:
            return
        if self._message is None:
            self._message = await self._call(self._find_message())
        if self._message is not None:
            self._said, self._last = words, self._house.clock.monotonic()
            await self._call(cast("Shows", self._platform).edit(self.chat, self._message, words))

    async def _find_message(self) -> str | None:
        for notice in await self._house.store.live_notices():
            if notice.delivery.dedupe == _key(self._fence) and notice.delivery.state is DeliveryState.SENT:
                return notice.delivery.platform_id
        return None

    async def _call(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something others must come after; cancelling us leaves it to who waits for it."""
        task = self._calling = asyncio.get_running_loop().create_task(work)
        try:
            return await asyncio.shield(task)
        finally:
            if task.done():
                self._calling = None

    async def _briefly(self, work: Coroutine[Any, Any, object]) -> None:
        """Wait a moment for something that may be left out; nobody's answer is late for more than that."""
        task = await self._first(MOMENT, work)
        if not task.done() or task.cancelled():
            return
        fault = task.exception()
        if fault is not None and not isinstance(fault, (PlatformDown, StoreFault, Refused, StoreClosed)):
            self._house.report(f"showing turn {self._fence.turn}", fault)

    async def _first(self, seconds: float, work: Coroutine[Any, Any, object]) -> asyncio.Task[object]:
        """Wait until the work is done or the time is up, then let go of both without waiting any more."""
        create = asyncio.get_running_loop().create_task
        task, timer = create(work), create(_sleep(self._house.clock, seconds))
        try:
            await asyncio.wait([task, timer], return_when=asyncio.FIRST_COMPLETED)
        finally:
            task.cancel()
            timer.cancel()
        return task


def _key(fence: Fence) -> str:
    return working_key(fence.turn, fence.generation)


async def _done(task: asyncio.Task[Any]) -> None:
    """Return when the task is done, however it ended: who began it is gone."""
    await asyncio.wait([task])
    if not task.cancelled():
        task.exception()


async def _sleep(clock: Clock, seconds: float) -> None:
    await clock.sleep(seconds)
