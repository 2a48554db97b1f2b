"""Outbox: the gateway claims, sends and records every delivery, in order within each chat."""

from __future__ import annotations

from .close_buttons import ClosedCards
from .sender import Sender
from .undelivered import line_for

__all__ = ["ClosedCards", "Sender", "line_for"]
