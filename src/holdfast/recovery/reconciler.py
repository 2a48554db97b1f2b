"""Looking for what dead owners left, and writing back what becomes of it. It runs nothing itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from holdfast.clock import Clock
from holdfast.model import Owed, OwedKind, QuestionId, QuestionKind
from holdfast.policy.recovery import Decision, Outcome
from holdfast.policy.settings import HOUR, RecoverySettings
from holdfast.store import Ask, StaleTurn, Store, Verdict

from .facts import Outside, judge_stale

PAGE = 500
CONTINUE_OR_DROP = ("continue", "drop")
CONTINUE_EXPIRES = HOUR


@dataclass(frozen=True, slots=True)
class Reconciler:
    """One round is harmless at any time and any number of times: every write is guarded."""

    store: Store
    clock: Clock
    settings: RecoverySettings
    outside: Callable[[], Outside]

    async def round(self) -> int:
        """Look at everything interrupted once; returns how many turns were written."""
        while await self.store.interrupt_orphans(PAGE) == PAGE:
            pass
        await self.store.doubt_orphans()
        written, after = 0, None
        while page := await self.store.stale_turns(after, PAGE):
            verdicts = await self._judge(page)
            written += len(await self.store.settle_stale(verdicts))
            after = page[-1].turn
        return written

    async def _judge(self, page: tuple[StaleTurn, ...]) -> tuple[Verdict, ...]:
        """Decide about a page; the first suspect that goes takes the lane for those after it."""
        outside = replace(self.outside(), lane_taken=await self.store.lane_taken())
        now = self.clock.now()
        verdicts = []
        for stale in page:
            decision = judge_stale(stale, now, outside, self.settings)
            if decision.outcome is Outcome.RESUME and stale.strikes >= self.settings.suspect_strikes:
                outside = replace(outside, lane_taken=True)
            verdicts.append(self._verdict(stale, decision, now))
        return tuple(verdicts)

    def _verdict(self, stale: StaleTurn, decision: Decision, now: int) -> Verdict:
        """What the person is told or asked, once per interruption by its key."""
        once = f"{decision.reason}:{stale.turn}:{stale.interruptions}"
        if decision.outcome is Outcome.ASK:
            owed = Owed(
                stale.chat, once, (decision.row.sentence,), OwedKind.QUESTION, options=CONTINUE_OR_DROP
            )
            ask = Ask(
                QuestionId(once),
                QuestionKind.CONTINUE,
                None,
                decision.row.sentence,
                now + CONTINUE_EXPIRES,
                owed,
                asked_of=stale.sender,
                options=CONTINUE_OR_DROP,
            )
            return Verdict(stale, decision, ask=ask)
        if not decision.told:
            return Verdict(stale, decision)
        notice = Owed(stale.chat, once, (decision.row.sentence,), OwedKind.NOTICE)
        return Verdict(stale, decision, owe=(notice,))
