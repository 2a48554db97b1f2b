"""Inbox: what people send is kept first; only then is it acknowledged."""

from __future__ import annotations

from .commands import COMMANDS, Commands
from .desk import Desk, keep_files
from .intake import Intake
from .processes import Watcher
from .receiver import Receiver

__all__ = ["COMMANDS", "Commands", "Desk", "Intake", "Receiver", "Watcher", "keep_files"]
