"""The values that people may set, with their defaults. Times are milliseconds."""

from __future__ import annotations

from enum import StrEnum

from holdfast.model import EffectClass
from holdfast.records import dataclass

from .containment import Requirement

SECOND = 1_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """How many turns run at once, and how resumed turns share the workers with new messages."""

    workers: int = 32
    counts: int = 30 * SECOND
    """For this time a resumed turn counts towards the half of the workers that resumed turns may hold."""


@dataclass(frozen=True, slots=True)
class RecoverySettings:
    """When the gateway resumes interrupted work, and when it stops."""

    window: int = HOUR
    """The gateway does not resume older work by itself; 0 means no limit."""
    strikes: int = 3
    interruptions: int = 8
    suspect_strikes: int = 2
    survive_at_least: int = 60 * SECOND


@dataclass(frozen=True, slots=True)
class SafeModeSettings:
    """When the gateway stops resuming by itself."""

    unclean_exits: int = 5
    within: int = 10 * MINUTE
    exits_after_park: int = 3
    clean_for: int = 10 * MINUTE


@dataclass(frozen=True, slots=True)
class ResetSettings:
    """When a fresh session replaces an old one; both None means never."""

    idle: int | None = None
    daily_at: int | None = None
    """Milliseconds after midnight UTC at which a day begins."""


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """How many messages may wait, how old and how long they may be."""

    most: int = 50
    backlog: int = DAY
    """The gateway does not run messages older than this: the person may send them again."""
    skew: int = 10 * SECOND
    """How far a platform's clock may be behind the gateway's when their times are compared."""
    longest: int = 32_000
    """Characters of one message."""


@dataclass(frozen=True, slots=True)
class PairingSettings:
    """Codes by which newcomers ask to be let in."""

    lasts: int = HOUR
    tries: int = 5
    """Wrong codes from one place before it has to wait."""
    codes: int = 3
    """Codes given to one newcomer before they have to wait; 0: no newcomer gets a code."""
    open: int = 50
    """Codes that may be valid at the same time; at this number, no newcomer gets another."""
    within: int = HOUR


@dataclass(frozen=True, slots=True)
class RetrySettings:
    """How the gateway repeats what failed: sends, model calls, commits."""

    first: int = SECOND
    most: int = 15 * MINUTE
    factor: float = 2.0
    age: int = DAY
    """For this time the gateway tries a failed send again."""
    repeats: int = 8
    """How often at most the gateway sends a part again, marked, that may have arrived."""
    aside: int = 20 * MINUTE
    """A part that fails for this long, while other sends of the account succeed, leaves its chat's line."""


@dataclass(frozen=True, slots=True)
class ProgressSettings:
    """When a running turn reports that it goes on, and when it counts as stuck: by time without progress,
    never by duration."""

    notice: int = 60 * SECOND
    """After this time the chat is told that the work goes on."""
    warn: int = 900 * SECOND
    abort: int = 1800 * SECOND
    recorded: int = 2 * SECOND
    """The gateway records what people saw of a reply or of a tool's output within this time."""


@dataclass(frozen=True, slots=True)
class LimitSettings:
    """What a turn or a chat may use before the gateway asks a person whether to go on; 0 means no limit."""

    steps: int = 50
    """Replies of the model in one turn."""
    turn_tokens: int = 0
    turn_cost: int = 0
    """In millionths of a dollar."""
    day_tokens: int = 0
    """Of one chat, from midnight to midnight UTC."""
    day_cost: int = 0


class Ruling(StrEnum):
    """Whether a tool call may run."""

    ALLOW = "allow"
    ASK = "ask"
    """The gateway asks a person about this one call."""
    DENY = "deny"


class Approver(StrEnum):
    """Who is asked for consent to a call that was caused by a person who is no owner."""

    OWNER = "owner"
    """An owner."""
    OWN = "own"
    """The person who caused it."""


@dataclass(frozen=True, slots=True)
class Rule:
    """The ruling for calls that match all conditions; a condition that is not set matches every call."""

    then: Ruling
    tools: tuple[str, ...] = ("*",)
    """Globs; one of them has to match the tool's name."""
    effect: EffectClass | None = None
    chat: str = "*"
    """A glob for the chat's address."""
    matches: str = ""
    """A regular expression that has to match somewhere in the arguments."""
    arguments: tuple[tuple[str, str], ...] = ()
    """Names of arguments, each with a regular expression for the whole of its value."""


