"""The store's contract: domain verbs, each one commit, each with its guarantee."""

from __future__ import annotations

from typing import Protocol

from holdfast.model import InstanceId

from .allowed_calls import RULE_USED, AllowedCalls
from .arrival import AS_CONFIGURED, ArrivalSettings
from .blobs import Blob, Blobs
from .delivery import Deliveries, Processes
from .drain import DrainVerbs, RunningTurn
from .erase import BEGUN, FORGOTTEN, Erase, Scope
from .goals import Goals
from .intake import Intake
from .notices import LiveNotice, Notices, QuestionCard
from .overview import (
    LEDGER_ACCOUNT,
    MOST_COUNTED,
    FoundSessions,
    Inspection,
    JournalLine,
    KeptAside,
    OpenTurns,
    Operators,
    Overview,
    TurnsPerMinute,
    Wanted,
    Whereabouts,
)
from .people import People
from .queries import Queries
from .recovery import Recovery
from .values import (
    TOPICS,
    ChatLine,
    ClaimSettings,
    Continuity,
    Edit,
    EntriesOf,
    ExpiredQuestion,
    GoalReport,
    Happening,
    HeldItem,
    InterruptedWork,
    Judge,
    Judged,
    JudgePage,
    Keep,
    KeptReport,
    NewQuestion,
    OnHold,
    Recorded,
    Remembered,
    SessionLine,
    Settled,
    Spawned,
    StaleTurn,
    Step,
    StopOutcome,
    StopResult,
    Telling,
    Verdict,
    chat_topic,
    keep_nothing,
    untold,
)
from .work import Work

__all__ = [
    "TurnsPerMinute",
    "JournalLine",
    "FoundSessions",
    "Inspection",
    "LEDGER_ACCOUNT",
    "MOST_COUNTED",
    "RULE_USED",
    "OpenTurns",
    "Operators",
    "Overview",
    "KeptAside",
    "Wanted",
    "Whereabouts",
    "AS_CONFIGURED",
    "BEGUN",
    "FORGOTTEN",
    "TOPICS",
    "ArrivalSettings",
    "NewQuestion",
    "Blob",
    "QuestionCard",
    "ChatLine",
    "ClaimSettings",
    "Continuity",
    "Edit",
    "GoalReport",
    "Happening",
    "HeldItem",
    "OnHold",
    "Judge",
    "EntriesOf",
    "ExpiredQuestion",
    "Judged",
    "JudgePage",
    "Keep",
    "KeptReport",
    "LiveNotice",
    "Queries",
    "Recorded",
    "Remembered",
    "RunningTurn",
    "Scope",
    "SessionLine",
    "Settled",
    "Spawned",
    "StaleTurn",
    "InterruptedWork",
    "Step",
    "StopResult",
    "StopOutcome",
    "Telling",
    "Store",
    "Verdict",
    "chat_topic",
    "keep_nothing",
    "untold",
]


class Store(
    Intake,
    Work,
    Deliveries,
    Notices,
    Processes,
    Goals,
    DrainVerbs,
    Recovery,
    Erase,
    Operators,
    Blobs,
    People,
    AllowedCalls,
    Protocol,
):
    """The ledger. A verb that returns has been committed and synced; one that raises changed nothing."""

    @property
    def instance(self) -> InstanceId:
        """The id of this process run."""
        ...

    def version(self, topic: str) -> int:
        """How often this topic has changed; read it before looking, then wait for `changed` since it."""
        ...

    async def changed(self, topic: str, since: int) -> int:
        """Return as soon as the topic has changed since that version. A hint: the ledger is the truth."""
        ...

    async def close(self) -> None:
        """Commit what was submitted and let go of the home."""
        ...
