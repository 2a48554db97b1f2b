"""Ask people: one commit keeps the question and owes the card that carries it.

No state is kept here: the run gives the turn back, and any process goes on with it from the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from holdfast.clock import Clock
from holdfast.model import (
    CallId,
    CallRecord,
    CallState,
    ChatAddress,
    Claimed,
    Journal,
    Owed,
    OwedKind,
    PersonId,
    QuestionId,
    QuestionKind,
    QuestionState,
    Returned,
)
from holdfast.policy.consent.allowed_calls import Coverage, coverage, rule_words
from holdfast.policy.consent.approver import asking_words, asks_owner, causing, waiting_words
from holdfast.policy.consent.argument_text import call_hash
from holdfast.policy.consent.card import ALLOW_OR_DENY, WITH_ALWAYS, CardNotes, consent_card
from holdfast.policy.delivery.parts import Longest, parts_for
from holdfast.policy.settings import TurnSettings
from holdfast.policy.turn.synthetic_results import Skip, skipped_text
from holdfast.store import NewQuestion, Step
from holdfast.tools import Ask as WantsToAsk
from holdfast.tools import ToolFailed
from holdfast.turns.consent import ConsentPorts


class Questions:
    """Asks the questions of one run, one at a time, so that it is clear which one a person answers."""

    def __init__(
        self,
        clock: Clock,
        claimed: Claimed,
        settings: TurnSettings,
        longest: Longest,
        journal: Callable[[], Journal],
        ports: ConsentPorts,
        agent: str = "",
    ) -> None:
        self._clock = clock
        self._claimed = claimed
        self._settings = settings
        self._longest = longest
        self._journal = journal
        self._ports = ports
        self._agent = agent
        self._asking: CallId | None = None
        """The call that asked last; its question may not be in the journal yet."""

    def person(self, wanted: WantsToAsk, call: CallRecord) -> Step:
        """Ask the person a question of a tool; `ToolFailed` while another question is open."""
        questions = self._journal().questions
        is_asked = any(one.state is QuestionState.OPEN for one in questions)
        is_being_asked = self._asking is not None and all(one.call != self._asking for one in questions)
        if is_asked or is_being_asked:
            raise ToolFailed("another question to the person is open; ask this one after its answer")
        self._asking = call.id
        id_, chat = _id(QuestionKind.CLARIFY, call), self._claimed.session.chat
        expires_at = self._clock.now() + self._settings.questions.expires
        parts = parts_for(wanted.text, self._longest(chat))
        owed = Owed(chat, id_, parts, OwedKind.QUESTION, self._claimed.cause.message_id, wanted.options)
        asked_of, kind = self._claimed.cause.person, QuestionKind.CLARIFY
        asked = NewQuestion(id_, kind, call.id, wanted.text, expires_at, owed, asked_of, wanted.options)
        return Step(ask=(asked,))

    async def consent(self, call: CallRecord, said: Iterable[PersonId], starts_program: bool) -> Step:
        """Ask whether this one call may run; `said` are the people who wrote in the turn.

        If the call starts a program, its card says how contained the program would run.

        For a person who is not an owner, the gateway asks an owner and tells the person's chat that the call
        waits. If no owner can be reached, it refuses the call.
        """
        cause, here = self._claimed.cause, self._claimed.session.chat
        person = causing(cause.person, said, self._ports.owner)
        contained = await self._ports.contained() if starts_program else None
        if not asks_owner(person, self._ports.owner, self._settings.approvals):
            return Step(ask=(self._approval(call, here, cause.person, CardNotes(contained=contained)),))
        chat = await self._ports.owner_chat(here)
        if chat is None:
            refused = Returned(call.id, CallState.SKIPPED, skipped_text(call, Skip.NO_OWNER))
            return Step(append=(refused,))
        notes = CardNotes(asking_words(person, here), contained)
        asked = self._approval(call, chat, None, notes)
        told = Owed(here, f"waits:{asked.id}", (waiting_words(call.name),), OwedKind.NOTICE, cause.message_id)
        return Step(ask=(asked,), owe=() if chat == here else (told,))

    def _approval(
        self, call: CallRecord, chat: ChatAddress, asked_of: PersonId | None, notes: CardNotes
    ) -> NewQuestion:
        """The question with its card; with `notes.before` it is a question to an owner."""
        offers = self._offer(call) if notes.before or self._is_owner(asked_of) else None
        if offers is not None:
            notes = replace(notes, rule=self._rule_words(offers, chat, asked_of))
        card, options = consent_card(call, self._ports.hide, notes), WITH_ALWAYS if offers else ALLOW_OR_DENY
        id_, kind = _id(QuestionKind.APPROVAL, call), QuestionKind.APPROVAL
        reply_to = self._claimed.cause.message_id if chat == self._claimed.session.chat else None
        parts = card.parts(self._longest(chat))
        owed = Owed(chat, id_, parts, OwedKind.QUESTION, reply_to, options)
        expires_at = self._clock.now() + self._settings.approvals.expires
        bound = call_hash(call.name, call.arguments)
        return NewQuestion(
            id_,
            kind,
            call.id,
            card.text,
            expires_at,
            owed,
            asked_of,
            options,
            bound,
            of_owner=bool(notes.before),
            offers=offers,
        )

    def _is_owner(self, person: PersonId | None) -> bool:
        return person is not None and self._ports.owner(person)

    def _offer(self, call: CallRecord) -> Coverage:
        """The rule that "always allow this" would store; never a prefix that the card masks."""
        found = coverage(call, self._agent)
        is_masked = found.prefix is not None and self._ports.hide(found.prefix) != found.prefix
        return Coverage(self._agent) if is_masked else found

    def _rule_words(self, offers: Coverage, chat: ChatAddress, asked_of: PersonId | None) -> str:
        here = self._claimed.session.chat
        alone = asked_of is not None and self._ports.is_alone(asked_of, here)
        return rule_words(offers, "this chat" if chat == here else f"the chat `{here}`", not alone)


def _id(kind: QuestionKind, call: CallRecord) -> QuestionId:
    return QuestionId(f"{kind}:{call.key}")
