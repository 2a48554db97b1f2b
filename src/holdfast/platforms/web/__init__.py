"""The built-in chat as a platform."""

from __future__ import annotations

from .adapter import NotTaken, WebChat

__all__ = ["NotTaken", "WebChat"]
