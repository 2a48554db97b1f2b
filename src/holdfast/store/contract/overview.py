"""The verbs behind the operator pages, and what they return. A million sessions make none of them slow."""

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
"""Takes the place of an account when a part of the ledger itself is set aside."""
MOST_COUNTED = 1_000
"""The count of what is set aside ends here: a person does not need to know more exactly."""


@dataclass(frozen=True, slots=True)
class OpenTurns:
    """How many unfinished turns are in this state, held or not."""

    state: TurnState
    held: bool
    count: int


@dataclass(frozen=True, slots=True)
class TurnsPerMinute:
    """How many turns began within one minute and are in this state now."""

    minute: int
    """The start of the minute, in milliseconds."""
    state: TurnState
    count: int


@dataclass(frozen=True, slots=True)
class Overview:
    """The gateway at a glance, at one commit."""

    open_turns: tuple[OpenTurns, ...]
    parked: int
    """Suspended sessions that wait for a person, also if their conversation has a new session by now."""
    on_hold: int
    """Conversations whose messages wait for an owner."""
    waiting: int
    owed: int
    unknown: int
    set_aside: int
    """At most `MOST_COUNTED`."""
    begun: tuple[TurnsPerMinute, ...]
    """From the time that the caller asked for."""
    instances: tuple[Instance, ...]
    """Newest first."""
    reports: tuple[KeptReport, ...]
    """The reports of those instances, newest first; only the newest one lists the turns that it found."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A filter for sessions; a field that is None filters nothing."""

    state: str | None = None
    """A state of the last turn, or `held`, or `parked`."""
    platform: str | None = None
    text: str | None = None
    """Part of the conversation's key, in any case, or the session's id."""
    live_only: bool = False


@dataclass(frozen=True, slots=True)
class FoundSessions:
    """A page of the sessions that were found."""

    lines: tuple[SessionLine, ...]
    next: SessionId | None
    """Where the next page begins; None at the end."""


@dataclass(frozen=True, slots=True)
class JournalLine:
    """One line of a journal of tool calls; the transcript has the arguments."""

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
    """One session and what its last turns did, at one commit; all newest first, except the entries."""

    session: Session
    turns: tuple[Turn, ...]
    entries: tuple[Entry, ...]
    """The end of its transcript, in order."""
    waiting: tuple[InboxRow, ...]
    calls: tuple[JournalLine, ...]
    deliveries: tuple[Delivery, ...]
    """The deliveries of these turns, as far as they are among the chat's last ones."""
    happenings: tuple[Happening, ...]
    """The events of those turns: claims, interruptions, decisions of recovery."""
    on_hold: bool = False
    """The messages of its conversation wait for an owner."""


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """The session, the conversation and the state of a turn."""

    session: SessionId
    key: Key
    state: TurnState | None


@dataclass(frozen=True, slots=True)
class KeptAside:
    """Input that the gateway could not read, as it came."""

    id: int
    account: str
    event_id: str | None
    reason: str
    payload: str
    at: int


class Operators(Protocol):
    """Verbs behind the operator pages. Each reads a bounded part of the ledger, however large it is."""

    async def overview(self, since: int, runs: int = 24) -> Overview:
        """Counts of open turns, waiting messages and owed parts, the turns since a time, the last runs."""
        ...

    async def find_sessions(
        self, wanted: Wanted, before: SessionId | None = None, limit: int = 50
    ) -> FoundSessions:
        """The sessions that fit, newest first.

        Open and parked sessions are found by index. Otherwise a page looks through a few thousand sessions at
        most: it may be short or empty and still say where the next page begins.
        """
        ...

    async def platforms(self) -> tuple[str, ...]:
        """The platforms of all chats in the ledger, in order; one index step for each."""
        ...

    async def inspect(self, session: SessionId, entries: int = 200, turns: int = 100) -> Inspection:
        """One session and what its last turns did; raises `NotFound`."""
        ...

    async def on_hold(self, limit: int = 100) -> tuple[OnHold, ...]:
        """Conversations whose messages wait for an owner after too many parks; the longest wait first."""
        ...

    async def whereabouts(self, turns: tuple[TurnId, ...]) -> Mapping[TurnId, Whereabouts]:
        """The session and state of each of these turns that exists."""
        ...

    async def set_aside(
        self, before: int | None = None, limit: int = 50, account: str | None = None
    ) -> tuple[KeptAside, ...]:
        """A page of the input that was set aside, newest first; `before` is the id of the last one seen.

        For one account, or for all of them; `LEDGER_ACCOUNT` stands for damage in the ledger itself.
        """
        ...
