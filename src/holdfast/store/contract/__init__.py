"""The store's contract: domain verbs. Each verb is one commit and says its guarantee.

Ten verbs are the heart; they carry every message from a person to its reply:

- `accept` keeps what a platform delivered; only then may the platform be told.
- `claim` takes the next turn of a conversation.
- `record` commits what a step did together with what the next step begins.
- `wait` puts a turn down until its question is answered, and `answer` queues it again.
- `finish` ends a turn together with every reply that it owes.
- `claim_deliveries` takes parts to send, and `record_delivery` keeps what the platform said about them.
- `interrupt_orphans` marks turns of dead processes, and `settle_stale` carries out what recovery decides.

All other verbs serve people who ask, background processes, goals, files, access, operators and upkeep.

Only this project implements the contract, in `store/sqlite`. Code outside it may call the verbs, but must not
implement the protocols: any version may add verbs to them.
"""

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
        """The id of this run of the gateway's process."""
        ...

    def version(self, topic: str) -> int:
        """How often this topic has changed. Read it, then look, then wait for `changed` since it."""
        ...

    async def changed(self, topic: str, since: int) -> int:
        """Return as soon as the topic has changed since that version. A hint: the ledger is the truth."""
        ...

    async def close(self) -> None:
        """Commit what was submitted, then release the lock of the home."""
        ...
