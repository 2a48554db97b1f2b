"""The keys of `holdfast.toml`: what each may be, where it goes in the settings, what it means."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from enum import StrEnum
from typing import Any, TypeVar, cast

from holdfast.model import BusyMode, ChatAddress, OnInterruption, PersonId
from holdfast.policy.settings import DAY, HOUR, MINUTE, SECOND, Approver, Ruling, Workspaces
from holdfast.records import dataclass
from holdfast.tools.builtin import NAMES

from .approvals import ALLOWED_RULES, read_rules, show_rules

T = TypeVar("T")
N = TypeVar("N", int, float)

_UNITS = {"ms": 1, "s": SECOND, "m": MINUTE, "h": HOUR, "d": DAY}
_DURATION = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>ms|s|m|h|d)?")
_PERSON = re.compile(r"[a-z][a-z0-9_-]*:\S+")
_CHAT = re.compile(r"[^/\s]+/[^/\s]+/[^/\s]+(?:/[^/\s]+)?")
OUR_AGENTS = ("demo", "echo")
AGENT_NAMES = f"{', '.join(OUR_AGENTS)}, or module:object, or the NAME of an [agents.NAME]"
_ROUTE = re.compile(r"[^\s=,]+")
_AGENT = re.compile(r"[a-z][a-z0-9-]{0,31}")
_HOST = re.compile(r"[A-Za-z0-9.-]+|\[?[0-9A-Fa-f:]+\]?")
_HOST_AND_PORT = re.compile(rf"(?:{_HOST.pattern})(?::\d+)?")
_VARIABLE = re.compile(r"(?!HOLDFAST_)[A-Za-z_][A-Za-z0-9_]*")
_OBJECT = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_WEEKS = 52 * 7 * DAY
_MICRO = 1_000_000
_RICH = 1_000_000.0


@dataclass(frozen=True, slots=True)
class Kind:
    """What values a key takes: how they are read (a `ValueError` refuses), and how they are shown."""

    allowed: str
    read: Callable[[object], object]
    show: Callable[[Any], object] = lambda value: value
    private: bool = False
    """Whether what is refused may be a secret that somebody wrote in the wrong place: it is not repeated."""


@dataclass(frozen=True, slots=True)
class Key:
    """One key people may set."""

    name: str
    path: str
    """Where it stands in `Settings`, attribute by attribute."""
    kind: Kind
    help: str

    @property
    def variable(self) -> str:
        """The environment's name for it."""
        return "HOLDFAST_" + self.name.upper().replace(".", "_").replace("-", "_")


def duration(least: int = 0, most: int = _WEEKS, never: bool = False) -> Kind:
    """A time, in seconds or with its unit; with `never` also the word, read as None."""
    words = f"a time from {shown_time(least)} to {shown_time(most)}, like 90, 90s or 10m"

    def read(value: object) -> int | None:
        if never and value == "never":
            return None
        found = _DURATION.fullmatch(_text(value))
        if found is None:
            raise ValueError
        return _between(round(float(found["number"]) * _UNITS[found["unit"] or "s"]), least, most)

    return Kind(f"{words}, or never" if never else words, read, shown_time)


def shown_time(value: int | None) -> str:
    """A time as people write it: the largest unit that says it in a whole number."""
    if value is None:
        return "never"
    unit = next(unit for unit in ("d", "h", "m", "s", "ms") if value % _UNITS[unit] == 0)
    return "0s" if value == 0 else f"{value // _UNITS[unit]}{unit}"


def count(least: int, most: int) -> Kind:
    def read(value: object) -> int:
        return _between(int(_text(value)), least, most)

    return Kind(f"a whole number from {least} to {most}", read)


def factor(least: float, most: float) -> Kind:
    def read(value: object) -> float:
        return _between(float(_text(value)), least, most)

    return Kind(f"a number from {least:g} to {most:g}", read)


