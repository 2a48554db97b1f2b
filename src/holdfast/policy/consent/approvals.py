"""Which tool calls run at once, which need a person's consent, and which never run: the owner's rules."""

from __future__ import annotations

import json
from collections.abc import Callable
from fnmatch import fnmatchcase

from holdfast.model import (
    AllowedCall,
    CallRecord,
    CallState,
    ChatAddress,
    EffectClass,
    Journal,
    PersonId,
    QuestionRecord,
)
from holdfast.policy.ages import age
from holdfast.policy.patterns import is_found, is_whole
from holdfast.policy.processes import STARTING
from holdfast.policy.settings import ApprovalSettings, Approver, Rule, Ruling
from holdfast.records import dataclass

from .allowed_calls import covers
from .argument_text import Unreadable, plain_value

RESTARTING = "restart_gateway"
ASKING = "ask_person"
"""The tool that asks a person: whether it may ask, nobody is asked."""


def _nobody(person: PersonId) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Gate:
    """What a call has to pass before it runs: the rules as they are now, for one chat."""

    settings: ApprovalSettings = ApprovalSettings()
    chat: ChatAddress = ChatAddress("")
    now: int = 0
    owner: Callable[[PersonId], bool] = _nobody
    """Who is an owner now."""
    agent: str = ""
    """Who answers in the chat."""
    allowed: tuple[AllowedCall, ...] = ()
    """The rules of this chat that nobody has revoked."""

    def ruling(self, call: CallRecord) -> Ruling:
        """The first rule that fits decides; what none fits goes by its effect class."""
        fitting = (rule.then for rule in self.settings.rules if fits(rule, call, self.chat))
        then = next(fitting, None) or default_for(consent_class(call), self.settings)
        return Ruling.ALLOW if then is Ruling.ASK and call.name == ASKING else then

    def allowing(self, call: CallRecord) -> AllowedCall | None:
        """The rule of this chat under which a call runs unasked; one of a former owner counts no more."""
        fitting = (rule for rule in self.allowed if rule.agent == self.agent and covers(rule, call))
        return next((rule for rule in fitting if self.owner(rule.allowed_by)), None)

    def needs_consent(self, journal: Journal) -> bool:
        """Whether some call that could begin now is one that people are asked about."""
        return any(
            self.ruling(call) is Ruling.ASK
            for call in journal.calls
            if call.state is CallState.PLANNED
            or (call.state is CallState.STARTED and call.generation < journal.generation)
        )

    def is_stale(self, consent: QuestionRecord) -> bool:
        """Whether a yes was given so long ago that it says nothing about now."""
        return consent.closed_at is None or age(self.now, consent.closed_at) >= self.settings.expires

    def counts(self, consent: QuestionRecord) -> bool:
        """Whether who gave it may give it now: an owner, or, where the owner says so, any person asked."""
        if self.settings.people is Approver.OWN:
            return not consent.of_owner or self._is_owner(consent)
        return self._is_owner(consent)

    def _is_owner(self, consent: QuestionRecord) -> bool:
        return consent.answered_by is not None and self.owner(consent.answered_by)


OPEN_GATE = Gate(ApprovalSettings(people=Approver.OWN))
"""Everything may run, and whoever is asked may allow it."""


def consent_class(call: CallRecord) -> EffectClass:
    """What a call does, as consent sees it.

    That a start or a restart can be asked for twice says nothing of what is started, or of whose work stops.
    """
    return EffectClass.EFFECT if call.name in (STARTING, RESTARTING) else call.effect


def default_for(effect: EffectClass, settings: ApprovalSettings) -> Ruling:
    """What becomes of a call that no rule fits."""
    match effect:
        case EffectClass.READ:
            return settings.read
        case EffectClass.IDEMPOTENT:
            return settings.idempotent
        case EffectClass.RECONCILABLE:
            return settings.reconcilable
        case EffectClass.EFFECT:
            return settings.effect


def fits(rule: Rule, call: CallRecord, chat: ChatAddress) -> bool:
    """Whether everything the rule says is so of this call."""
    if not any(fnmatchcase(call.name, tool) for tool in rule.tools):
        return False
    if rule.effect not in (None, consent_class(call)) or not fnmatchcase(chat, rule.chat):
        return False
    return not (rule.matches or rule.arguments) or _fits_arguments(rule, call.arguments)


def _fits_arguments(rule: Rule, arguments: str) -> bool:
    try:
        given = plain_value(arguments)
        if rule.matches and not is_found(rule.matches, plain_text(given)):
            return False
        named = given if isinstance(given, dict) else {}
        return all(
            name in named and is_whole(pattern, _value_text(named[name])) for name, pattern in rule.arguments
        )
    except (Unreadable, UnicodeError, RecursionError):
        # What a tool makes of it nobody can say: it must not slip past a rule that keeps it back, nor
        # through one that lets it pass.
        return rule.then is not Ruling.ALLOW


def plain_text(value: object) -> str:
    """Arguments as rules see them: JSON with its keys in order, one space after a comma or colon."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _value_text(value: object) -> str:
    return value if isinstance(value, str) else plain_text(value)
