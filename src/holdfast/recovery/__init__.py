"""Recovery: read what a dead or stuck owner left, decide by policy, write back guarded."""

from __future__ import annotations

from .facts import Outside, facts_of, judge_stale
from .reconciler import Reconciler

__all__ = ["Outside", "Reconciler", "facts_of", "judge_stale"]
