"""What a stored rule covers: exactly the call it was given for, or commands that begin with a plain one.

A shell acts on much more than words. So a rule covers more than its own call only if the whole command is
plain words, without operator, quote, expansion, redirection, assignment or line end.
"""

from __future__ import annotations

import re
from typing import Any

from holdfast.model import AllowedCall, CallRecord
from holdfast.policy.processes import STARTING
from holdfast.records import dataclass

from .argument_text import Unreadable, call_hash, plain_value, value_hash

SHELLS = ("terminal", STARTING)
"""Tools whose argument `command` goes to a shell."""
_COMMAND = "command"
_LONGEST = 300
"""Characters of the longest command that a rule can take as a beginning."""
_NAME = r"[A-Za-z0-9_./][A-Za-z0-9_./+-]*"
_WORD = r"(?:[A-Za-z0-9_./:@%+,][A-Za-z0-9_./:@%+,-]*|-[A-Za-z0-9_./:@%+,=-]*)"
_PLAIN = re.compile(rf"{_NAME}(?: {_WORD})+")
"""Two words or more with one space between them, on which a shell does not act."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """What "always allow this" would store for one call, for the agent that answers now."""

    agent: str
    prefix: str | None = None
    """The beginning of every command that the rule covers; None: it covers exactly the call."""
    others: bool = False
    """The call has other arguments, which must stay the same."""


def coverage(call: CallRecord, agent: str) -> Coverage:
    """What a rule given for this call covers."""
    given = _shell_arguments(call)
    if given is None or len(given[_COMMAND]) > _LONGEST or not _PLAIN.fullmatch(given[_COMMAND]):
        return Coverage(agent)
    return Coverage(agent, given[_COMMAND], len(given) > 1)


def covers(rule: AllowedCall, call: CallRecord) -> bool:
    """Whether a rule lets this call run: it is the same call, or the same with plain words after it."""
    if call.name != rule.tool:
        return False
    return call_hash(call.name, call.arguments) == rule.call_hash or _begins_so(rule, call)


def _begins_so(rule: AllowedCall, call: CallRecord) -> bool:
    given = _shell_arguments(call)
    if rule.prefix is None or given is None:
        return False
    command = given[_COMMAND]
    if not (command.startswith(f"{rule.prefix} ") and _PLAIN.fullmatch(command)):
        return False
    # Without the words after the beginning it must be exactly the call that the owner allowed.
    return value_hash(call.name, {**given, _COMMAND: rule.prefix}) == rule.call_hash


def _shell_arguments(call: CallRecord) -> dict[str, Any] | None:
    """The arguments of a call whose command goes to a shell; None for any other call."""
    if call.name not in SHELLS:
        return None
    try:
        given = plain_value(call.arguments)
    except Unreadable:
        return None
    return given if isinstance(given, dict) and isinstance(given.get(_COMMAND), str) else None


def described(rule: AllowedCall) -> str:
    """What a stored rule covers, for a list of rules."""
    whom = f" while `{rule.agent}` answers" if rule.agent else ""
    if rule.prefix is None:
        return f"`{rule.tool}`{whom}: exactly the call with {rule.arguments}"
    return f"`{rule.tool}`{whom}: {covered_words(rule.prefix)}"


def rule_words(covered: Coverage, place: str, everybody: bool) -> str:
    """The sentence of a card that says what "always allow this" would store."""
    where = f"in {place}{', for everybody who may write there' if everybody else ''}"
    agent = covered.agent.replace("`", "'")
    whom = f", while the agent `{agent}` answers" if agent else ""
    return f"Always allow {where}{whom}: {covered_words(covered.prefix, covered.others)}."


def covered_words(prefix: str | None, others: bool = False) -> str:
    """What a rule covers, in words."""
    if prefix is None:
        return "exactly this call"
    same = ", with the other arguments as they are" if others else ""
    return f"commands that begin with `{prefix}`, if only plain words follow{same}"