def dollars() -> Kind:
    """An amount in dollars, kept in millionths of one."""

    def read(value: object) -> int:
        return round(_between(float(_text(value)), 0.0, _RICH) * _MICRO)

    return Kind(f"dollars from 0 to {_RICH:.0f}, like 2 or 0.50", read, lambda value: f"{value / _MICRO:g}")


def choice(options: type[StrEnum]) -> Kind:
    return Kind(", ".join(options), lambda value: options(_text(value)), str)


def agent_name() -> Kind:
    """Ours, or one of the file, by its name; or anybody's, of which more is known when it is loaded."""

    def read(value: object) -> str:
        if not _AGENT.fullmatch(_text(value)) and not _OBJECT.fullmatch(_text(value)):
            raise ValueError
        return _text(value)

    return Kind(AGENT_NAMES, read)


def routes() -> Kind:
    """A table of patterns and who answers there, in the order given: the first that fits decides."""
    agent = agent_name()

    def read(value: object) -> tuple[tuple[str, str], ...]:
        pairs = value.items() if isinstance(value, dict) else _pairs(_text(value))
        return tuple((_pattern(pattern), str(agent.read(name))) for pattern, name in pairs)

    return Kind('a table of addresses and agents, like "telegram/bot/*" = "work"', read, dict)


def _pairs(text: str) -> list[tuple[str, str]]:
    found = [part.partition("=") for part in text.split(",") if part.strip()]
    return [(pattern.strip(), name.strip()) for pattern, _, name in found]


def _pattern(text: str) -> str:
    if not _ROUTE.fullmatch(text):
        raise ValueError
    return text


def switch() -> Kind:
    def read(value: object) -> bool:
        return {"true": True, "false": False}[str(value).lower()]

    return Kind("true or false", read)


def inherited() -> Kind:
    """Somebody's word, or none: then it follows from something else."""
    said = switch()

    def read(value: object) -> object:
        return None if value == "auto" else said.read(value)

    return Kind("true, false or auto", read, lambda value: "auto" if value is None else value)


def host() -> Kind:
    def read(value: object) -> str:
        if not _HOST.fullmatch(_text(value)):
            raise ValueError
        return _text(value).strip("[]")

    return Kind("an address of this machine, like 127.0.0.1", read)


