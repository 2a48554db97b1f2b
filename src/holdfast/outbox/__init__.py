"""Outbox: what is owed is claimed, sent and recorded, in order within each chat."""

from __future__ import annotations

from .sender import Sender

__all__ = ["Sender"]
