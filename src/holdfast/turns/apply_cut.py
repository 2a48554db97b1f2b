"""Carry out a cut: the only place that ends a run before its turn ends or waits by itself."""

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
    """Cuts one run. A stronger cut may break in on a weaker one while that waits."""

    def __init__(
        self,
        store: Store,
        claimed: Claimed,
        committer: Committer,
        draft: Draft,
        run_tasks: RunTasks,
        display: RunDisplayPort,
        partials: Partials,
        tools: ToolWork,
        settings: TurnSettings,
        longest: Longest,
    ) -> None:
        self._store = store
        self._claimed = claimed
        self._fence = claimed.fence
        self._committer = committer
        self._draft = draft
        self._run_tasks = run_tasks
        self._display = display
        self._partials = partials
        self._tools = tools
        self._settings = settings
        self._longest = longest

    async def carry_out(self, cut: Cut, begun: bool) -> None:
        """End the run as the cut asks; `begun` says whether a model call or a tool has started in it."""
        self._run_tasks.carrying_out(cut)
        self._display.halt()
        match cut.kind:
            case CutKind.LOST:
                await self._run_tasks.end(self._settings.grace)
            case CutKind.DRAIN if begun:
                await self._mark(cut.reason)
                # Mark first: if cancelling hangs or the process dies, the ledger has the interruption.
                await self._run_tasks.end(self._settings.grace)
            case CutKind.DRAIN:
                await self._committer.once(lambda: self._store.put_back(self._fence))
            case CutKind.STOP:
                await self._say_stopped(self._let_tools_end())
                await self._cancelled(cut.reason or StopKind.STOP)
            case CutKind.STUCK:
                await self._let_tools_end()
                await self._gave_up()

    async def _say_stopped(self, ending: Coroutine[Any, Any, None]) -> None:
        """Show people at once that the run is stopped, while its tools get their time to end."""
        said = asyncio.ensure_future(self._display.stopped())
        try:
            await ending
            await said
        finally:
            said.cancel()

    async def _mark(self, reason: str) -> None:
        """Keep the output so far, then mark the turn; neither write is retried."""
        self._draft.take(*self._tools.results())
        produced = self._draft.produced
        if produced != Step():
            await self._committer.once(lambda: self._store.record(self._fence, produced))
        shown = self._partials.close()
        if shown:
            await self._committer.once(lambda: self._store.progress(self._fence, shown))
        await self._committer.once(lambda: self._store.interrupt(self._fence, reason))

    async def _let_tools_end(self) -> None:
        """Cancel the tools and give them a moment; a call without a result by then is unknown."""
        await self._display.rest()
        shown = self._partials.close()
        if shown:
            # Record this first: the process may die while it waits for the tools.
            await self._committer.once(lambda: self._store.progress(self._fence, shown))
        await self._run_tasks.end(self._settings.grace)
        self._draft.take(*self._tools.results())

    async def _cancelled(self, why: str) -> None:
        (turn,) = await self._committer.surely(lambda: self._store.turns(self._fence.session, 1))
        kind = turn.stop or why
        # The chat gets no partial reply if it is to be forgotten, or if its person is no longer allowed.
        told = kind not in (StopKind.FORGET, Refusal.NOT_ALLOWED)
        await self._finish(TurnState.CANCELLED, kind, self._partial(STOPPED_HERE) if told else ())

    async def _gave_up(self) -> None:
        minutes = self._settings.progress.abort // MINUTE
        end = gave_up(FinishReason.NO_PROGRESS, f"no progress for {minutes} minutes")
        owed = owed_for(self._claimed, end, self._longest)
        await self._finish(end.state, FinishReason.NO_PROGRESS, (*self._partial(CUT_OFF_HERE), owed))

    def _partial(self, mark: str) -> tuple[Owed, ...]:
        """The part of the unfinished reply that the person saw, with the earlier parts it continues."""
        text = (reply_text(self._draft.view) or self._draft.unsaved_words) + self._partials.reply
        return partial_for(self._claimed, text, self._longest, mark)

    async def _finish(self, state: TurnState, why: str, owed: tuple[Owed, ...]) -> None:
        results, step = self._draft.results, self._draft.unsaved
        written = self._draft.unsaved_words or self._partials.reply
        stopped = (Replied(written, StopReason.STOPPED),) if written.strip() else ()
        tail = Tail.PARTIAL if stopped else Tail.WORK if results else None
        if self._draft.replying:
            # The next turn gets a note: the effects of this reply are unknown.
            tail = Tail.REPLYING
        begun = self._draft.begun
        if begun != Step():
            # The ledger must know a started process before its turn ends.
            await self._committer.surely(lambda: self._store.record(self._fence, begun))
        outputs = tuple(one for one in self._partials.close() if one.call is not None)
        if outputs:
            # The end of the turn settles these calls as unknown, with their recorded output.
            await self._committer.surely(lambda: self._store.progress(self._fence, outputs))
        append = (*results, *stopped)
        await self._committer.surely(
            lambda: self._store.finish(self._fence, state, append, (*step.owe, *owed), why, tail, step.usage)
        )
