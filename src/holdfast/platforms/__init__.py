"""Platforms: the services that people write on."""

from __future__ import annotations

from .base import (
    Ack,
    Arrival,
    Capabilities,
    Idempotency,
    Incoming,
    Platform,
    PlatformDown,
    Revision,
    Shows,
    Working,
)
from .pace import Pace, Rate

__all__ = [
    "Ack",
    "Arrival",
    "Capabilities",
    "Idempotency",
    "Incoming",
    "Pace",
    "Platform",
    "PlatformDown",
    "Rate",
    "Revision",
    "Shows",
    "Working",
]
