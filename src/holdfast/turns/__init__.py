"""Turns: claim work, loop over what comes next, end it with its reply owed."""

from __future__ import annotations

from .cuts import STOP, Cut, CutKind, drain
from .pool import Pool, PoolSettings
from .preview import Preview, unshown
from .report import Report, unreported
from .runner import Run, Runner

__all__ = [
    "STOP",
    "Cut",
    "CutKind",
    "Pool",
    "PoolSettings",
    "Preview",
    "Report",
    "Run",
    "Runner",
    "drain",
    "unreported",
    "unshown",
]
