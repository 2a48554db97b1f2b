"""A decision as what is written back: what the person is told, asked or given, and what the owner hears."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from holdfast.model import (
    ChatAddress,
    Entry,
    Owed,
    OwedKind,
    QuestionId,
    QuestionKind,
    TurnId,
    answer_key,
)
from holdfast.policy.ages import within
from holdfast.policy.parts import Longest, parts_for
from holdfast.policy.recovery import Decision, Outcome, decide
from holdfast.policy.settings import HOUR, RecoverySettings
from holdfast.policy.steps import reply_text
from holdfast.policy.views import view
from holdfast.store import Ask, EntriesOf, Judged, StaleTurn, Verdict

from .facts import Outside, facts_of, true_now

CONTINUE_OR_DROP = ("continue", "drop")
CONTINUE_EXPIRES = HOUR


UNREADABLE_ANSWER = (
    "I had an answer to this, and it cannot be read any more. Nothing is run again by itself; ask once more "
    "if you still want it."
)


class Judging:
    """Judges one page after another; a suspect that goes on takes the lane for all after it.

    A crash leaves thousands that differ only in whose they are and in their times. About those of them that
    go on it decides once: their facts are written down nowhere, so they may share the decision on the first.
    """

    def __init__(
        self,
        outside: Outside,
        settings: RecoverySettings,
        longest: Longest,
        owner: ChatAddress | None,
        decided: dict[TurnId, Decision],
    ) -> None:
        """What was decided about each turn is put into `decided`."""
        self._outside = outside
        self._settings = settings
        self._longest = longest
        self._owner = owner
        self._decided = decided
        self._go_on: dict[tuple[object, ...], Decision] = {}

    def __call__(self, page: Sequence[StaleTurn], now: int, entries_of: EntriesOf) -> Judged:
        go_on, others = [], []
        for stale in page:
            decision = self._decided[stale.turn] = self._decide(stale, now)
            if decision.row.outcome is Outcome.RESUME:
                go_on.append(stale)
            elif decision.row.outcome is Outcome.DONE:
                answer = _answer(stale, entries_of(stale.turn), self._longest)
                others.append(Verdict(stale, decision, (answer,)))
            else:
                others.append(_told(stale, decision, now, self._owner))
        return Judged(go_on, others)

    def _decide(self, stale: StaleTurn, now: int) -> Decision:
        fresh = within(self._settings.window, now, stale.progress_at, stale.quarantined)
        true = true_now(stale, self._outside)
        alike = (fresh, true, stale.stands)
        decision = self._go_on.get(alike)
        if decision is None:
            decision = decide(facts_of(stale, self._outside, true), now, self._settings)
            if decision.outcome is Outcome.RESUME:
                self._go_on[alike] = decision
                if stale.stands.strikes >= self._settings.suspect_strikes:
                    self._outside, self._go_on = replace(self._outside, lane_taken=True), {}
        return decision


def _told(stale: StaleTurn, decision: Decision, now: int, owner: ChatAddress | None) -> Verdict:
    """What the person is told or asked, once per interruption by its key; the owner hears of a park."""
    if decision.outcome is Outcome.ASK:
        return Verdict(stale, decision, ask=_question(stale, decision, now))
    if not decision.told:
        return Verdict(stale, decision)
    owe = [Owed(stale.chat, _once(stale, decision), (decision.row.sentence,), OwedKind.NOTICE)]
    if decision.outcome is Outcome.PARK and owner is not None:
        owe.append(_for_the_owner(stale, decision, owner))
    return Verdict(stale, decision, tuple(owe))


def _answer(stale: StaleTurn, entries: tuple[Entry, ...], longest: Longest) -> Owed:
    """What a turn whose answer was complete owes for it, under the key its own end would have used."""
    text = reply_text(view(entries)) or UNREADABLE_ANSWER
    parts = parts_for(text, longest(stale.chat))
    return Owed(stale.chat, answer_key(stale.turn), parts, reply_to=stale.message_id)


def _once(stale: StaleTurn, decision: Decision) -> str:
    return f"{decision.reason}:{stale.turn}:{stale.stands.interruptions}"


def _question(stale: StaleTurn, decision: Decision, now: int) -> Ask:
    once, words = _once(stale, decision), decision.row.sentence
    owed = Owed(stale.chat, once, (words,), OwedKind.QUESTION, options=CONTINUE_OR_DROP)
    return Ask(
        QuestionId(once),
        QuestionKind.CONTINUE,
        None,
        words,
        now + CONTINUE_EXPIRES,
        owed,
        asked_of=stale.sender,
        options=CONTINUE_OR_DROP,
    )


def _for_the_owner(stale: StaleTurn, decision: Decision, owner: ChatAddress) -> Owed:
    words = (
        f"I parked a conversation ({stale.key}, session {stale.session}): {decision.row.found}. All of it is "
        f"kept; /resume there, or `holdfast resume {stale.session}`, lets it go on."
    )
    return Owed(owner, f"owner:park:{stale.turn}", (words,), OwedKind.NOTICE)
