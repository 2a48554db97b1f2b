"""The built-in chat as a platform."""

from __future__ import annotations

from .adapter import PERMISSIONS, NotTaken, WebChat

__all__ = ["PERMISSIONS", "NotTaken", "WebChat"]
