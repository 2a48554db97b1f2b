"""What a turn asks of its person: a durable question and the message that carries it, in one commit.

Nothing of it is kept here: the turn is let go of, and goes on from the answer in whichever process finds it.
"""

from __future__ import annotations

from collections.abc import Callable

from holdfast.clock import Clock
from holdfast.model import (
    CallId,
    CallRecord,
    Claimed,
    Journal,
    Owed,
    OwedKind,
    QuestionId,
    QuestionKind,
    QuestionState,
)
from holdfast.policy.calls import call_hash
from holdfast.policy.consent import ALLOW_OR_DENY, CardNotes, consent_card
from holdfast.policy.parts import Longest, parts_for
from holdfast.policy.settings import TurnSettings
from holdfast.store import Ask, Step
from holdfast.tools import Ask as WantsToAsk
from holdfast.tools import ToolFailed

from .consent import ConsentPorts


class Asked:
    """One run's way to ask, one thing at a time: whatever the person types can then mean nothing else."""

    def __init__(
        self,
        clock: Clock,
        claimed: Claimed,
        settings: TurnSettings,
        longest: Longest,
        journal: Callable[[], Journal],
        ports: ConsentPorts,
    ) -> None:
        self._clock = clock
        self._claimed = claimed
        self._settings = settings
        self._longest = longest
        self._journal = journal
        self._ports = ports
        self._asking: CallId | None = None
        """The call that asked last; what it asks may not be in the journal yet."""

    def person(self, wanted: WantsToAsk, call: CallRecord) -> Step:
        """Ask what a tool wants to know; `ToolFailed` while something else is asked."""
        questions = self._journal().questions
        is_asked = any(one.state is QuestionState.OPEN for one in questions)
        is_being_asked = self._asking is not None and all(one.call != self._asking for one in questions)
        if is_asked or is_being_asked:
            raise ToolFailed("the person is being asked something else; ask this when that is answered")
        self._asking = call.id
        expires_at = self._clock.now() + self._settings.questions.expires
        parts = parts_for(wanted.text, self._longest(self._claimed.session.chat))
        asked = self._question(QuestionKind.CLARIFY, call, wanted.text, parts, wanted.options, expires_at)
        return Step(ask=(asked,))

    def consent(self, call: CallRecord) -> Ask:
        """Ask whether this one call may run."""
        expires_at = self._clock.now() + self._settings.approvals.expires
        card = consent_card(call, self._ports.hide, CardNotes(contained=self._ports.contained(call)))
        parts = card.parts(self._longest(self._claimed.session.chat))
        return self._question(QuestionKind.APPROVAL, call, card.text, parts, ALLOW_OR_DENY, expires_at)

    def _question(
        self,
        kind: QuestionKind,
        call: CallRecord,
        text: str,
        parts: tuple[str, ...],
        options: tuple[str, ...],
        expires_at: int,
    ) -> Ask:
        id_, chat = QuestionId(f"{kind}:{call.key}"), self._claimed.session.chat
        owed = Owed(chat, id_, parts, OwedKind.QUESTION, self._claimed.cause.message_id, options)
        bound = call_hash(call.name, call.arguments) if kind is QuestionKind.APPROVAL else None
        asked_of = self._claimed.cause.person
        return Ask(id_, kind, call.id, text, expires_at, owed, asked_of, options, bound)
