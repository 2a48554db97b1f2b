"""Turns: claim work, loop over what comes next, end it with its reply owed."""

from __future__ import annotations

from .runner import Agent, Runner
from .toolbox import Toolbox
from .worker import Worker

__all__ = ["Agent", "Runner", "Toolbox", "Worker"]
