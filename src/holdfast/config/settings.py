"""Everything a gateway can be told before it starts, as one frozen tree; times are milliseconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from pathlib import Path

from holdfast.model import BusyMode, ChatAddress, OnInterruption, PersonId, Sharing
from holdfast.policy.intake.access import Access
from holdfast.policy.settings import (
    MINUTE,
    SECOND,
    ApprovalSettings,
    GoalSettings,
    LimitSettings,
    PairingSettings,
    ProcessSettings,
    ProgressSettings,
    QuestionSettings,
    QueueSettings,
    RecoverySettings,
    ResetSettings,
    RetrySettings,
    SafeModeSettings,
    ToolSettings,
    WorkerSettings,
)
from holdfast.records import dataclass
from holdfast.store import Keep
from holdfast.tools.mcp import McpSettings

LOCAL_PERSON = PersonId("web:local")
"""Whoever can open the home's socket: the file's owner, and nobody else."""

TOOLS = ("terminal", "files", "fetch", "todo", "history", "ask", "processes", "goal")
"""What an agent of the configuration may use unless that says otherwise."""


@dataclass(frozen=True, slots=True)
class DrainSettings:
    """How long an orderly stop may take."""

    wait: int = 60 * SECOND
    """For running turns and owed replies, before what is left is cut."""
    teardown: int = 9 * SECOND
    """For letting go of platforms and stages, after that."""
    reply: int = 30 * SECOND
    """For the reply of a turn that asked for a restart, before the restart begins."""


@dataclass(frozen=True, slots=True)
class AlertSettings:
    """When the owner is told of what may need a hand."""

    deaf: int = 5 * MINUTE
    """A platform could not be reached for so long."""
    disk: int = 500
    """Fewer megabytes are left."""
    hung: int = 2 * MINUTE
    """All workers but those kept for new messages have not moved for so long."""
    unsettled: int = MINUTE
    """So long after a start something of the run before is still unsettled."""


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """What the stages follow; the same under the simulator."""

    workers: int = WorkerSettings().workers
    resume_counts: int = WorkerSettings().counts
    """For so long a resumed turn counts towards the half of the workers that resumed turns may hold."""
    grace: int = 5 * SECOND
    """Given to running tools when their turn is stopped."""
    heartbeat: int = 10 * SECOND
    reconcile: int = 5 * SECOND
    busy: BusyMode = BusyMode.QUEUE
    on_interruption: OnInterruption = OnInterruption.RESUME
    owner_chat: ChatAddress | None = None
    """Where the owner is told of what may need a hand."""
    alerts: AlertSettings = AlertSettings()
    drain: DrainSettings = DrainSettings()
    recovery: RecoverySettings = RecoverySettings()
    safe_mode: SafeModeSettings = SafeModeSettings()
    reset: ResetSettings = ResetSettings()
    queue: QueueSettings = QueueSettings()
    retry: RetrySettings = RetrySettings()
    progress: ProgressSettings = ProgressSettings()
    limits: LimitSettings = LimitSettings()
    questions: QuestionSettings = QuestionSettings()
    approvals: ApprovalSettings = ApprovalSettings()
    tools: ToolSettings = ToolSettings()
    processes: ProcessSettings = ProcessSettings()
    goals: GoalSettings = GoalSettings()
    sharing: Sharing = Sharing()
    pairing: PairingSettings = PairingSettings()
    keep: Keep = Keep()


@dataclass(frozen=True, slots=True)
class WatchdogSettings:
    """When a process that hangs is ended."""

    loop: int = 30 * SECOND
    """The event loop has not turned for so long."""
    slack: int = 5 * SECOND
    """Beyond what an orderly stop may take."""


@dataclass(frozen=True, slots=True)
class WebSettings:
    """Where the page is, and for whom."""

    port: int = 8787
    """0 is any free one."""
    host: str = "127.0.0.1"
    allow_remote: bool = False
    """Whether the page may be where other machines reach it."""
    hosts: frozenset[str] = frozenset()
    """Names under which a proxy or another machine may ask for it."""
    patience: int = 5 * SECOND
    """A message that could not be kept in that time is answered: try again."""
    demo: bool | None = None
    """Whether people may kill the gateway to see what happens; None: when the demonstration answers."""


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """Who answers."""

    use: str = "demo"
    routes: tuple[tuple[str, str], ...] = ()
    """Who answers where: a pattern of addresses and an agent each; the first that fits."""
    pace: int = SECOND // 2
    """Per beat of the demonstration's work."""


class Effort(StrEnum):
    """How hard a model should think before it answers."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Provider(StrEnum):
    """Whose protocol a model is spoken to in."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"


@dataclass(frozen=True, slots=True)
class NamedAgent:
    """One `[agents.NAME]`: a model of a provider, and what it may use. Prices are millionths of a dollar."""

    model: str = ""
    provider: Provider = Provider.OPENAI
    models: tuple[str, ...] = ()
    base_url: str | None = None
    key_env: str | None = None
    """The name of the variable that holds the key; the key itself stands in no settings."""
    key_file: Path | None = None
    instructions: Path | None = None
    tools: tuple[str, ...] = TOOLS
    mcp: tuple[str, ...] = ("*",)
    """Patterns of the names of servers whose tools it gets besides."""
    read: tuple[Path, ...] = ()
    """What its commands and background processes see besides their workspace."""
    write: tuple[Path, ...] = ()
    """What they may change as well."""
    images: bool = True
    context: int = 128_000
    max_output: int = 8_192
    effort: Effort | None = None
    timeout: int = 5 * MINUTE
    price_input: int = 0
    price_cached: int | None = None
    price_output: int = 0


class Reading(StrEnum):
    """How what people write reaches us."""

    POLLING = "polling"
    WEBHOOK = "webhook"


@dataclass(frozen=True, slots=True)
class TelegramSettings:
    """One bot; its token stands in no settings."""

    token_env: str | None = None
    token_file: Path | None = None
    base_url: str = "https://api.telegram.org"
    reading: Reading = Reading.POLLING
    webhook_url: str | None = None
    webhook_host: str = "127.0.0.1"
    webhook_port: int = 8443

    @property
    def is_on(self) -> bool:
        """Whether there is a bot to be served."""
        return self.token_env is not None or self.token_file is not None


@dataclass(frozen=True, slots=True)
class Settings:
    """One gateway, as configured."""

    home: Path
    gateway: GatewaySettings = GatewaySettings()
    agent: AgentSettings = AgentSettings()
    agents: Mapping[str, NamedAgent] = field(default_factory=dict)
    """By the names people gave them."""
    mcp: Mapping[str, McpSettings] = field(default_factory=dict)
    """Servers of tools, by the names people gave them."""
    watchdog: WatchdogSettings = WatchdogSettings()
    web: WebSettings = WebSettings()
    telegram: TelegramSettings = TelegramSettings()
    platforms: tuple[str, ...] = ()
    """Platforms of other packages, by the names under which they are offered."""
    platform_tables: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """What the file says for each of them; only they know what it means, and whether it is a secret."""
    access: Access = field(default_factory=lambda: Access(owners=frozenset({LOCAL_PERSON})))

    @property
    def demo(self) -> bool:
        """Whether this gateway is there to be tried out."""
        return self.agent.use == "demo" if self.web.demo is None else self.web.demo
