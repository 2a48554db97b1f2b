"""Show one run to people: typing, the reply so far, and after a while a notice that work goes on."""

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
"""Seconds of work before typing is shown: a quick answer needs no typing sign."""
LOOK_AGAIN = 10.0
"""Seconds between two updates of the notice of a long run."""
AWAY = 10.0
"""Seconds without a call to a platform that is out of reach, unless it names a time itself."""
MOMENT = 1.0
"""How many seconds other work may wait for the display."""


class SharedDisplay(Protocol):
    """The parts that the displays of one process share; `Showing` implements it."""

    store: Store
    clock: Clock
    settings: ProgressSettings
    report: Report

    def can_show(self, platform: Platform) -> bool:
        """Whether the gateway can reach the platform."""
        ...

    def shows(self, shown: RunDisplay) -> None:
        """From now on this run's sign is the newest one in its chat."""
        ...

    def is_newest(self, shown: RunDisplay) -> bool:
        """Whether this run's sign is still the newest one in its chat."""
        ...

    def left(self, shown: RunDisplay) -> None:
        """This run is over; its sign may still be visible."""
        ...

    async def close_notice(self, dedupe: str, state: TurnState | None = None) -> None:
        """Give the notice of an ended run its last words, now or later.

        With `state` the run has not ended yet, and will end in this state.
        """
        ...


