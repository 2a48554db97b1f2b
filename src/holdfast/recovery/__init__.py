"""Recovery: read what a dead or stuck owner left, decide by policy, write back with guards."""

from __future__ import annotations

from .continuity import ContinuityReport, Fate
from .facts import Outside, judge_stale
from .reconciler import SAFE_MODE_OFF, SAFE_MODE_ON, Care, Reconciler

__all__ = [
    "SAFE_MODE_OFF",
    "SAFE_MODE_ON",
    "Care",
    "ContinuityReport",
    "Fate",
    "Outside",
    "Reconciler",
    "judge_stale",
]
