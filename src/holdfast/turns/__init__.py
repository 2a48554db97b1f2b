"""Turns: claim a turn, carry out its steps, and end it with its reply owed."""

from __future__ import annotations

from holdfast.errors import Report, unreported

from .attachments import Attachments, NoAttachments
from .consent import ConsentPorts
from .cut import STOP, Cut, CutKind, drain
from .display.notices import Showing
from .display.port import RunDisplayPort, Unseen, Watch, unwatched
from .pool import Pool, PoolSettings
from .runner import Run, Runner
from .tools.long_results import LongResults, Nowhere

__all__ = [
    "STOP",
    "Attachments",
    "ConsentPorts",
    "Cut",
    "CutKind",
    "RunDisplayPort",
    "NoAttachments",
    "Nowhere",
    "LongResults",
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
