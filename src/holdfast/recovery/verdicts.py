"""What the ledger writes for a decision: what the person is told, asked or given, and the owner is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from holdfast.model import (
    OPEN_ENDED,
    UNREADABLE,
    AskedBy,
    ChatAddress,
    Entry,
    Owed,
    OwedKind,
    QuestionId,
    QuestionKind,
    Replied,
    StopKind,
    TurnId,
    answer_key,
)
from holdfast.policy.ages import within
from holdfast.policy.delivery.parts import Longest, parts_for
from holdfast.policy.recovery.outcome import Decision, Outcome, decide, told_once
from holdfast.policy.settings import HOUR, RecoverySettings
from holdfast.policy.turn.partials import CUT_OFF_HERE, STOPPED_HERE, kept_reply
from holdfast.policy.turn.steps import reply_text
from holdfast.policy.turn.views import view
from holdfast.store import EntriesOf, Judged, NewQuestion, StaleTurn, Verdict, keep_nothing

from .facts import Outside, counts_from, facts_of, true_now

CONTINUE_OR_DROP = ("continue", "drop")
CONTINUE_EXPIRES = HOUR


UNREADABLE_ANSWER = (
    "I had an answer to this, but its record is damaged and cannot be read. I do not run the work again by "
    "myself; ask once more if you still want it."
)


class Judging:
    """Judges pages of turns, one after another; a suspect that resumes takes the lane for all after it.

    A crash may leave thousands of turns that differ only in their sessions and times. It decides once about
    all alike turns that resume: no row keeps the facts of such a decision, so they may share it.
    """

    def __init__(
        self,
        outside: Outside,
        settings: RecoverySettings,
        longest: Longest,
        owner: ChatAddress | None,
        decided: dict[TurnId, Decision],
        only: frozenset[Outcome] = frozenset(Outcome),
    ) -> None:
        """Each decision goes into `decided`; turns whose outcome is not in `only` stay as they are."""
        self._outside = outside
        self._settings = settings
        self._longest = longest
        self._owner = owner
        self._decided = decided
        self._only = only
        self._go_on: dict[tuple[object, ...], Decision] = {}

    def __call__(self, page: Sequence[StaleTurn], now: int, entries_of: EntriesOf) -> Judged:
        go_on, others = [], []
        for stale in page:
            decision = self._decide(stale, now)
            if decision.row.outcome not in self._only:
                continue
            self._decided[stale.turn] = decision
            if decision.row.outcome is Outcome.RESUME:
                go_on.append(stale)
            elif decision.row.outcome is Outcome.DONE:
                answer = _answer(stale, entries_of(stale.turn), self._longest)
                others.append(Verdict(stale, decision, (answer,)))
            else:
                others.append(_verdict(stale, decision, now, self._owner, self._longest))
        return Judged(go_on, others)

    def _decide(self, stale: StaleTurn, now: int) -> Decision:
        progress_at = counts_from(stale, self._outside, now)
        fresh = within(self._settings.window, now, progress_at, stale.quarantined)
        true = true_now(stale, self._outside)
        alike = (fresh, true, stale.stands)
        decision = self._go_on.get(alike)
        if decision is None:
            decision = decide(facts_of(stale, self._outside, true, progress_at), now, self._settings)
            if decision.outcome is Outcome.RESUME:
                self._go_on[alike] = decision
                if stale.stands.strikes >= self._settings.suspect_strikes:
                    self._outside, self._go_on = replace(self._outside, lane_taken=True), {}
        return decision


def _verdict(
    stale: StaleTurn, decision: Decision, now: int, owner: ChatAddress | None, longest: Longest
) -> Verdict:
    """What the person is told or asked, once per interruption by its key; the owner is told of a park."""
    if decision.outcome is Outcome.ASK:
        return Verdict(stale, decision, ask=_question(stale, decision, now, longest))
    keep = partial(_partial, stale, longest) if _may_see(stale, decision) else keep_nothing
    if not decision.told:
        return Verdict(stale, decision, keep=keep)
    if decision.outcome is Outcome.PARK:
        return Verdict(stale, decision, _park(stale, decision, owner, longest), keep=keep)
    parts = parts_for(decision.sentence, longest(stale.chat))
    told = Owed(stale.chat, _once(stale, decision), parts, OwedKind.NOTICE)
    return Verdict(stale, decision, (told,), keep=keep)


def _may_see(stale: StaleTurn, decision: Decision) -> bool:
    """Whether the chat keeps what it saw of a reply: not after `/forget`, nor for a person without access."""
    return stale.stands.stop is not StopKind.FORGET and decision.facts.sender_allowed


def _partial(stale: StaleTurn, longest: Longest, text: str) -> tuple[Owed, ...]:
    """What the chat is owed of a reply that will not be finished."""
    mark = CUT_OFF_HERE if stale.stands.stop is None else STOPPED_HERE
    return kept_reply(stale.chat, stale.turn, text, longest, mark, stale.message_id)


def _is_damaged(entry: Entry) -> bool:
    """Whether a reply is unreadable as a whole; an answer may merely quote `UNREADABLE`."""
    return isinstance(entry.body, Replied) and entry.body.text == UNREADABLE


def _answer(stale: StaleTurn, entries: tuple[Entry, ...], longest: Longest) -> Owed:
    """The complete answer of a turn, owed under the key that the turn's own end would have used."""
    text = reply_text(view(entries))
    if not text or (UNREADABLE in text and any(map(_is_damaged, entries))):
        text = UNREADABLE_ANSWER
    parts = parts_for(text, longest(stale.chat))
    return Owed(stale.chat, answer_key(stale.turn), parts, reply_to=stale.message_id)


def _once(stale: StaleTurn, decision: Decision) -> str:
    return told_once(decision.row, stale.turn, stale.stands.interruptions)


def _question(stale: StaleTurn, decision: Decision, now: int, longest: Longest) -> NewQuestion:
    once, words, by = _once(stale, decision), decision.sentence, AskedBy(decision.reason)
    parts = parts_for(words, longest(stale.chat))
    owed = Owed(stale.chat, once, parts, OwedKind.QUESTION, options=CONTINUE_OR_DROP)
    return NewQuestion(
        QuestionId(once),
        QuestionKind.CONTINUE,
        None,
        words,
        OPEN_ENDED if by is AskedBy.SAFE_MODE else now + CONTINUE_EXPIRES,
        owed,
        asked_of=stale.sender,
        options=CONTINUE_OR_DROP,
        asked_by=by,
    )


def _park(
    stale: StaleTurn, decision: Decision, owner: ChatAddress | None, longest: Longest
) -> tuple[Owed, ...]:
    """The notice of a park, with a button that resumes the session, to its chat and to the owner."""
    resume = f"/resume {stale.session}"
    parts = parts_for(f"{decision.sentence} For the owner: {resume}", longest(stale.chat))
    told = Owed(stale.chat, _once(stale, decision), parts, OwedKind.NOTICE, options=(resume,))
    if owner is None:
        return (told,)
    held = " Its messages wait until you say /release there or `holdfast release`." * decision.holds_messages
    words = (
        f"I parked a conversation ({stale.key}, session {stale.session}). What its chat was told: "
        f"“{decision.sentence}”{held} `holdfast resume {stale.session}` lets it go on."
    )
    parts = parts_for(words, longest(owner))
    to_owner = Owed(owner, f"owner:park:{stale.turn}", parts, OwedKind.NOTICE, options=(resume,))
    return (told, to_owner)
