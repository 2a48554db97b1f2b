"""Every setting of a gateway, as one frozen tree. Times are milliseconds."""

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
"""The person who can open the home's socket: only the owner of the file can."""

TOOLS = ("terminal", "files", "fetch", "todo", "history", "ask", "processes", "goal")
"""The tools that a configured agent may use by default."""


@dataclass(frozen=True, slots=True)
class DrainSettings:
    """How long an orderly stop may take."""

    wait: int = 60 * SECOND
    """Time for running turns and owed replies, before the gateway interrupts the rest."""
    teardown: int = 9 * SECOND
    """Time to close platforms and stages after that."""
    reply: int = 30 * SECOND
    """Time for the reply of a turn that asked for a restart, before the restart begins."""


@dataclass(frozen=True, slots=True)
class AlertSettings:
    """When the gateway sends the owner an alert."""

    deaf: int = 5 * MINUTE
    """A platform was unreachable for so long."""
    disk: int = 500
    """Fewer megabytes than this are free."""
    hung: int = 2 * MINUTE
    """All workers but those kept for new messages made no progress for so long."""
    unsettled: int = MINUTE
    """So long after a start, work of the last run is still unsettled."""


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """The settings of the stages; the simulator uses the same."""

    workers: int = WorkerSettings().workers
    resume_counts: int = WorkerSettings().counts
    """How long a resumed turn counts towards the half of the workers that resumed turns may hold."""
    grace: int = 5 * SECOND
    """Time for running tools when their turn is stopped."""
    heartbeat: int = 10 * SECOND
    reconcile: int = 5 * SECOND
    busy: BusyMode = BusyMode.QUEUE
    on_interruption: OnInterruption = OnInterruption.RESUME
    owner_chat: ChatAddress | None = None
    """The chat where the owner gets alerts."""
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
    """The event loop has hung for so long."""
    slack: int = 5 * SECOND
    """A stop takes so much longer than it may."""


@dataclass(frozen=True, slots=True)
class WebSettings:
    """The address of the page, and who reaches it."""

    port: int = 8787
    """0 is any free port."""
    host: str = "127.0.0.1"
    allow_remote: bool = False
    """Whether the page may have an address that other machines reach."""
    hosts: frozenset[str] = frozenset()
    """Host names under which a proxy or another machine may ask for the page."""
    patience: int = 5 * SECOND
    """If the gateway cannot keep a message in this time, it answers: try again."""
    demo: bool | None = None
    """Whether the page has a button that kills the gateway; None: only with the demonstration agent."""


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """Which agent answers."""

    use: str = "demo"
    routes: tuple[tuple[str, str], ...] = ()
    """Patterns of addresses, each with the agent that answers there; the first that matches decides."""
    pace: int = SECOND // 2
    """Length of one beat of the demonstration agent."""


class Effort(StrEnum):
    """How hard a model should think before it answers."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Provider(StrEnum):
    """The protocol of a model."""

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
    """The name of the variable that holds the key. Settings never contain the key itself."""
    key_file: Path | None = None
    instructions: Path | None = None
    tools: tuple[str, ...] = TOOLS
    mcp: tuple[str, ...] = ("*",)
    """Patterns of the names of MCP servers whose tools it also gets."""
    read: tuple[Path, ...] = ()
    """What its commands and background processes may read besides their workspace."""
    write: tuple[Path, ...] = ()
    """What they may change besides their workspace."""
    images: bool = True
    context: int = 128_000
    max_output: int = 8_192
    effort: Effort | None = None
    timeout: int = 5 * MINUTE
    price_input: int = 0
    price_cached: int | None = None
    price_output: int = 0


class Reading(StrEnum):
    """How messages from Telegram reach the gateway."""

    POLLING = "polling"
    WEBHOOK = "webhook"


@dataclass(frozen=True, slots=True)
class TelegramSettings:
    """One bot. Settings never contain its token."""

    token_env: str | None = None
    token_file: Path | None = None
    base_url: str = "https://api.telegram.org"
    reading: Reading = Reading.POLLING
    webhook_url: str | None = None
    webhook_host: str = "127.0.0.1"
    webhook_port: int = 8443

    @property
    def is_on(self) -> bool:
        """Whether the gateway serves a bot."""
        return self.token_env is not None or self.token_file is not None


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one gateway."""

    home: Path
    gateway: GatewaySettings = GatewaySettings()
    agent: AgentSettings = AgentSettings()
    agents: Mapping[str, NamedAgent] = field(default_factory=dict)
    """By the names of their tables."""
    mcp: Mapping[str, McpSettings] = field(default_factory=dict)
    """MCP servers, by the names of their tables."""
    watchdog: WatchdogSettings = WatchdogSettings()
    web: WebSettings = WebSettings()
    telegram: TelegramSettings = TelegramSettings()
    platforms: tuple[str, ...] = ()
    """Platforms from other packages, by the names that the packages give them."""
    platform_tables: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """The file's table for each of them. Only the platform knows what it means, and whether it is secret."""
    access: Access = field(default_factory=lambda: Access(owners=frozenset({LOCAL_PERSON})))

    @property
    def demo(self) -> bool:
        """Whether this gateway is for trying Holdfast out."""
        return self.agent.use == "demo" if self.web.demo is None else self.web.demo
