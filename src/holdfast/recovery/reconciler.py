"""Looking for what dead owners left, and writing back what becomes of it. It runs nothing itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

from holdfast.clock import Clock
from holdfast.model import Owed, OwedKind, QuestionId, QuestionKind, TurnId, answer_key
from holdfast.policy.recovery import Decision, Outcome
from holdfast.policy.settings import HOUR, RecoverySettings
from holdfast.policy.steps import reply_text
from holdfast.policy.views import view
from holdfast.store import Ask, StaleTurn, Store, Verdict

from .facts import Outside, judge_stale

PAGE = 500
"""Turns written in one commit: others' commits come in between."""
READ_AHEAD = 4 * PAGE
"""Turns read at once: every commit makes the reader look its pages up anew."""
CONTINUE_OR_DROP = ("continue", "drop")
CONTINUE_EXPIRES = HOUR


@dataclass(frozen=True, slots=True)
class Reconciler:
    """One round is harmless at any time and any number of times: every write is guarded."""

    store: Store
    clock: Clock
    settings: RecoverySettings
    outside: Callable[[], Outside]

    async def round(self) -> Counter[Outcome]:
        """Look at everything interrupted once, at what dead owners left first; what became of how many."""
        while await self.store.interrupt_orphans(PAGE) == PAGE:
            pass
        await self.store.doubt_orphans()
        return await self.settle_interrupted()

    async def settle_interrupted(self) -> Counter[Outcome]:
        """Decide about all interrupted work, page by page; other sessions' commits come in between."""
        outside = replace(self.outside(), lane_taken=await self.store.lane_taken())
        outcomes: Counter[Outcome] = Counter()
        after: TurnId | None = None
        while found := await self.store.stale_turns(after, READ_AHEAD):
            after = found[-1].turn
            for page in (found[start : start + PAGE] for start in range(0, len(found), PAGE)):
                verdicts, outside = self._judge(page, outside)
                verdicts = tuple([await self._with_answer(verdict) for verdict in verdicts])
                written = set(await self.store.settle_stale(verdicts))
                outcomes.update(v.decision.outcome for v in verdicts if v.stale.turn in written)
        return outcomes

    async def _with_answer(self, verdict: Verdict) -> Verdict:
        """Work whose answer was complete owes that answer, under the key its own end would have used."""
        if verdict.decision.outcome is not Outcome.DONE:
            return verdict
        stale = verdict.stale
        entries = [e for e in await self.store.transcript(stale.session) if e.turn == stale.turn]
        answer = Owed(stale.chat, answer_key(stale.turn), (reply_text(view(entries)),))
        return verdict._replace(owe=(answer,))

    def _judge(self, page: tuple[StaleTurn, ...], outside: Outside) -> tuple[tuple[Verdict, ...], Outside]:
        """Decide about a page; the first suspect that goes takes the lane for those after it."""
        now = self.clock.now()
        verdicts = []
        for stale in page:
            decision = judge_stale(stale, now, outside, self.settings)
            if decision.outcome is Outcome.RESUME and stale.strikes >= self.settings.suspect_strikes:
                outside = replace(outside, lane_taken=True)
            verdicts.append(self._verdict(stale, decision, now))
        return tuple(verdicts), outside

    def _verdict(self, stale: StaleTurn, decision: Decision, now: int) -> Verdict:
        """What the person is told or asked, once per interruption by its key."""
        asks = decision.outcome is Outcome.ASK
        if not (asks or decision.told):
            return Verdict(stale, decision)
        once = f"{decision.reason}:{stale.turn}:{stale.interruptions}"
        if asks:
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
        notice = Owed(stale.chat, once, (decision.row.sentence,), OwedKind.NOTICE)
        return Verdict(stale, decision, owe=(notice,))
