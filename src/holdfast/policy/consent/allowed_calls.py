"""What a stored rule covers: exactly the call it was given for, or commands that begin with a plain one.

A shell gives a meaning to much more than words. So a rule reaches beyond its own call only where the whole
command is plain words: there is no operator, quote, expansion, redirection, assignment or line end in it.
"""

from __future__ import annotations

import re
from typing import Any

from holdfast.model import AllowedCall, CallRecord
from holdfast.policy.processes import STARTING
from holdfast.records import dataclass

from .argument_text import Unreadable, call_hash, plain_value, value_hash

SHELLS = ("terminal", STARTING)
"""Tools whose argument `command` is read by a shell."""
_COMMAND = "command"
_LONGEST = 300
"""Characters of a command that a rule can name as a beginning."""
_NAME = r"[A-Za-z0-9_./][A-Za-z0-9_./+-]*"
_WORD = r"(?:[A-Za-z0-9_./:@%+,][A-Za-z0-9_./:@%+,-]*|-[A-Za-z0-9_./:@%+,=-]*)"
_PLAIN = re.compile(rf"{_NAME}(?: {_WORD})+")
"""Two words or more with one space between them, in which a shell finds nothing to do."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """What "always allow this" would store for one call, under the agent that answers now."""

    agent: str
    prefix: str | None = None
    """The beginning of every command that it covers; None: it covers exactly the call."""
    others: bool = False
    """The call has further arguments, which have to be the same."""


def coverage(call: CallRecord, agent: str) -> Coverage:
    """What a rule given for this call covers."""
    given = _shell_arguments(call)
    if given is None or len(given[_COMMAND]) > _LONGEST or not _PLAIN.fullmatch(given[_COMMAND]):
        return Coverage(agent)
    return Coverage(agent, given[_COMMAND], len(given) > 1)


def covers(rule: AllowedCall, call: CallRecord) -> bool:
    """Whether a rule lets this call run: the same call, or one with nothing but plain words behind it."""
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
    # With the words behind the beginning taken away it has to be the very call that the owner allowed.
    return value_hash(call.name, {**given, _COMMAND: rule.prefix}) == rule.call_hash


def _shell_arguments(call: CallRecord) -> dict[str, Any] | None:
    """The arguments of a call whose command a shell reads; None for any other call."""
    if call.name not in SHELLS:
        return None
    try:
        given = plain_value(call.arguments)
    except Unreadable:
        return None
    return given if isinstance(given, dict) and isinstance(given.get(_COMMAND), str) else None


def described(rule: AllowedCall) -> str:
    """What a stored rule covers, for a list of them."""
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
