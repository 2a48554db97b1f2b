"""Turns: claim work, loop over what comes next, end it with its reply owed."""

from __future__ import annotations

from .attachments import Attachments, NoAttachments
from .consent import ConsentPorts
from .cuts import STOP, Cut, CutKind, drain
from .live import Live, Unseen, Watch, unwatched
from .outputs import Nowhere, Outputs
from .pool import Pool, PoolSettings
from .report import Report, unreported
from .runner import Run, Runner
from .showing import Showing

__all__ = [
    "STOP",
    "Attachments",
    "ConsentPorts",
    "Cut",
    "CutKind",
    "Live",
    "NoAttachments",
    "Nowhere",
    "Outputs",
    "Pool",
    "PoolSettings",
    "Report",
    "Run",
    "Runner",
    "Showing",
    "Unseen",
    "Watch",
    "drain",
    "unreported",
    "unwatched",
]
