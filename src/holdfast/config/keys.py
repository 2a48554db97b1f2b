"""The keys of `holdfast.toml`: what each may be, where it goes in the settings, what it means."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TypeVar, cast

from holdfast.model import BusyMode, ChatAddress, OnInterruption, PersonId
from holdfast.policy.settings import DAY, HOUR, MINUTE, SECOND, Approver, Ruling, Workspaces
from holdfast.records import dataclass
from holdfast.tools.builtin import NAMES

from .approval_rules import ALLOWED_RULES, read_rules, show_rules
from .kinds import (
    CHAT,
    HOST_AND_PORT,
    PERSON,
    VARIABLE,
    KeyKind,
    address,
    agent_name,
    choice,
    count,
    dollars,
    duration,
    factor,
    host,
    inherited,
    names,
    routes,
    switch,
)

T = TypeVar("T")
N = TypeVar("N", int, float)


@dataclass(frozen=True, slots=True)
class Key:
    """One key people may set."""

    name: str
    path: str
    """Where it stands in `Settings`, attribute by attribute."""
    kind: KeyKind
    help: str

    @property
    def variable(self) -> str:
        """The environment's name for it."""
        return "HOLDFAST_" + self.name.upper().replace(".", "_").replace("-", "_")


_RULING = choice(Ruling)
_PEOPLE = names(PERSON, PersonId, 'a list of immutable ids, like "telegram:123456"')

KEYS: tuple[Key, ...] = (
    Key("owners", "access.owners", _PEOPLE, "who may do everything, /restart included"),
    Key("people", "access.people", _PEOPLE, "who may talk"),
    Key(
        "chats",
        "access.chats",
        names(CHAT, ChatAddress, 'a list of addresses, like "telegram/bot/-100123"'),
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
        KeyKind(ALLOWED_RULES, read_rules, show_rules),
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
        names(VARIABLE, str, 'a list of variables, like "JAVA_HOME"; none of our own'),
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
        names(HOST_AND_PORT, str, 'a list of names, like "gateway.example.org"'),
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
