"""The kinds of values that the keys of `holdfast.toml` take: how each is read, refused and shown."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum
from typing import Any, TypeVar

from holdfast.model import ChatAddress
from holdfast.policy.settings import DAY, HOUR, MINUTE, SECOND
from holdfast.records import dataclass

T = TypeVar("T")
N = TypeVar("N", int, float)

_UNITS = {"ms": 1, "s": SECOND, "m": MINUTE, "h": HOUR, "d": DAY}
_DURATION = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>ms|s|m|h|d)?")
PERSON = re.compile(r"[a-z][a-z0-9_-]*:\S+")
CHAT = re.compile(r"[^/\s]+/[^/\s]+/[^/\s]+(?:/[^/\s]+)?")
OUR_AGENTS = ("demo", "echo")
AGENT_NAMES = f"{', '.join(OUR_AGENTS)}, or module:object, or the NAME of an [agents.NAME]"
_ROUTE = re.compile(r"[^\s=,]+")
_AGENT = re.compile(r"[a-z][a-z0-9-]{0,31}")
_HOST = re.compile(r"[A-Za-z0-9.-]+|\[?[0-9A-Fa-f:]+\]?")
HOST_AND_PORT = re.compile(rf"(?:{_HOST.pattern})(?::\d+)?")
VARIABLE = re.compile(r"(?!HOLDFAST_)[A-Za-z_][A-Za-z0-9_]*")
_OBJECT = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_WEEKS = 52 * 7 * DAY
_MICRO = 1_000_000
_RICH = 1_000_000.0


@dataclass(frozen=True, slots=True)
class KeyKind:
    """The values that a key takes: how they are read (a `ValueError` refuses), and how they are shown."""

    allowed: str
    read: Callable[[object], object]
    show: Callable[[Any], object] = lambda value: value
    private: bool = False
    """Whether a refused value may be a secret in the wrong place: then no message repeats it."""


def duration(least: int = 0, most: int = _WEEKS, never: bool = False) -> KeyKind:
    """A time, in seconds or with its unit. With `never`, that word is allowed too, and read as None."""
    words = f"a time from {shown_time(least)} to {shown_time(most)}, like 90, 90s or 10m"

    def read(value: object) -> int | None:
        if never and value == "never":
            return None
        found = _DURATION.fullmatch(_text(value))
        if found is None:
            raise ValueError
        return _between(round(float(found["number"]) * _UNITS[found["unit"] or "s"]), least, most)

    return KeyKind(f"{words}, or never" if never else words, read, shown_time)


def shown_time(value: int | None) -> str:
    """A time as people write it: a whole number of the largest unit that fits."""
    if value is None:
        return "never"
    unit = next(unit for unit in ("d", "h", "m", "s", "ms") if value % _UNITS[unit] == 0)
    return "0s" if value == 0 else f"{value // _UNITS[unit]}{unit}"


def count(least: int, most: int) -> KeyKind:
    def read(value: object) -> int:
        return _between(int(_text(value)), least, most)

    return KeyKind(f"a whole number from {least} to {most}", read)


def factor(least: float, most: float) -> KeyKind:
    def read(value: object) -> float:
        return _between(float(_text(value)), least, most)

    return KeyKind(f"a number from {least:g} to {most:g}", read)


def dollars() -> KeyKind:
    """An amount in dollars, kept in millionths of one."""

    def read(value: object) -> int:
        return round(_between(float(_text(value)), 0.0, _RICH) * _MICRO)

    return KeyKind(
        f"dollars from 0 to {_RICH:.0f}, like 2 or 0.50", read, lambda value: f"{value / _MICRO:g}"
    )


def choice(options: type[StrEnum]) -> KeyKind:
    return KeyKind(", ".join(options), lambda value: options(_text(value)), str)


def agent_name() -> KeyKind:
    """The name of a built-in or configured agent, or `module:object`, which is checked when it is loaded."""

    def read(value: object) -> str:
        if not _AGENT.fullmatch(_text(value)) and not _OBJECT.fullmatch(_text(value)):
            raise ValueError
        return _text(value)

    return KeyKind(AGENT_NAMES, read)


def routes() -> KeyKind:
    """A table of patterns and agents, in the given order: the first pattern that matches decides."""
    agent = agent_name()

    def read(value: object) -> tuple[tuple[str, str], ...]:
        pairs = value.items() if isinstance(value, dict) else _pairs(_text(value))
        return tuple((_pattern(pattern), str(agent.read(name))) for pattern, name in pairs)

    return KeyKind('a table of addresses and agents, like "telegram/bot/*" = "work"', read, dict)


def _pairs(text: str) -> list[tuple[str, str]]:
    found = [part.partition("=") for part in text.split(",") if part.strip()]
    return [(pattern.strip(), name.strip()) for pattern, _, name in found]


def _pattern(text: str) -> str:
    if not _ROUTE.fullmatch(text):
        raise ValueError
    return text


def switch() -> KeyKind:
    def read(value: object) -> bool:
        return {"true": True, "false": False}[str(value).lower()]

    return KeyKind("true or false", read)


def inherited() -> KeyKind:
    """True, false, or `auto`: then the value follows from another setting."""
    said = switch()

    def read(value: object) -> object:
        return None if value == "auto" else said.read(value)

    return KeyKind("true, false or auto", read, lambda value: "auto" if value is None else value)


def host() -> KeyKind:
    def read(value: object) -> str:
        if not _HOST.fullmatch(_text(value)):
            raise ValueError
        return _text(value).strip("[]")

    return KeyKind("an address of this machine, like 127.0.0.1", read)


def names(form: re.Pattern[str], make: Callable[[str], T], words: str) -> KeyKind:
    """A list; in the environment with commas between. Every name in it must match the form."""

    def read(value: object) -> frozenset[T]:
        given = (
            [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value
        )
        if not isinstance(given, list) or not all(isinstance(n, str) and form.fullmatch(n) for n in given):
            raise ValueError
        return frozenset(make(name) for name in given)

    return KeyKind(words, read, sorted)


def address() -> KeyKind:
    def read(value: object) -> ChatAddress | None:
        if value in ("", "none"):
            return None
        if not CHAT.fullmatch(_text(value)):
            raise ValueError
        return ChatAddress(_text(value))

    return KeyKind('an address, like "telegram/bot/123", or none', read, lambda value: value or "none")


def is_person(text: str) -> bool:
    """Whether this can be the id of a person."""
    return PERSON.fullmatch(text) is not None


def is_chat(text: str) -> bool:
    """Whether this can be the address of a chat."""
    return CHAT.fullmatch(text) is not None


def _text(value: object) -> str:
    """A number or text as text."""
    if not isinstance(value, (int, float, str)):
        raise ValueError
    return str(value).strip()


def _between(value: N, least: N, most: N) -> N:
    if not least <= value <= most:
        raise ValueError
    return value
