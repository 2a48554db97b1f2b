"""Looking for what dead owners left, and writing back what becomes of it. It runs nothing itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from holdfast.clock import Clock
from holdfast.model import Owed, OwedKind, QuestionId, QuestionKind, Tail, TurnId, answer_key
from holdfast.policy.recovery import Decision, Outcome
from holdfast.policy.settings import HOUR, RecoverySettings
from holdfast.policy.steps import reply_text
from holdfast.policy.views import view
from holdfast.store import Ask, StaleTurn, Store, Verdict

from .facts import Outside, judge_stale

PAGE = 500
"""Turns read at once and written in one commit: others' commits come in between."""
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
        while page := await self.store.stale_turns(after, PAGE):
            after = page[-1].turn
            verdicts, outside = self._judge(page, await self._answers(page), outside)
            written = set(await self.store.settle_stale(verdicts))
            outcomes.update([v.decision.row.outcome for v in verdicts if v.stale.turn in written])
        return outcomes

    async def _answers(self, page: tuple[StaleTurn, ...]) -> dict[TurnId, Owed]:
        """Work whose answer is complete owes that answer, under the key its own end would have used."""
        answered = {stale.turn: stale.chat for stale in page if stale.tail is Tail.ANSWER}
        if not answered:
            return {}
        entries = await self.store.entries_of(tuple(answered))
        return {
            turn: Owed(chat, answer_key(turn), (reply_text(view(entries[turn])),))
            for turn, chat in answered.items()
        }

    def _judge(
        self, page: tuple[StaleTurn, ...], answers: Mapping[TurnId, Owed], outside: Outside
    ) -> tuple[tuple[Verdict, ...], Outside]:
        """Decide about a page; the first suspect that goes takes the lane for those after it."""
        now = self.clock.now()
        verdicts = []
        for stale in page:
            decision = judge_stale(stale, now, outside, self.settings)
            outcome = decision.row.outcome
            if outcome is Outcome.RESUME:
                verdicts.append(Verdict(stale, decision))
                if stale.strikes >= self.settings.suspect_strikes:
                    outside = replace(outside, lane_taken=True)
            elif outcome is Outcome.DONE:
                verdicts.append(Verdict(stale, decision, (answers[stale.turn],)))
            else:
                verdicts.append(_verdict(stale, decision, now))
        return tuple(verdicts), outside


def _verdict(stale: StaleTurn, decision: Decision, now: int) -> Verdict:
    """What the person is told or asked, once per interruption by its key."""
    row = decision.row
    once = f"{row.name}:{stale.turn}:{stale.interruptions}"
    if row.outcome is Outcome.ASK:
        owed = Owed(stale.chat, once, (row.sentence,), OwedKind.QUESTION, options=CONTINUE_OR_DROP)
        ask = Ask(
            QuestionId(once),
            QuestionKind.CONTINUE,
            None,
            row.sentence,
            now + CONTINUE_EXPIRES,
            owed,
            asked_of=stale.sender,
            options=CONTINUE_OR_DROP,
        )
        return Verdict(stale, decision, ask=ask)
    if row.told:
        return Verdict(stale, decision, (Owed(stale.chat, once, (row.sentence,), OwedKind.NOTICE),))
    return Verdict(stale, decision)
