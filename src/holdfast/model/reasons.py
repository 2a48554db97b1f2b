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
    FORGET = "forget"
    """As `NEW`; what was written so far is erased with the rest, so the chat gets none of it."""
    INTERRUPT = "interrupt"
    """A message in `interrupt` mode."""

    @property
    def ends_session(self) -> bool:
        """Whether the conversation ends with the turn."""
        return self in (StopKind.NEW, StopKind.FORGET)


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


class AskedBy(StrEnum):
    """Why the gateway itself asks whether interrupted work goes on: the row of recovery's table that asks."""

    CHAT = "chat_says_ask"
    """The chat wants to be asked. The work is dropped by another message, or when the question expires."""
    SAFE_MODE = "safe_mode_suspect"
    """Safe mode holds the work of a suspect. Only the answer "drop" drops it; the question ends with safe
    mode, and the work goes on."""


class Stopped(StrEnum):
    """How a process ended in order; no such word in the ledger means it crashed."""

    STOPPED = "stopped"
    RESTART = "restart"
    FAILED = "failed"
    """It gave up by itself and said so."""
    RESTORED = "restored"
    """No gateway: a restore, which wrote the ledger; or the run a backup was made under."""
