"""A decision as what is written back: what the person is told, asked or given, and what the owner hears."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.model import ChatAddress, Owed, OwedKind, QuestionId, QuestionKind, Tail, TurnId, answer_key
from holdfast.policy.parts import Longest, parts_for
from holdfast.policy.recovery import Decision, Outcome
from holdfast.policy.settings import HOUR
from holdfast.policy.steps import reply_text
from holdfast.policy.views import view
from holdfast.store import Ask, StaleTurn, Store, Verdict

CONTINUE_OR_DROP = ("continue", "drop")
CONTINUE_EXPIRES = HOUR


UNREADABLE_ANSWER = (
    "I had an answer to this, and it cannot be read any more. Nothing is run again by itself; ask once more "
    "if you still want it."
)


def write_verdict(stale: StaleTurn, decision: Decision, now: int, owner: ChatAddress | None) -> Verdict:
    """What the person is told or asked, once per interruption by its key; the owner hears of a park."""
    if decision.outcome is Outcome.ASK:
        return Verdict(stale, decision, ask=_question(stale, decision, now))
    if not decision.told:
        return Verdict(stale, decision)
    owe = [Owed(stale.chat, _once(stale, decision), (decision.row.sentence,), OwedKind.NOTICE)]
    if decision.outcome is Outcome.PARK and owner is not None:
        owe.append(_for_the_owner(stale, decision, owner))
    return Verdict(stale, decision, tuple(owe))


def without_owner(verdict: Verdict, owner: ChatAddress | None) -> Verdict:
    """The same verdict with nothing in it for the owner."""
    return verdict._replace(
        owe=tuple(owed for owed in verdict.owe if owed.chat != owner or owed.chat == verdict.stale.chat)
    )


async def answers_to(store: Store, page: Sequence[StaleTurn], longest: Longest) -> Mapping[TurnId, Owed]:
    """What turns whose answer was complete owe for it, under the key their own end would have used."""
    answered = {stale.turn: stale for stale in page if stale.tail is Tail.ANSWER}
    if not answered:
        return {}
    entries = await store.entries_of(tuple(answered))
    return {
        turn: Owed(
            stale.chat,
            answer_key(turn),
            parts_for(reply_text(view(entries[turn])) or UNREADABLE_ANSWER, longest(stale.chat)),
            reply_to=stale.message_id,
        )
        for turn, stale in answered.items()
    }


def _once(stale: StaleTurn, decision: Decision) -> str:
    return f"{decision.reason}:{stale.turn}:{stale.interruptions}"


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
