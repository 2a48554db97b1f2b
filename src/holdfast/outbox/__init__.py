"""Outbox: what is owed is claimed, sent and recorded, in order within each chat."""

from __future__ import annotations

from .closing import Closing
from .sender import Sender
from .undelivered import line_for

__all__ = ["Closing", "Sender", "line_for"]
