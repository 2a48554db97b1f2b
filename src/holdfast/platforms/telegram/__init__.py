"""Telegram: its updates as arrivals, and deliveries as its messages."""

from __future__ import annotations

from .buttons import Press, press_of
from .content import File
from .format import Rendered, render
from .wire import WANTED, Found, Me, Moved, Standing, joined, read, text_for, to_send

__all__ = [
    "WANTED",
    "File",
    "Found",
    "Me",
    "Moved",
    "Press",
    "Rendered",
    "Standing",
    "joined",
    "press_of",
    "read",
    "render",
    "text_for",
    "to_send",
]
