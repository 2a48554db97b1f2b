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
"""The tool that asks a person; it needs no consent itself."""


def _never(person: PersonId) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Gate:
    """The rules that decide whether a call of one chat may run, as they are now."""

    settings: ApprovalSettings = ApprovalSettings()
    chat: ChatAddress = ChatAddress("")
    now: int = 0
    owner: Callable[[PersonId], bool] = _never
    """Whether a person is an owner now."""
    agent: str = ""
    """The agent that answers in the chat."""
    allowed: tuple[AllowedCall, ...] = ()
    """The rules of this chat, without revoked ones."""

    def ruling(self, call: CallRecord) -> Ruling:
        """The first rule that matches decides; without one, the call's effect class decides."""
        fitting = (rule.then for rule in self.settings.rules if fits(rule, call, self.chat))
        then = next(fitting, None) or default_for(consent_class(call), self.settings)
        return Ruling.ALLOW if then is Ruling.ASK and call.name == ASKING else then

    def allowing(self, call: CallRecord) -> AllowedCall | None:
        """The stored rule that lets a call run unasked; a rule of a former owner does not count."""
        fitting = (rule for rule in self.allowed if rule.agent == self.agent and covers(rule, call))
        return next((rule for rule in fitting if self.owner(rule.allowed_by)), None)

    def needs_consent(self, journal: Journal) -> bool:
        """Whether a call that could start now needs a person's consent."""
        return any(
            self.ruling(call) is Ruling.ASK
            for call in journal.calls
            if call.state is CallState.PLANNED
            or (call.state is CallState.STARTED and call.generation < journal.generation)
        )

    def is_stale(self, consent: QuestionRecord) -> bool:
        """Whether a yes is too old to count."""
        return consent.closed_at is None or age(self.now, consent.closed_at) >= self.settings.expires

    def counts(self, consent: QuestionRecord) -> bool:
        """Whether the person who said yes may still do so: an owner, or one whom the settings let consent."""
        if self.settings.people is Approver.OWN:
            return not consent.of_owner or self._is_owner(consent)
        return self._is_owner(consent)

    def _is_owner(self, consent: QuestionRecord) -> bool:
        return consent.answered_by is not None and self.owner(consent.answered_by)


OPEN_GATE = Gate(ApprovalSettings(people=Approver.OWN))
"""Every call may run, and every person who is asked may consent."""


def consent_class(call: CallRecord) -> EffectClass:
    """The effect class of a call where consent is concerned.

    A repeated start or restart is harmless, so their class is milder. But what a process does, and whose work
    a restart stops, needs consent like any effect.
    """
    return EffectClass.EFFECT if call.name in (STARTING, RESTARTING) else call.effect


def default_for(effect: EffectClass, settings: ApprovalSettings) -> Ruling:
    """The ruling for a call that no rule matches."""
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
    """Whether this call meets all conditions of the rule."""
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
        # The gateway cannot tell what the tool will read. A rule that asks or denies therefore applies, and a
        # rule that allows does not.
        return rule.then is not Ruling.ALLOW


def plain_text(value: object) -> str:
    """Arguments as rules match them: JSON with its keys in order, one space after a comma or colon."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _value_text(value: object) -> str:
    return value if isinstance(value, str) else plain_text(value)