class RunDisplay:
    """Implements `RunDisplayPort` on a platform: one task, cancelled before the run gives up its turn.

    News never breaks off a call to the platform: a sent update may still arrive, so the next update must
    come after it.
    """

    def __init__(
        self, shared: SharedDisplay, platform: Platform, claimed: Claimed, silent: Callable[[], int]
    ) -> None:
        self._shared = shared
        self._platform = platform
        self._fence = claimed.fence
        self.chat: ChatAddress = claimed.session.chat
        self._silent = silent
        self._begun = shared.clock.monotonic()
        self._text = self._step = ""
        self._news = Bell()
        self._calling: asyncio.Task[Any] | None = None
        self._seen: Working | None = None
        """The sign (typing, draft, notice) that the chat shows now."""
        self._last = self._begun
        """The monotonic time of the last update."""
        self._told = False
        self._message: str | None = None
        """The platform's id of the notice, once it is known."""
        self._said = ""
        self._drafts = platform.capabilities.drafts
        """Whether this chat can show the reply so far as a draft."""
        self._task: asyncio.Task[None] | None = None
        self.go_on()

    # Called by the run.

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
        if self._is_long:
            await self._briefly(self._shared.close_notice(_key(self._fence), state))

    def drop(self) -> None:
        self.halt()
        if self._calling is not None:
            self._calling.cancel()
            self._calling = None
        self._shared.left(self)

    @property
    def is_seen(self) -> bool:
        """Whether the chat still shows a sign of this run."""
        return self._seen is not None

    async def clear(self) -> None:
        """Remove the sign of this run, unless a later run shows one in its place."""
        if self._seen is None:
            return
        self._seen = None
        if self._shared.is_newest(self) and self._shared.can_show(self._platform):
            await cast("Shows", self._platform).show(self.chat, Working(self._fence))

    # Called by its own task.

    async def _work(self) -> None:
        """Show the due updates until cancelled; stop when another run has the turn."""
        shared = self._shared
        while True:
            rung, pause = self._news.rung, 0.0
            try:
                if shared.can_show(self._platform):
                    await self._show_beside()
                    await self._show_message()
            except (Refused, StoreClosed):
                return
            except PlatformDown as down:
                pause = down.retry_after or AWAY
            except StoreFault as fault:
                shared.report(f"showing turn {self._fence.turn}", fault)
                pause = AWAY
            except Exception as fault:  # noqa: BLE001 - a fault of an adapter: only the display misses this
                shared.report(f"showing turn {self._fence.turn}", fault)
                return
            if not pause:
                await self._first(self._until_next(), self._news.since(rung))
                pause = self._until_free()
            if pause:
                await shared.clock.sleep(pause)

    @property
    def _elapsed(self) -> float:
        return self._shared.clock.monotonic() - self._begun

    @property
    def _is_long(self) -> bool:
        """Whether the run has worked long enough for a notice."""
        return self._elapsed * SECOND >= self._shared.settings.notice

    def _words(self, draft: str = "") -> str:
        facts = WorkFacts(round(self._elapsed * SECOND), self._silent(), self._step, draft)
        return still_working(facts, self._shared.settings, self._platform.capabilities.longest)

    def _until_next(self) -> float:
        """Seconds until the next update without news."""
        can = self._platform.capabilities
        waits = [LOOK_AGAIN if self._is_long else self._shared.settings.notice / SECOND - self._elapsed]
        if can.shows:
            waits.append(AT_FIRST - self._elapsed if self._elapsed < AT_FIRST else can.typing or LOOK_AGAIN)
        return max(min(waits), 0.01)

    def _until_free(self) -> float:
        """Seconds until the next update is allowed in this chat: news comes faster than people read."""
        if self._last == self._begun:
            return 0.0
        return max(0.0, self._last + self._platform.capabilities.show_every - self._shared.clock.monotonic())

    async def _show_beside(self) -> None:
        can, now = self._platform.capabilities, self._shared.clock.monotonic()
        draft = self._text if self._drafts else ""
        notice = self._words() if can.notices and self._is_long else ""
        if not can.shows or not (draft or notice or self._seen or self._elapsed >= AT_FIRST):
            return
        working = Working(self._fence, can.typing > 0, draft, notice)
        fades = can.typing > 0 and now - self._last >= can.typing
        if working != self._seen or fades:
            self._seen, self._last = working, now
            self._shared.shows(self)
            self._drafts &= await self._call(cast("Shows", self._platform).show(self.chat, working))

    async def _show_message(self) -> None:
        """Send one notice that work goes on, and keep it up to date where messages can be edited."""
        can = self._platform.capabilities
        if can.notices or not self._is_long:
            return
        if not self._told:
            words = self._words()
            owed = Owed(self.chat, _key(self._fence), (words,), OwedKind.NOTICE)
            self._told = await self._call(self._shared.store.tell_working(self._fence, owed))
            self._said = words
        elif can.edit:
            await self._edit(self._words("" if self._drafts else self._text))

    async def _edit(self, words: str) -> None:
        if words == self._said:
            return
        if self._message is None:
            self._message = await self._call(self._find_message())
        if self._message is not None:
            self._said, self._last = words, self._shared.clock.monotonic()
            await self._call(cast("Shows", self._platform).edit(self.chat, self._message, words))

    async def _find_message(self) -> str | None:
        for notice in await self._shared.store.live_notices():
            if notice.delivery.dedupe == _key(self._fence) and notice.delivery.state is DeliveryState.SENT:
                return notice.delivery.platform_id
        return None

    async def _call(self, work: Coroutine[Any, Any, T]) -> T:
        """Make a call that later updates must follow; if this task is cancelled, the call still goes on."""
        task = self._calling = asyncio.get_running_loop().create_task(work)
        try:
            return await asyncio.shield(task)
        finally:
            if task.done():
                self._calling = None

    async def _briefly(self, work: Coroutine[Any, Any, object]) -> None:
        """Wait only a moment for work that may be left out, so that it delays no answer for longer."""
        task = await self._first(MOMENT, work)
        if not task.done() or task.cancelled():
            return
        fault = task.exception()
        if fault is not None and not isinstance(fault, (PlatformDown, StoreFault, Refused, StoreClosed)):
            self._shared.report(f"showing turn {self._fence.turn}", fault)

    async def _first(self, seconds: float, work: Coroutine[Any, Any, object]) -> asyncio.Task[object]:
        """Wait until the work is done or the time is up, then cancel both without waiting."""
        create = asyncio.get_running_loop().create_task
        task, timer = create(work), create(_sleep(self._shared.clock, seconds))
        try:
            await asyncio.wait([task, timer], return_when=asyncio.FIRST_COMPLETED)
        finally:
            task.cancel()
            timer.cancel()
        return task


def _key(fence: Fence) -> str:
    return working_key(fence.turn, fence.generation)


async def _done(task: asyncio.Task[Any]) -> None:
    """Return when the task is done, and read its exception: its starter may have been cancelled."""
    await asyncio.wait([task])
    if not task.cancelled():
        task.exception()


async def _sleep(clock: Clock, seconds: float) -> None:
    await clock.sleep(seconds)
