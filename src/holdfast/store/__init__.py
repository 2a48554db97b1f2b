"""The ledger: one contract of domain verbs, and the databases that keep it."""

from __future__ import annotations

from .contract import (
    AS_CONFIGURED,
    TOPICS,
    ArrivalSettings,
    Ask,
    ClaimSettings,
    Continuity,
    Edit,
    Happening,
    Judge,
    Keep,
    Recorded,
    RunningTurn,
    SessionLine,
    Spawned,
    StaleTurn,
    Step,
    Stop,
    StopOutcome,
    Store,
    Usage,
    Verdict,
)
from .sqlite import SqliteStore, open_ledger

__all__ = [
    "AS_CONFIGURED",
    "TOPICS",
    "ArrivalSettings",
    "Ask",
    "ClaimSettings",
    "Continuity",
    "Edit",
    "Happening",
    "Judge",
    "Keep",
    "Recorded",
    "RunningTurn",
    "SessionLine",
    "Spawned",
    "SqliteStore",
    "StaleTurn",
    "Step",
    "Stop",
    "StopOutcome",
    "Store",
    "Usage",
    "Verdict",
    "open_ledger",
]
