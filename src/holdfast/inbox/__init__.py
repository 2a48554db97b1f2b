"""Inbox: the gateway keeps what people send, and only then acknowledges it."""

from __future__ import annotations

from .command_context import CommandContext, keep_files
from .commands import COMMANDS, Commands
from .process_watcher import Watcher
from .receiver import Receiver

__all__ = ["COMMANDS", "Commands", "CommandContext", "Receiver", "Watcher", "keep_files"]
