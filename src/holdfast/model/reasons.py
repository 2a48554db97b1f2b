"""The ledger's words for why something began, was cut off or ended."""

from __future__ import annotations

from enum import StrEnum


class Began(StrEnum):
    """Why a session began."""

    FIRST = "first"
    NEW = "new"
    SUSPENDED = "suspended"
    IDLE = "idle"
    DAILY = "daily"


class Interruption(StrEnum):
    """Why a running turn was cut off: the reasons that this version knows."""

    RESTART_TIMEOUT = "restart_timeout"
    SHUTDOWN_TIMEOUT = "shutdown_timeout"
    RESTART_INTERRUPTED = "restart_interrupted"


RESUMABLE: frozenset[str] = frozenset(Interruption)
"""Reasons after which the gateway resumes work by itself; a newer version's reason is not among them."""

RESTORED = "restored"
"""Why open work of a backup is held after a restore: it may have gone on after the backup.

A turn has it as its interruption, an unknown delivery and an offered message as their reason.
"""

MISSING_REASON_MEANS = Interruption.RESTART_TIMEOUT


class GrantScope(StrEnum):
    """What a grant gives: access for a person, for a chat, or as an owner."""

    PERSON = "person"
    CHAT = "chat"
    OWNER = "owner"


class StopKind(StrEnum):
    """The request of a person that ends a turn."""

    STOP = "stop"
    NEW = "new"
    FORGET = "forget"
    """Like `NEW`, and everything is erased, so the chat gets no part of an unfinished reply."""
    INTERRUPT = "interrupt"
    """A message in `interrupt` mode."""

    @property
    def ends_session(self) -> bool:
        """Whether the conversation ends with the turn."""
        return self in (StopKind.NEW, StopKind.FORGET)


class BusyMode(StrEnum):
    """What the gateway does with a message that arrives while a turn is open."""

    QUEUE = "queue"
    COLLECT = "collect"
    INTERRUPT = "interrupt"
    STEER = "steer"


class OnInterruption(StrEnum):
    """What the gateway does with interrupted work in a chat."""

    RESUME = "resume"
    ASK = "ask"
    NEVER = "never"


class AskedBy(StrEnum):
    """Why the gateway asks whether interrupted work should go on: the row of recovery's table that asks."""

    CHAT = "chat_says_ask"
    """The chat is set to `ask`. Another message drops the work, and so does the expiry of the question."""
    SAFE_MODE = "safe_mode_suspect"
    """Safe mode holds the work of a suspect. Only the answer "drop" drops it; the question ends with safe
    mode, and the work goes on."""


class Stopped(StrEnum):
    """How a process ended, as it recorded itself; a process without such a word crashed."""

    STOPPED = "stopped"
    RESTART = "restart"
    FAILED = "failed"
    """It stopped itself because of an error."""
    RESTORED = "restored"
    """A restore wrote this ledger; or the run during which the backup was made."""
