"""The numbers people may set, with their defaults. Times are milliseconds."""

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
    """How many turns run at once, and how resumed ones share that with new messages."""

    workers: int = 32
    counts: int = 30 * SECOND
    """For so long a resumed turn counts towards the half of the workers that resumed turns may hold."""


@dataclass(frozen=True, slots=True)
class RecoverySettings:
    """What becomes of interrupted work."""

    window: int = HOUR
    """Older work is not resumed by itself; 0 means no limit."""
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
    """When an old conversation gives way to a fresh session; both None means never."""

    idle: int | None = None
    daily_at: int | None = None
    """Milliseconds after midnight UTC at which a day begins."""


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """Messages that wait."""

    most: int = 50
    backlog: int = DAY
    """Messages older than this are offered, not run."""
    skew: int = 10 * SECOND
    """How far a platform's clock may be behind ours when we ask what was sent before what."""
    longest: int = 32_000
    """Characters one message may have."""


@dataclass(frozen=True, slots=True)
class PairingSettings:
    """Codes by which newcomers ask to be let in."""

    lasts: int = HOUR
    tries: int = 5
    """Wrong codes from one place before it has to wait."""
    codes: int = 3
    """Codes given to one newcomer before they have to wait; 0: nobody gets any."""
    open: int = 50
    """Codes that may be good at the same time; while there are so many, nobody gets another."""
    within: int = HOUR


@dataclass(frozen=True, slots=True)
class RetrySettings:
    """How sends are tried again."""

    first: int = SECOND
    most: int = 15 * MINUTE
    factor: float = 2.0
    age: int = DAY
    """Until then a failed send is tried again."""
    repeats: int = 8
    """How often at most a part that may have arrived is sent again, marked, in the whole of that time."""
    aside: int = 20 * MINUTE
    """A part that fails for so long, while other sends of the account succeed, leaves its chat's line."""


@dataclass(frozen=True, slots=True)
class ProgressSettings:
    """When a running turn says that it goes on, and when it counts as stuck: time without progress, never
    duration."""

    notice: int = 60 * SECOND
    """Work of this length is spoken of."""
    warn: int = 900 * SECOND
    abort: int = 1800 * SECOND
    recorded: int = 2 * SECOND
    """What people were shown of a reply or of a tool's output is recorded within this time."""


@dataclass(frozen=True, slots=True)
class LimitSettings:
    """What may be used before a person is asked whether to go on; 0 means no limit."""

    steps: int = 50
    """Replies of the model in one turn."""
    turn_tokens: int = 0
    turn_cost: int = 0
    """In millionths of a dollar."""
    day_tokens: int = 0
    """Of one chat, from midnight to midnight UTC."""
    day_cost: int = 0


class Ruling(StrEnum):
    """What becomes of a tool call before it runs."""

    ALLOW = "allow"
    ASK = "ask"
    """A person is asked, about this one call."""
    DENY = "deny"


class Approver(StrEnum):
    """Who is asked for consent to a call that a person who is no owner has caused."""

    OWNER = "owner"
    """An owner."""
    OWN = "own"
    """The person who caused it."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What becomes of calls that fit all of it; what it leaves out fits any."""

    then: Ruling
    tools: tuple[str, ...] = ("*",)
    """Globs; one of them fits the tool's name."""
    effect: EffectClass | None = None
    chat: str = "*"
    """A glob for the chat's address."""
    matches: str = ""
    """A regular expression, found somewhere in the arguments."""
    arguments: tuple[tuple[str, str], ...] = ()
    """Names of arguments, each with a regular expression for the whole of its value."""


@dataclass(frozen=True, slots=True)
class ApprovalSettings:
    """Which tool calls need a person's consent."""

    rules: tuple[Rule, ...] = ()
    """The first that fits decides; what no rule fits goes by its effect class."""
    read: Ruling = Ruling.ALLOW
    idempotent: Ruling = Ruling.ALLOW
    reconcilable: Ruling = Ruling.ALLOW
    effect: Ruling = Ruling.ALLOW
    expires: int = HOUR
    """How long a person may be asked, and how long their yes is good for."""
    people: Approver = Approver.OWNER
    """Who is asked about the calls of people who are no owners."""


@dataclass(frozen=True, slots=True)
class QuestionSettings:
    """What agents ask people."""

    expires: int = DAY


class Workspaces(StrEnum):
    """Whose files the built-in tools work on."""

    SESSION = "session"
    """Each session has a folder of its own."""
    AGENT = "agent"
    """All sessions of an agent share one."""


@dataclass(frozen=True, slots=True)
class TerminalSettings:
    """What a command may use, all that it begins included."""

    timeout: int = 10 * MINUTE
    """The longest a call may ask for."""
    memory: int = 2_048
    """Megabytes."""
    processes: int = 256
    output: int = 2_000_000
    """Bytes of its output that are kept: the beginning and the end."""
    env: frozenset[str] = frozenset()
    """Variables of the gateway's environment that it sees besides the few it always does."""


@dataclass(frozen=True, slots=True)
class FetchSettings:
    """What may be fetched."""

    allow_private: bool = False
    """Also from this machine and its own network."""
    most: int = 2_000_000
    """Bytes of one answer."""
    timeout: int = 30 * SECOND


@dataclass(frozen=True, slots=True)
class ToolSettings:
    """What holds for every tool, and what the built-in ones follow."""

    use: frozenset[str] = frozenset()
    """The built-in tools an agent is given besides its own."""
    timeout: int = 10 * MINUTE
    """Without a sign of life, for a run of a tool that names no time itself."""
    shown: int = 16_000
    """Characters of one result that a model is shown; a longer one is kept whole beside the ledger."""
    workspace: Workspaces = Workspaces.SESSION
    containment: Requirement = Requirement.REQUIRED
    """Whether commands, background processes and MCP programs may run uncontained."""
    network: bool = True
    """Whether contained programs reach the network."""
    protected: tuple[str, ...] = ()
    """Patterns of places in workspaces that contained code and file tools may not change."""
    terminal: TerminalSettings = TerminalSettings()
    fetch: FetchSettings = FetchSettings()


@dataclass(frozen=True, slots=True)
class ProcessSettings:
    """Background processes."""

    most: int = 8
    """Running ones of one session."""
    wakeups: int = 5
    """How often watched-for output of one process may wake its session."""
    log: int = 10
    """Megabytes that are kept of what one puts out."""
    keep: int = 7 * DAY
    """How long that is kept after its end."""
    grace: int = 5 * SECOND
    """To end by itself when it is killed."""


@dataclass(frozen=True, slots=True)
class GoalSettings:
    """Standing goals."""

    budget: int = 20
    """Turns one may take."""


@dataclass(frozen=True, slots=True)
class TurnSettings:
    """How one turn is run."""

    grace: int = 5 * SECOND
    """What a tool gets to end by itself once its turn is cut."""
    model_tries: int = 4
    """How often a model is asked that says it may answer a little later."""
    output_every: int = 30 * SECOND
    """Output of a tool or a model is journaled as progress this often at most."""
    retry: RetrySettings = RetrySettings(first=SECOND, most=MINUTE)
    """The waits between tries of a model, and of a commit while the machine is at fault."""
    progress: ProgressSettings = ProgressSettings()
    limits: LimitSettings = LimitSettings()
    approvals: ApprovalSettings = ApprovalSettings()
    questions: QuestionSettings = QuestionSettings()
    tools: ToolSettings = ToolSettings()
    processes: ProcessSettings = ProcessSettings()