@dataclass(frozen=True, slots=True)
class ApprovalSettings:
    """Which tool calls need a person's consent."""

    rules: tuple[Rule, ...] = ()
    """The first rule that matches decides; without one, the call's effect class decides."""
    read: Ruling = Ruling.ALLOW
    idempotent: Ruling = Ruling.ALLOW
    reconcilable: Ruling = Ruling.ALLOW
    effect: Ruling = Ruling.ALLOW
    expires: int = HOUR
    """How long the question stays open, and how long a yes is valid."""
    people: Approver = Approver.OWNER
    """Who is asked about calls that people cause who are no owners."""


@dataclass(frozen=True, slots=True)
class QuestionSettings:
    """The questions that agents ask people."""

    expires: int = DAY


class Workspaces(StrEnum):
    """Whose files the built-in tools work on."""

    SESSION = "session"
    """Each session has a folder of its own."""
    AGENT = "agent"
    """All sessions of an agent share one."""


@dataclass(frozen=True, slots=True)
class TerminalSettings:
    """What a command may use, with all processes that it starts."""

    timeout: int = 10 * MINUTE
    """The longest timeout a call may ask for."""
    memory: int = 2_048
    """Megabytes."""
    processes: int = 256
    output: int = 2_000_000
    """Bytes of its output that the gateway keeps: the beginning and the end."""
    env: frozenset[str] = frozenset()
    """Variables of the gateway's environment that a command sees besides the few it always sees."""


@dataclass(frozen=True, slots=True)
class FetchSettings:
    """What the fetch tool may fetch."""

    allow_private: bool = False
    """Also from this machine and its own network."""
    most: int = 2_000_000
    """Bytes of one answer."""
    timeout: int = 30 * SECOND


@dataclass(frozen=True, slots=True)
class ToolSettings:
    """Settings of every tool, and of the built-in ones."""

    use: frozenset[str] = frozenset()
    """The built-in tools that an agent gets besides its own."""
    timeout: int = 10 * MINUTE
    """How long a tool may run without a sign of life, if it names no time itself."""
    shown: int = 16_000
    """Characters of one result that a model reads; the gateway keeps a longer one whole beside the ledger."""
    workspace: Workspaces = Workspaces.SESSION
    containment: Requirement = Requirement.REQUIRED
    """Whether commands, background processes and MCP programs may run uncontained."""
    network: bool = True
    """Whether contained programs reach the network."""
    protected: tuple[str, ...] = ()
    """Patterns of paths in workspaces that contained code and file tools may not change."""
    terminal: TerminalSettings = TerminalSettings()
    fetch: FetchSettings = FetchSettings()


@dataclass(frozen=True, slots=True)
class ProcessSettings:
    """Background processes."""

    most: int = 8
    """How many may run in one session."""
    wakeups: int = 5
    """How often the output of one process may wake its session."""
    log: int = 10
    """Megabytes of one process's output that the gateway keeps."""
    keep: int = 7 * DAY
    """How long the gateway keeps the output after the end of the process."""
    grace: int = 5 * SECOND
    """How long a process has to end by itself when it is killed."""


@dataclass(frozen=True, slots=True)
class GoalSettings:
    """Standing goals."""

    budget: int = 20
    """Turns that one goal may take."""


@dataclass(frozen=True, slots=True)
class TurnSettings:
    """How a worker runs one turn."""

    grace: int = 5 * SECOND
    """How long a tool has to end by itself once its turn is cut."""
    model_tries: int = 4
    """How often the gateway asks a model that says that it may answer a little later."""
    output_every: int = 30 * SECOND
    """The least time between two records of output as progress."""
    retry: RetrySettings = RetrySettings(first=SECOND, most=MINUTE)
    """The waits between tries of a model, and of a commit while the machine is at fault."""
    progress: ProgressSettings = ProgressSettings()
    limits: LimitSettings = LimitSettings()
    approvals: ApprovalSettings = ApprovalSettings()
    questions: QuestionSettings = QuestionSettings()
    tools: ToolSettings = ToolSettings()
    processes: ProcessSettings = ProcessSettings()
