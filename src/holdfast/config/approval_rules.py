"""Rules for tool calls as people write them into the configuration."""

from __future__ import annotations

import json
from collections.abc import Mapping

from holdfast.model import EffectClass
from holdfast.policy.patterns import check
from holdfast.policy.settings import Rule, Ruling

_NAMES = ("tool", "effect", "chat", "matches", "arguments", "then")
ALLOWED_RULES = (
    'a list of rules, like {tool = "terminal", then = "ask"}: then is allow, ask or deny; tool (or several), '
    f"effect ({', '.join(EffectClass)}), chat, matches and arguments say for which calls"
)


def read_rules(value: object) -> tuple[Rule, ...]:
    """The rules in their order, as TOML gives them, or as JSON in the environment; a `ValueError` refuses."""
    given = json.loads(value) if isinstance(value, str) else value
    if not isinstance(given, list):
        raise ValueError
    return tuple(map(_rule, given))


def show_rules(rules: tuple[Rule, ...]) -> list[dict[str, object]]:
    """The same rules as they would be written."""
    return [
        {name: value for name, value in _members(rule).items() if value not in ("", "*", ["*"], None, {})}
        for rule in rules
    ]


def _members(rule: Rule) -> dict[str, object]:
    tools = rule.tools[0] if len(rule.tools) == 1 else list(rule.tools)
    effect = rule.effect.value if rule.effect else None
    arguments = dict(rule.arguments)
    return dict(
        zip(_NAMES, (tools, effect, rule.chat, rule.matches, arguments, rule.then.value), strict=True)
    )


def _rule(given: object) -> Rule:
    if not isinstance(given, dict) or not given.keys() <= set(_NAMES):
        raise ValueError
    effect = given.get("effect")
    arguments = given.get("arguments", {})
    if not isinstance(arguments, dict):
        raise ValueError
    return Rule(
        Ruling(given["then"]),
        _tools(given.get("tool", "*")),
        None if effect is None else EffectClass(effect),
        _text(given, "chat", "*"),
        _pattern(_text(given, "matches", "")),
        tuple((name, _pattern(pattern)) for name, pattern in arguments.items()),
    )


def _tools(given: object) -> tuple[str, ...]:
    tools = [given] if isinstance(given, str) else given
    if not isinstance(tools, list) or not tools or not all(isinstance(one, str) and one for one in tools):
        raise ValueError
    return tuple(tools)


def _text(given: Mapping[str, object], name: str, otherwise: str) -> str:
    value = given.get(name, otherwise)
    if not isinstance(value, str):
        raise ValueError
    return value


def _pattern(text: object) -> str:
    if not isinstance(text, str):
        raise ValueError
    check(text)
    return text
