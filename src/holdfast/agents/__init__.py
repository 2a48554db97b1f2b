"""Agents: models that give one reply at a time."""

from __future__ import annotations

from .base import Model, ModelError, OnText, unheard
from .demo import DemoModel

__all__ = ["DemoModel", "Model", "ModelError", "OnText", "unheard"]
