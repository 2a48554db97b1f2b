"""What operators look at, and the verbs that show it: each as fast among a million sessions as among ten."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from holdfast.model import (
    CallId,
    CallState,
    Delivery,
    EffectClass,
    Entry,
    InboxRow,
    Instance,
    Key,
    Session,
    SessionId,
    Turn,
    TurnId,
    TurnState,
)
from holdfast.records import dataclass

from .values import Happening, KeptReport, OnHold, SessionLine

LEDGER_ACCOUNT = "ledger"
"""Stands for an account where a part of the ledger itself is set aside."""
MOST_COUNTED = 1_000
"""Up to here what is set aside is counted; more is more than anybody reads."""


@dataclass(frozen=True, slots=True)
class OpenTurns:
    """How many unfinished turns stand like this."""

    state: TurnState
    held: bool
    count: int


@dataclass(frozen=True, slots=True)
class TurnsPerMinute:
    """How many turns began within one minute and stand like this now."""

    minute: int
    """When it began, in milliseconds."""
    state: TurnState
    count: int


@dataclass(frozen=True, slots=True)
class Overview:
    """The gateway at a glance, at one commit."""

    open_turns: tuple[OpenTurns, ...]
    parked: int
    """Sessions that are suspended and wait for a person, also where a fresh one has begun since."""
    on_hold: int
    """Conversations whose messages wait for an owner."""
    waiting: int
    owed: int
    unknown: int
    set_aside: int
    """At most `MOST_COUNTED`."""
    begun: tuple[TurnsPerMinute, ...]
    """Of the time that was asked for."""
    instances: tuple[Instance, ...]
    """Newest first."""
    reports: tuple[KeptReport, ...]
    """Of those instances, newest first; only that of the newest instance lists the turns it found."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which sessions are looked for; what is None does not matter."""

    state: str | None = None
    """A state of the last turn, or `held`, or `parked`."""
    platform: str | None = None
    text: str | None = None
    """Part of the conversation's key, in any case, or the session's id."""
    live_only: bool = False


@dataclass(frozen=True, slots=True)
class FoundSessions:
    """A page of what was looked for, and where to go on; None when there is nothing more to look at."""

    lines: tuple[SessionLine, ...]
    next: SessionId | None


@dataclass(frozen=True, slots=True)
class JournalLine:
    """One line of a journal of tool calls; what a call was given stands in the transcript."""

    turn: TurnId
    id: CallId
    name: str
    effect: EffectClass
    state: CallState
    runs: int
    planned_at: int
    started_at: int | None
    settled_at: int | None


@dataclass(frozen=True, slots=True)
class Inspection:
    """One session with what its last turns did, at one commit; everything but the entries newest first."""

    session: Session
    turns: tuple[Turn, ...]
    entries: tuple[Entry, ...]
    """The end of its transcript, in order."""
    waiting: tuple[InboxRow, ...]
    calls: tuple[JournalLine, ...]
    deliveries: tuple[Delivery, ...]
    """Of its turns, among the chat's last ones."""
    happenings: tuple[Happening, ...]
    """What the log keeps of those turns: claims, interruptions, decisions of recovery."""
    on_hold: bool = False
    """The messages of its conversation wait for an owner."""


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Where a turn belongs, and how it stands now."""

    session: SessionId
    key: Key
    state: TurnState | None


@dataclass(frozen=True, slots=True)
class KeptAside:
    """Input that could not be read, as it came."""

    id: int
    account: str
    event_id: str | None
    reason: str
    payload: str
    at: int


class Operators(Protocol):
    """Verbs behind the pages of operators. Whatever the ledger holds, each reads a bounded part of it."""

    async def overview(self, since: int, runs: int = 24) -> Overview:
        """What is open, waits and is owed, what began since that time, and the last process runs."""
        ...

    async def find_sessions(
        self, wanted: Wanted, before: SessionId | None = None, limit: int = 50
    ) -> FoundSessions:
        """The sessions that fit, newest first.

        Open and parked ones are found by index. Otherwise a page looks through a few thousand sessions at
        most: it may come short, or empty, and still say where to go on.
        """
        ...

    async def platforms(self) -> tuple[str, ...]:
        """The platforms that the ledger knows a chat of, in order; one step of an index for each."""
        ...

    async def inspect(self, session: SessionId, entries: int = 200, turns: int = 100) -> Inspection:
        """One session with all that is worth knowing of its last turns; raises `NotFound`."""
        ...

    async def on_hold(self, limit: int = 100) -> tuple[OnHold, ...]:
        """Conversations whose messages wait for an owner, as they were parked too often; longest first."""
        ...

    async def whereabouts(self, turns: tuple[TurnId, ...]) -> Mapping[TurnId, Whereabouts]:
        """The session and state of each of these turns; those that do not exist are left out."""
        ...

    async def set_aside(
        self, before: int | None = None, limit: int = 50, account: str | None = None
    ) -> tuple[KeptAside, ...]:
        """A page of what could not be read, newest first; `before` is the id of the last one seen.

        Of an account, or of all; `LEDGER_ACCOUNT` is damage in the ledger itself.
        """
        ...
