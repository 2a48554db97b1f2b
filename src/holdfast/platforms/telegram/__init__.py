"""Telegram: updates become arrivals, and deliveries become messages."""

from __future__ import annotations

from .buttons import ButtonPress, press_of
from .content import TelegramFile
from .format import Rendered, render
from .wire import WANTED, BotMembership, FoundMessage, Me, Moved, joined, read, text_for, to_send

__all__ = [
    "WANTED",
    "TelegramFile",
    "FoundMessage",
    "Me",
    "Moved",
    "ButtonPress",
    "Rendered",
    "BotMembership",
    "joined",
    "press_of",
    "read",
    "render",
    "text_for",
    "to_send",
]
