"""Platforms: where people are."""

from __future__ import annotations

from .base import Platform
from .terminal import Terminal

__all__ = ["Platform", "Terminal"]
