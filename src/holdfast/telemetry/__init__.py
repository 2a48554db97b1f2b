"""What a process says about itself: its log, and what may never stand in it."""

from __future__ import annotations

from .secrets import SECRET, is_secret_name, without_secrets

__all__ = ["SECRET", "is_secret_name", "without_secrets"]
