"""Carrying out a cut: the one place where a run ends before its turn has come to rest by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from holdfast.model import Claimed, Owed, Replied, StopKind, StopReason, Tail, TurnState
from holdfast.policy.delivery.parts import Longest
from holdfast.policy.intake.admission import Refusal
from holdfast.policy.settings import MINUTE, TurnSettings
from holdfast.policy.turn.partials import CUT_OFF_HERE, STOPPED_HERE
from holdfast.policy.turn.steps import FinishReason, gave_up, reply_text
from holdfast.store import Step, Store

from .committer import Committer
from .cut import Cut, CutKind
from .display.port import RunDisplayPort
from .draft import Draft
from .final_reply import owed_for, partial_for
from .partials import Partials
from .run_tasks import RunTasks
from .tools.in_flight import ToolWork


class CutWork:
    """How one run is cut. A stronger cut may break in on a weaker one while that waits."""

    def __init__(
        self,
        store: Store,
        claimed: Claimed,
        keeper: Committer,
        draft: Draft,
        hands: RunTasks,
        live: RunDisplayPort,
        partials: Partials,
        tools: ToolWork,
        settings: TurnSettings,
        longest: Longest,
    ) -> None:
        self._store = store
        self._claimed = claimed
        self._fence = claimed.fence
        self._keeper = keeper
        self._draft = draft
        self._hands = hands
        self._live = live
        self._partials = partials
        self._tools = tools
        self._settings = settings
        self._longest = longest

    async def carry_out(self, cut: Cut, begun: bool) -> None:
        """End the run as the cut asks; `begun` says whether a model call or a tool has started in it."""
        self._hands.carrying_out(cut)
        self._live.halt()
        match cut.kind:
            case CutKind.LOST:
                await self._hands.end(self._settings.grace)
            case CutKind.DRAIN if begun:
                await self._mark(cut.reason)
                # Marked first: should the cancelling hang or kill us, the ledger knows.
                await self._hands.end(self._settings.grace)
            case CutKind.DRAIN:
                await self._keeper.once(lambda: self._store.put_back(self._fence))
            case CutKind.STOP:
                await self._say_stopped(self._let_tools_end())
                await self._cancelled(cut.reason or StopKind.STOP)
            case CutKind.STUCK:
                await self._let_tools_end()
                await self._gave_up()

    async def _say_stopped(self, ending: Coroutine[Any, Any, None]) -> None:
        """Let people see that it is stopped while its tools are given their time to end."""
        said = asyncio.ensure_future(self._live.stopped())
        try:
            await ending
            await said
        finally:
            said.cancel()

    async def _mark(self, reason: str) -> None:
        """Keep what was produced, then mark the turn; neither waits for a machine that is at fault."""
        self._draft.take(*self._tools.results())
        produced = self._draft.produced
        if produced != Step():
            await self._keeper.once(lambda: self._store.record(self._fence, produced))
        shown = self._partials.close()
        if shown:
            await self._keeper.once(lambda: self._store.progress(self._fence, shown))
        await self._keeper.once(lambda: self._store.interrupt(self._fence, reason))

    async def _let_tools_end(self) -> None:
        """Cancel the tools and give them a moment: what still comes is their result, the rest is unknown."""
        await self._live.rest()
        shown = self._partials.close()
        if shown:
            # The process may die while it waits for the tools.
            await self._keeper.once(lambda: self._store.progress(self._fence, shown))
        await self._hands.end(self._settings.grace)
        self._draft.take(*self._tools.results())

    async def _cancelled(self, why: str) -> None:
        (turn,) = await self._keeper.surely(lambda: self._store.turns(self._fence.session, 1))
        kind = turn.stop or why
        # What is to be forgotten, and what a person may not ask for any more, is not given to the chat.
        told = kind not in (StopKind.FORGET, Refusal.NOT_ALLOWED)
        await self._finish(TurnState.CANCELLED, kind, self._partial(STOPPED_HERE) if told else ())

    async def _gave_up(self) -> None:
        minutes = self._settings.progress.abort // MINUTE
        end = gave_up(FinishReason.NO_PROGRESS, f"no progress for {minutes} minutes")
        owed = owed_for(self._claimed, end, self._longest)
        await self._finish(end.state, FinishReason.NO_PROGRESS, (*self._partial(CUT_OFF_HERE), owed))

    def _partial(self, mark: str) -> tuple[Owed, ...]:
        """What the person saw of the reply in hand, with the parts of it that it continues."""
        text = (reply_text(self._draft.view) or self._draft.unsaved_words) + self._partials.reply
        return partial_for(self._claimed, text, self._longest, mark)

    async def _finish(self, state: TurnState, why: str, owed: tuple[Owed, ...]) -> None:
        results, step = self._draft.results, self._draft.unsaved
        written = self._draft.unsaved_words or self._partials.reply
        stopped = (Replied(written, StopReason.STOPPED),) if written.strip() else ()
        tail = Tail.PARTIAL if stopped else Tail.WORK if results else None
        if self._draft.replying:
            # The next message is told so: what the reply did is unknown.
            tail = Tail.REPLYING
        begun = self._draft.begun
        if begun != Step():
            # A process that was started is known before its turn is over.
            await self._keeper.surely(lambda: self._store.record(self._fence, begun))
        outputs = tuple(one for one in self._partials.close() if one.call is not None)
        if outputs:
            # The end settles these calls as unknown, with the output that is recorded.
            await self._keeper.surely(lambda: self._store.progress(self._fence, outputs))
        append = (*results, *stopped)
        await self._keeper.surely(
            lambda: self._store.finish(self._fence, state, append, (*step.owe, *owed), why, tail, step.usage)
        )
