"""Inbox: what people send is kept first; only then is it acknowledged."""

from __future__ import annotations

from .commands import Commands, Desk
from .intake import Intake
from .receiver import Receiver

__all__ = ["Commands", "Desk", "Intake", "Receiver"]