def names(form: re.Pattern[str], make: Callable[[str], T], words: str) -> Kind:
    """A list, in the environment with commas between; nothing in it is guessed."""

    def read(value: object) -> frozenset[T]:
        given = (
            [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value
        )
        if not isinstance(given, list) or not all(isinstance(n, str) and form.fullmatch(n) for n in given):
            raise ValueError
        return frozenset(make(name) for name in given)

    return Kind(words, read, sorted)


def address() -> Kind:
    def read(value: object) -> ChatAddress | None:
        if value in ("", "none"):
            return None
        if not _CHAT.fullmatch(_text(value)):
            raise ValueError
        return ChatAddress(_text(value))

    return Kind('an address, like "telegram/bot/123", or none', read, lambda value: value or "none")


def is_person(text: str) -> bool:
    """Whether somebody can be called that."""
    return _PERSON.fullmatch(text) is not None


def is_chat(text: str) -> bool:
    """Whether this can be the address of a chat."""
    return _CHAT.fullmatch(text) is not None


def _text(value: object) -> str:
    """A number or text as text; a switch reads as neither."""
    if not isinstance(value, (int, float, str)):
        raise ValueError
    return str(value).strip()


def _between(value: N, least: N, most: N) -> N:
    if not least <= value <= most:
        raise ValueError
    return value


_RULING = choice(Ruling)
_PEOPLE = names(_PERSON, PersonId, 'a list of immutable ids, like "telegram:123456"')

KEYS: tuple[Key, ...] = (
    Key("owners", "access.owners", _PEOPLE, "who may do everything, /restart included"),
    Key("people", "access.people", _PEOPLE, "who may talk"),
    Key(
        "chats",
        "access.chats",
        names(_CHAT, ChatAddress, 'a list of addresses, like "telegram/bot/-100123"'),
        "groups in which those people may talk",
    ),
    Key("owner_chat", "gateway.owner_chat", address(), "where the owner is told of what needs a person"),
    Key("alerts.deaf", "gateway.alerts.deaf", duration(SECOND, DAY), "a platform, before the owner is told"),
    Key("alerts.disk", "gateway.alerts.disk", count(0, 10_000_000), "megabytes that should be free"),
    Key(
        "alerts.hung",
        "gateway.alerts.hung",
        duration(SECOND, DAY),
        "all workers that resumes may hold, without a move",
    ),
    Key(
        "alerts.unsettled", "gateway.alerts.unsettled", duration(0, HOUR), "after a start, till that is told"
    ),
    Key("agent.use", "agent.use", agent_name(), "who answers; if there are [agents.NAME], the first"),
    Key("routes", "agent.routes", routes(), "who answers where; the first pattern that fits, else agent.use"),
    Key("agent.pace", "agent.pace", duration(0, MINUTE), "per beat of the demonstration's work"),
    Key(
        "workers",
        "gateway.workers",
        count(1, 256),
        "turns that run at the same time; a quarter, at least one, is kept for new messages (not of 1)",
    ),
    Key(
        "busy", "gateway.busy", choice(BusyMode), "a message while a turn runs; a chat may choose for itself"
    ),
    Key(
        "on_interruption",
        "gateway.on_interruption",
        choice(OnInterruption),
        "what to do with interrupted work; a chat may choose for itself",
    ),
    Key("grace", "gateway.grace", duration(0, 5 * MINUTE), "given to running tools when a turn is stopped"),
    Key("heartbeat", "gateway.heartbeat", duration(SECOND, 5 * MINUTE), "between two signs of life"),
    Key("reconcile", "gateway.reconcile", duration(SECOND, 5 * MINUTE), "between two looks at what is left"),
    Key("drain.wait", "gateway.drain.wait", duration(0, HOUR), "for running turns and owed replies"),
    Key(
        "drain.teardown", "gateway.drain.teardown", duration(SECOND, 5 * MINUTE), "for letting go after that"
    ),
    Key(
        "drain.reply", "gateway.drain.reply", duration(0, 10 * MINUTE), "for the reply that asked to restart"
    ),
    Key("resume.window", "gateway.recovery.window", duration(), "older work is not resumed; 0 is no limit"),
    Key(
        "resume.counts",
        "gateway.resume_counts",
        duration(SECOND, HOUR),
        "for so long a resumed turn counts towards the half of the workers that resumed turns may hold",
    ),
    Key("resume.strikes", "gateway.recovery.strikes", count(1, 20), "deaths in a row that park a session"),
    Key("resume.interruptions", "gateway.recovery.interruptions", count(1, 100), "most cuts of one turn"),
    Key("safe_mode.exits", "gateway.safe_mode.unclean_exits", count(2, 100), "crashes that put safe mode on"),
    Key("safe_mode.within", "gateway.safe_mode.within", duration(MINUTE, DAY), "in this time"),
    Key("safe_mode.clean", "gateway.safe_mode.clean_for", duration(MINUTE, DAY), "good running that ends it"),
    Key("reset.idle", "gateway.reset.idle", duration(MINUTE, never=True), "quiet that begins a new session"),
    Key("reset.daily_at", "gateway.reset.daily_at", duration(0, DAY - 1, never=True), "after midnight UTC"),
    Key("queue.most", "gateway.queue.most", count(1, 10_000), "messages that may wait in one conversation"),
    Key("queue.longest", "gateway.queue.longest", count(100, 1_000_000), "characters a message may have"),
    Key("queue.backlog", "gateway.queue.backlog", duration(MINUTE), "older messages are offered, not run"),
    Key("retry.first", "gateway.retry.first", duration(100, MINUTE), "before the first repeated send"),
    Key("retry.most", "gateway.retry.most", duration(SECOND, HOUR), "longest wait between sends"),
    Key("retry.factor", "gateway.retry.factor", factor(1, 10), "how the waits grow"),
    Key("retry.age", "gateway.retry.age", duration(MINUTE, 2 * DAY), "a failed send is retried for so long"),
    Key("retry.repeats", "gateway.retry.repeats", count(1, 100), "most marked repeats of one part in all"),
    Key("retry.aside", "gateway.retry.aside", duration(SECOND, DAY), "failing, before later replies pass it"),
    Key("progress.notice", "gateway.progress.notice", duration(SECOND), "of work before it is spoken of"),
    Key("progress.warn", "gateway.progress.warn", duration(SECOND), "without progress before it is shown"),
    Key("progress.abort", "gateway.progress.abort", duration(SECOND), "without progress before a turn fails"),
    Key(
        "progress.recorded",
        "gateway.progress.recorded",
        duration(SECOND // 10, MINUTE),
        "within which what people are shown of an answer or of output is recorded",
    ),
    Key("limits.steps", "gateway.limits.steps", count(0, 10_000), "of a turn before it asks; 0 is no limit"),
    Key("limits.turn_tokens", "gateway.limits.turn_tokens", count(0, 10**12), "the same in tokens"),
    Key("limits.turn_cost", "gateway.limits.turn_cost", dollars(), "the same in dollars"),
    Key("limits.day_tokens", "gateway.limits.day_tokens", count(0, 10**12), "of one chat in a day (UTC)"),
    Key("limits.day_cost", "gateway.limits.day_cost", dollars(), "the same in dollars"),
    Key("questions.expires", "gateway.questions.expires", duration(MINUTE), "for an answer to the agent"),
    Key(
        "approvals.rules",
        "gateway.approvals.rules",
        Kind(ALLOWED_RULES, read_rules, show_rules),
        "which tool calls run, need consent, or never run; the first that fits decides",
    ),
    Key("approvals.read", "gateway.approvals.read", _RULING, "calls no rule fits, that change nothing"),
    Key("approvals.idempotent", "gateway.approvals.idempotent", _RULING, "those that may be repeated"),
    Key("approvals.reconcilable", "gateway.approvals.reconcilable", _RULING, "those that can be asked about"),
    Key(
        "approvals.effect",
        "gateway.approvals.effect",
        _RULING,
        "those that must not be repeated, and commands; ask, with any [agents.NAME], [mcp.NAME] or tools.use",
    ),
    Key("approvals.expires", "gateway.approvals.expires", duration(MINUTE), "for consent, and for its use"),
    Key(
        "approvals.people",
        "gateway.approvals.people",
        choice(Approver),
        "who is asked about calls of people who are no owners: an owner, or they themselves",
    ),
    Key(
        "tools.use",
        "gateway.tools.use",
        names(re.compile("|".join(NAMES)), str, f"a list of these: {', '.join(NAMES)}"),
        "built-in tools that an agent gets besides its own",
    ),
    Key(
        "tools.timeout",
        "gateway.tools.timeout",
        duration(SECOND, DAY),
        "without a sign of life, for a run of a tool that sets no time",
    ),
    Key("tools.shown", "gateway.tools.shown", count(1_000, 1_000_000), "characters of a result a model sees"),
    Key("tools.workspace", "gateway.tools.workspace", choice(Workspaces), "whose files the tools work on"),
    Key(
        "tools.terminal.timeout",
        "gateway.tools.terminal.timeout",
        duration(SECOND, DAY),
        "the longest that one command may take",
    ),
    Key(
        "tools.terminal.memory",
        "gateway.tools.terminal.memory",
        count(64, 10_000_000),
        "megabytes for a command and all that it begins",
    ),
    Key("tools.terminal.processes", "gateway.tools.terminal.processes", count(8, 100_000), "the same"),
    Key(
        "tools.terminal.output",
        "gateway.tools.terminal.output",
        count(10_000, 20_000_000),
        "bytes that are kept of what a command puts out",
    ),
    Key(
        "tools.terminal.env",
        "gateway.tools.terminal.env",
        names(_VARIABLE, str, 'a list of variables, like "JAVA_HOME"; none of our own'),
        "what commands see of the environment besides the usual",
    ),
    Key(
        "tools.fetch.allow_private",
        "gateway.tools.fetch.allow_private",
        switch(),
        "whether this machine and its network may be fetched from",
    ),
    Key("tools.fetch.most", "gateway.tools.fetch.most", count(1_000, 20_000_000), "bytes of one answer"),
    Key("tools.fetch.timeout", "gateway.tools.fetch.timeout", duration(SECOND, HOUR), "for one answer"),
    Key("processes.most", "gateway.processes.most", count(1, 100), "running in the background per session"),
    Key("processes.wakeups", "gateway.processes.wakeups", count(0, 100), "for watched output of one of them"),
    Key("processes.log", "gateway.processes.log", count(1, 10_000), "megabytes kept of what one puts out"),
    Key("processes.keep", "gateway.processes.keep", duration(), "how long that is kept after its end"),
    Key("processes.grace", "gateway.processes.grace", duration(0, 5 * MINUTE), "to end when it is killed"),
    Key("goals.budget", "gateway.goals.budget", count(1, 1_000), "turns a standing goal may take"),
    Key(
        "groups.per_person",
        "gateway.sharing.groups_per_person",
        switch(),
        "one session per person in a group",
    ),
    Key("threads.per_person", "gateway.sharing.threads_per_person", switch(), "the same for its threads"),
    Key("pairing.codes", "gateway.pairing.codes", count(0, 100), "a newcomer gets in an hour; 0: none"),
    Key("pairing.lasts", "gateway.pairing.lasts", duration(MINUTE, DAY), "how long a code is good"),
    Key("pairing.open", "gateway.pairing.open", count(1, 10_000), "codes that may be good at once"),
    Key("keep.events", "gateway.keep.events", duration(DAY), "how long traces are kept"),
    Key("keep.set_aside", "gateway.keep.set_aside", duration(DAY), "how long unreadable input is kept"),
    Key("keep.instances", "gateway.keep.instances", duration(DAY), "how long finished runs are kept"),
    Key(
        "web.port", "web.port", count(0, 65_535), "where the page is; 0 is any free one, kept across restarts"
    ),
    Key(
        "web.patience",
        "web.patience",
        duration(SECOND, MINUTE),
        "a message that could not be kept in that time (a full disk) is answered with 503",
    ),
    Key("web.host", "web.host", host(), "the address it is at; other machines reach all but a loopback one"),
    Key("web.allow_remote", "web.allow_remote", switch(), "whether that may be other than a loopback one"),
    Key(
        "web.hosts",
        "web.hosts",
        names(_HOST_AND_PORT, str, 'a list of names, like "gateway.example.org"'),
        "more names under which browsers may ask for it",
    ),
    Key(
        "web.demo",
        "web.demo",
        inherited(),
        "a button that kills the gateway; auto: for the demonstration agent",
    ),
    Key(
        "watchdog.loop",
        "watchdog.loop",
        duration(SECOND, HOUR),
        "an event loop that stands still for so long is ended, from outside",
    ),
    Key("watchdog.slack", "watchdog.slack", duration(SECOND, MINUTE), "beyond what a stop may take"),
)


def value_at(settings: object, path: str) -> object:
    """What stands at a path of the settings."""
    found: object = settings
    for name in path.split("."):
        found = found[name] if isinstance(found, Mapping) else getattr(found, name)
    return found


def with_value(tree: T, path: str, value: object) -> T:
    """The same tree with one value changed; a mapping is a branch of it like any other."""
    name, _, rest = path.partition(".")
    if isinstance(tree, Mapping):
        return cast(T, {**tree, name: with_value(tree[name], rest, value) if rest else value})
    if not is_dataclass(tree) or isinstance(tree, type) or name not in {f.name for f in fields(tree)}:
        raise LookupError(path)
    changed = with_value(getattr(tree, name), rest, value) if rest else value
    return replace(tree, **{name: changed})
