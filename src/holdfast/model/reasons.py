"""The words the ledger uses for why something began, was cut off or ended."""

from __future__ import annotations

from enum import StrEnum


class Began(StrEnum):
    """Why a session exists; the person is told when it is not the first."""

    FIRST = "first"
    NEW = "new"
    SUSPENDED = "suspended"
    IDLE = "idle"
    DAILY = "daily"


class Interruption(StrEnum):
    """Why a running turn was cut off, as far as this version knows reasons."""

    RESTART_TIMEOUT = "restart_timeout"
    SHUTDOWN_TIMEOUT = "shutdown_timeout"
    RESTART_INTERRUPTED = "restart_interrupted"


RESUMABLE: frozenset[str] = frozenset(Interruption)
"""Reasons after which work goes on by itself; a reason from a newer version is not among them."""

RESTORED = "restored"
"""Why what was open in a backup is held after a restore: it may have gone on since then.

A turn has it as its interruption, an unknown delivery and an offered message as their reason.
"""

MISSING_REASON_MEANS = Interruption.RESTART_TIMEOUT


class GrantScope(StrEnum):
    """What somebody or some chat was let in as."""

    PERSON = "person"
    CHAT = "chat"
    OWNER = "owner"


class StopKind(StrEnum):
    """What a person asked for that ends a turn."""

    STOP = "stop"
    NEW = "new"
    INTERRUPT = "interrupt"
    """A message in `interrupt` mode."""


class BusyMode(StrEnum):
    """What happens to a message that comes while a turn is open."""

    QUEUE = "queue"
    COLLECT = "collect"
    INTERRUPT = "interrupt"
    STEER = "steer"


class OnInterruption(StrEnum):
    """What a chat wants done with interrupted work."""

    RESUME = "resume"
    ASK = "ask"
    NEVER = "never"


class Stopped(StrEnum):
    """How a process ended in order; no such word in the ledger means it crashed."""

    STOPPED = "stopped"
    RESTART = "restart"
    FAILED = "failed"
    """It gave up by itself and said so."""
    RESTORED = "restored"
    """No gateway: a restore, which wrote the ledger; or the run a backup was made under."""
