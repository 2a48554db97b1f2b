"""The keys of `holdfast.toml`: the values each takes, its place in the settings, what it means."""

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
    """Its place in `Settings`, attribute by attribute."""
    kind: KeyKind
    help: str

    @property
    def variable(self) -> str:
        """Its variable in the environment."""
        return "HOLDFAST_" + self.name.upper().replace(".", "_").replace("-", "_")


_RULING = choice(Ruling)
_PEOPLE = names(PERSON, PersonId, 'a list of immutable ids, like "telegram:123456"')

KEYS: tuple[Key, ...] = (
    Key("owners", "access.owners", _PEOPLE, "people who may do everything, /restart included"),
    Key("people", "access.people", _PEOPLE, "people who may talk to the agent"),
    Key(
        "chats",
        "access.chats",
        names(CHAT, ChatAddress, 'a list of addresses, like "telegram/bot/-100123"'),
        "groups in which these people may talk",
    ),
    Key("owner_chat", "gateway.owner_chat", address(), "the chat where the owner gets alerts"),
    Key(
        "alerts.deaf",
        "gateway.alerts.deaf",
        duration(SECOND, DAY),
        "the owner gets an alert when a platform is unreachable for so long",
    ),
    Key(
        "alerts.disk",
        "gateway.alerts.disk",
        count(0, 10_000_000),
        "the owner gets an alert when fewer megabytes than this are free",
    ),
    Key(
        "alerts.hung",
        "gateway.alerts.hung",
        duration(SECOND, DAY),
        "the owner gets an alert when all workers but those for new messages make no progress for so long",
    ),
    Key(
        "alerts.unsettled",
        "gateway.alerts.unsettled",
        duration(0, HOUR),
        "the owner gets an alert when work of the last run is still unsettled so long after a start",
    ),
    Key("agent.use", "agent.use", agent_name(), "the agent that answers; default: the first [agents.NAME]"),
    Key(
        "routes",
        "agent.routes",
        routes(),
        "which agent answers in which chat: the first pattern that matches, else agent.use",
    ),
    Key("agent.pace", "agent.pace", duration(0, MINUTE), "length of one beat of the demonstration agent"),
    Key(
        "workers",
        "gateway.workers",
        count(1, 256),
        "turns that run at the same time; a quarter, at least one unless this is 1, is kept for new messages",
    ),
    Key(
        "busy",
        "gateway.busy",
        choice(BusyMode),
        "what happens to a message that comes while a turn runs; a chat may choose for itself",
    ),
    Key(
        "on_interruption",
        "gateway.on_interruption",
        choice(OnInterruption),
        "what happens to interrupted work; a chat may choose for itself",
    ),
    Key("grace", "gateway.grace", duration(0, 5 * MINUTE), "time for running tools when a turn is stopped"),
    Key("heartbeat", "gateway.heartbeat", duration(SECOND, 5 * MINUTE), "time between two heartbeats"),
    Key(
        "reconcile",
        "gateway.reconcile",
        duration(SECOND, 5 * MINUTE),
        "time between two looks for interrupted work",
    ),
    Key("drain.wait", "gateway.drain.wait", duration(0, HOUR), "time for running turns and owed replies"),
    Key(
        "drain.teardown",
        "gateway.drain.teardown",
        duration(SECOND, 5 * MINUTE),
        "time to close everything after that",
    ),
    Key(
        "drain.reply",
        "gateway.drain.reply",
        duration(0, 10 * MINUTE),
        "time for the reply of the turn that asked for a restart",
    ),
    Key(
        "resume.window",
        "gateway.recovery.window",
        duration(),
        "interrupted work older than this is not resumed by itself; 0 is no limit",
    ),
    Key(
        "resume.counts",
        "gateway.resume_counts",
        duration(SECOND, HOUR),
        "how long a resumed turn counts towards the half of the workers that resumed turns may hold",
    ),
    Key("resume.strikes", "gateway.recovery.strikes", count(1, 20), "strikes in a row that park a session"),
    Key(
        "resume.interruptions",
        "gateway.recovery.interruptions",
        count(1, 100),
        "most interruptions of one turn",
    ),
    Key(
        "safe_mode.exits", "gateway.safe_mode.unclean_exits", count(2, 100), "crashes that turn safe mode on"
    ),
    Key("safe_mode.within", "gateway.safe_mode.within", duration(MINUTE, DAY), "time in which they count"),
    Key(
        "safe_mode.clean",
        "gateway.safe_mode.clean_for",
        duration(MINUTE, DAY),
        "time without a crash that turns safe mode off",
    ),
    Key(
        "reset.idle",
        "gateway.reset.idle",
        duration(MINUTE, never=True),
        "a message after so much quiet begins a new session",
    ),
    Key(
        "reset.daily_at",
        "gateway.reset.daily_at",
        duration(0, DAY - 1, never=True),
        "the first message of a day begins a new session; days begin so long after midnight UTC",
    ),
    Key("queue.most", "gateway.queue.most", count(1, 10_000), "messages that may wait in one conversation"),
    Key(
        "queue.longest", "gateway.queue.longest", count(100, 1_000_000), "characters that a message may have"
    ),
    Key(
        "queue.backlog",
        "gateway.queue.backlog",
        duration(MINUTE),
        "the gateway does not run older messages, but offers to",
    ),
    Key("retry.first", "gateway.retry.first", duration(100, MINUTE), "wait before the first repeated send"),
    Key("retry.most", "gateway.retry.most", duration(SECOND, HOUR), "longest wait between two sends"),
    Key("retry.factor", "gateway.retry.factor", factor(1, 10), "factor by which the waits grow"),
    Key("retry.age", "gateway.retry.age", duration(MINUTE, 2 * DAY), "how long a failed send is retried"),
    Key(
        "retry.repeats",
        "gateway.retry.repeats",
        count(1, 100),
        "how often a part that may have arrived is sent again, marked",
    ),
    Key(
        "retry.aside",
        "gateway.retry.aside",
        duration(SECOND, DAY),
        "how long a part may fail before later replies go first",
    ),
    Key(
        "progress.notice",
        "gateway.progress.notice",
        duration(SECOND),
        "how long a turn runs before the chat gets a notice",
    ),
    Key(
        "progress.warn",
        "gateway.progress.warn",
        duration(SECOND),
        "time without progress before the gateway says so",
    ),
    Key(
        "progress.abort",
        "gateway.progress.abort",
        duration(SECOND),
        "time without progress before a turn fails",
    ),
    Key(
        "progress.recorded",
        "gateway.progress.recorded",
        duration(SECOND // 10, MINUTE),
        "time within which the ledger records what people see of an answer or of output",
    ),
    Key(
        "limits.steps",
        "gateway.limits.steps",
        count(0, 10_000),
        "steps of a turn before the gateway asks a person whether to continue; 0 is no limit",
    ),
    Key("limits.turn_tokens", "gateway.limits.turn_tokens", count(0, 10**12), "the same in tokens"),
    Key("limits.turn_cost", "gateway.limits.turn_cost", dollars(), "the same in dollars"),
    Key(
        "limits.day_tokens",
        "gateway.limits.day_tokens",
        count(0, 10**12),
        "tokens of one chat in a day (UTC) before the gateway asks; 0 is no limit",
    ),
    Key("limits.day_cost", "gateway.limits.day_cost", dollars(), "the same in dollars"),
    Key(
        "questions.expires",
        "gateway.questions.expires",
        duration(MINUTE),
        "how long a question of the agent waits for an answer",
    ),
    Key(
        "approvals.rules",
        "gateway.approvals.rules",
        KeyKind(ALLOWED_RULES, read_rules, show_rules),
        "which tool calls run, need consent, or never run; the first rule that matches decides",
    ),
    Key("approvals.read", "gateway.approvals.read", _RULING, "calls that change nothing, if no rule matches"),
    Key(
        "approvals.idempotent",
        "gateway.approvals.idempotent",
        _RULING,
        "calls that may be repeated, if no rule matches",
    ),
    Key(
        "approvals.reconcilable",
        "gateway.approvals.reconcilable",
        _RULING,
        "calls whose outcome a tool can look up, if no rule matches",
    ),
    Key(
        "approvals.effect",
        "gateway.approvals.effect",
        _RULING,
        "commands, and calls that must not be repeated, if no rule matches; default: ask, if there is an "
        "[agents.NAME], an [mcp.NAME] or tools.use",
    ),
    Key(
        "approvals.expires",
        "gateway.approvals.expires",
        duration(MINUTE),
        "how long a request for consent waits, and how long the consent is valid",
    ),
    Key(
        "approvals.people",
        "gateway.approvals.people",
        choice(Approver),
        "who is asked about a call of a person who is not an owner: an owner, or that person",
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
        "how long a tool may run without a sign of life, if it sets no time itself",
    ),
    Key(
        "tools.shown",
        "gateway.tools.shown",
        count(1_000, 1_000_000),
        "characters of a result that a model sees",
    ),
    Key("tools.workspace", "gateway.tools.workspace", choice(Workspaces), "whose files the tools work on"),
    Key(
        "tools.terminal.timeout",
        "gateway.tools.terminal.timeout",
        duration(SECOND, DAY),
        "longest time that one command may take",
    ),
    Key(
        "tools.terminal.memory",
        "gateway.tools.terminal.memory",
        count(64, 10_000_000),
        "megabytes of memory for a command and all that it starts",
    ),
    Key(
        "tools.terminal.processes",
        "gateway.tools.terminal.processes",
        count(8, 100_000),
        "processes for a command and all that it starts",
    ),
    Key(
        "tools.terminal.output",
        "gateway.tools.terminal.output",
        count(10_000, 20_000_000),
        "bytes of a command's output that are kept",
    ),
    Key(
        "tools.terminal.env",
        "gateway.tools.terminal.env",
        names(VARIABLE, str, 'a list of variables, like "JAVA_HOME"; none that begins with HOLDFAST_'),
        "variables that commands see besides the usual ones",
    ),
    Key(
        "tools.fetch.allow_private",
        "gateway.tools.fetch.allow_private",
        switch(),
        "whether agents may fetch from this machine and its network",
    ),
    Key("tools.fetch.most", "gateway.tools.fetch.most", count(1_000, 20_000_000), "most bytes of one answer"),
    Key("tools.fetch.timeout", "gateway.tools.fetch.timeout", duration(SECOND, HOUR), "time for one answer"),
    Key("processes.most", "gateway.processes.most", count(1, 100), "background processes of one session"),
    Key(
        "processes.wakeups",
        "gateway.processes.wakeups",
        count(0, 100),
        "how often the watched output of one process may wake its session",
    ),
    Key(
        "processes.log",
        "gateway.processes.log",
        count(1, 10_000),
        "megabytes of one process's output that are kept",
    ),
    Key("processes.keep", "gateway.processes.keep", duration(), "how long that is kept after its end"),
    Key(
        "processes.grace",
        "gateway.processes.grace",
        duration(0, 5 * MINUTE),
        "time that a process gets to end when it is killed",
    ),
    Key("goals.budget", "gateway.goals.budget", count(1, 1_000), "turns that a goal may take"),
    Key(
        "groups.per_person",
        "gateway.sharing.groups_per_person",
        switch(),
        "whether each person in a group has a session of their own",
    ),
    Key("threads.per_person", "gateway.sharing.threads_per_person", switch(), "the same for its threads"),
    Key("pairing.codes", "gateway.pairing.codes", count(0, 100), "codes a newcomer gets in an hour; 0: none"),
    Key("pairing.lasts", "gateway.pairing.lasts", duration(MINUTE, DAY), "how long a code is valid"),
    Key("pairing.open", "gateway.pairing.open", count(1, 10_000), "codes that may be valid at the same time"),
    Key("keep.events", "gateway.keep.events", duration(DAY), "how long traces are kept"),
    Key("keep.set_aside", "gateway.keep.set_aside", duration(DAY), "how long unreadable input is kept"),
    Key("keep.instances", "gateway.keep.instances", duration(DAY), "how long finished runs are kept"),
    Key(
        "web.port",
        "web.port",
        count(0, 65_535),
        "the port of the page; 0 is any free port, kept across restarts",
    ),
    Key(
        "web.patience",
        "web.patience",
        duration(SECOND, MINUTE),
        "if the gateway cannot keep a message in this time (a full disk), it answers 503",
    ),
    Key(
        "web.host",
        "web.host",
        host(),
        "the address of the page; other machines reach any address but a loopback one",
    ),
    Key(
        "web.allow_remote",
        "web.allow_remote",
        switch(),
        "whether web.host may be an address that other machines reach",
    ),
    Key(
        "web.hosts",
        "web.hosts",
        names(HOST_AND_PORT, str, 'a list of names, like "gateway.example.org"'),
        "more host names under which browsers may ask for the page",
    ),
    Key(
        "web.demo",
        "web.demo",
        inherited(),
        "whether the page has a button that kills the gateway; auto: for the demonstration agent",
    ),
    Key(
        "watchdog.loop",
        "watchdog.loop",
        duration(SECOND, HOUR),
        "if the event loop hangs for so long, a watcher outside of the process ends it",
    ),
    Key(
        "watchdog.slack",
        "watchdog.slack",
        duration(SECOND, MINUTE),
        "a stop that takes so much longer than it may is ended at once",
    ),
)


def value_at(settings: object, path: str) -> object:
    """The value at a path of the settings."""
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
