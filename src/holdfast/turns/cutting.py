"""Carrying out a cut: the one place where a run ends before its turn has come to rest by itself."""

from __future__ import annotations

from holdfast.model import Claimed, Owed, StopKind, Tail, TurnState
from holdfast.policy.parts import Longest
from holdfast.policy.settings import MINUTE, TurnSettings
from holdfast.policy.steps import FinishReason, gave_up
from holdfast.store import Step, Store

from .cuts import Cut, CutKind
from .draft import Draft
from .hands import Hands
from .keeper import Keeper
from .live import Live
from .telling import owed_for
from .tool_work import ToolWork


class Cutting:
    """How one run is cut. A stronger cut may break in on a weaker one while that waits."""

    def __init__(
        self,
        store: Store,
        claimed: Claimed,
        keeper: Keeper,
        draft: Draft,
        hands: Hands,
        live: Live,
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
                await self._let_tools_end()
                await self._cancelled(cut.reason or StopKind.STOP)
            case CutKind.STUCK:
                await self._let_tools_end()
                await self._gave_up()

    async def _mark(self, reason: str) -> None:
        """Keep what was produced, then mark the turn; neither waits for a machine that is at fault."""
        self._draft.take(*self._tools.results())
        produced = self._draft.produced
        if produced != Step():
            await self._keeper.once(lambda: self._store.record(self._fence, produced))
        await self._keeper.once(lambda: self._store.interrupt(self._fence, reason))

    async def _let_tools_end(self) -> None:
        """Cancel the tools and give them a moment: what still comes is their result, the rest is unknown."""
        await self._live.rest()
        await self._hands.end(self._settings.grace)
        self._draft.take(*self._tools.results())

    async def _cancelled(self, why: str) -> None:
        (turn,) = await self._keeper.surely(lambda: self._store.turns(self._fence.session, 1))
        await self._finish(TurnState.CANCELLED, turn.stop or why)

    async def _gave_up(self) -> None:
        minutes = self._settings.progress.abort // MINUTE
        end = gave_up(FinishReason.NO_PROGRESS, f"no progress for {minutes} minutes")
        await self._finish(end.state, FinishReason.NO_PROGRESS, owed_for(self._claimed, end, self._longest))

    async def _finish(self, state: TurnState, why: str, *owed: Owed) -> None:
        results, step = self._draft.results, self._draft.unsaved
        tail = Tail.WORK if results else None
        begun = self._draft.begun
        if begun != Step():
            # A process that was started is known before its turn is over.
            await self._keeper.surely(lambda: self._store.record(self._fence, begun))
        await self._keeper.surely(
            lambda: self._store.finish(self._fence, state, results, (*step.owe, *owed), why, tail, step.usage)
        )
