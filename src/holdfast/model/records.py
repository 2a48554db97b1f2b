"""Rows of the ledger as values: instances, chats, sessions, turns, processes, requests."""

from __future__ import annotations

from typing import NamedTuple

from holdfast.records import dataclass

from .addresses import Place
from .ids import ChatAddress, InstanceId, Key, PersonId, Position, ProcessId, SessionId, TurnId
from .inbound import InboxRow
from .journal import Journal
from .reasons import Began, BusyMode, GrantScope, OnInterruption, StopKind, Stopped
from .states import GoalState, ProcessState, TurnState
from .transcript import Entry, Tail


@dataclass(frozen=True, slots=True)
class Instance:
    """One run of a gateway process. If it ended without a `stopped` word, it crashed."""

    id: InstanceId
    host: str
    pid: int
    boot: str
    version: str
    started_at: int
    heartbeat_at: int
    stopped: Stopped | None = None
    stopped_at: int | None = None
    led_to_park: bool = False
    """Its death parked a session, so it does not count towards safe mode."""


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """The settings of a chat; None means the configured default."""

    busy: BusyMode | None = None
    on_interruption: OnInterruption | None = None
    agent: str | None = None
    model: str | None = None


class Session(NamedTuple):
    """One conversation with its memory, from `began` until it ends."""

    id: SessionId
    key: Key
    chat: ChatAddress
    began: Began
    began_at: int
    generation: int
    incarnation: int
    strikes: int
    suspended_at: int | None = None
    suspended_why: str | None = None
    ended_at: int | None = None
    ended_why: str | None = None
    completed_at: int | None = None
    """When its last turn was completed."""


class StrikeRecord(NamedTuple):
    """What caused the strikes of a session and the interruptions of its turn, as the ledger counted."""

    deaths: int = 0
    """Strikes from deaths of the process."""
    cuts: int = 0
    """Strikes from stops or restarts that cut a run before it made progress."""
    turn_deaths: int = 0
    """Interruptions of the turn that were deaths."""
    follows_park: bool = False
    """The session followed a parked one, and began as a suspect."""
    parks: int = 0
    """Parks of the conversation in the last day."""


class Turn(NamedTuple):
    """One piece of work: one cause, one final state."""

    id: TurnId
    session: SessionId
    cause: Position
    state: TurnState
    generation: int
    attempt: int
    owner: InstanceId | None
    begun_at: int
    claimed_at: int
    progress_at: int | None
    tail: Tail = Tail.NOTHING
    noted: int = 0
    """The number of the interruption that its last resume note was about."""
    interruptions: int = 0
    interrupted_at: int | None = None
    interruption: str | None = None
    """The reason as stored; this version may not know it."""
    stop: StopKind | None = None
    held: str | None = None
    """While interrupted: the row of the recovery table that holds it."""
    ended_at: int | None = None
    why: str | None = None
    last_seq: int = 0
    """The place of its last entry; the session's next turn goes on from there."""

    @property
    def is_cut_off(self) -> bool:
        """Whether it was interrupted and has not gone on since; a wait for a person is no interruption."""
        return self.interruptions > self.noted


@dataclass(frozen=True, slots=True)
class Fence:
    """What a running turn must give with every write: turn, generation and owner."""

    session: SessionId
    turn: TurnId
    generation: int
    owner: InstanceId


@dataclass(frozen=True, slots=True)
class Claimed:
    """A turn that this process has claimed, with everything that its next step needs."""

    fence: Fence
    session: Session
    turn: Turn
    place: Place
    cause: InboxRow
    entries: tuple[Entry, ...]
    """The entries of this turn; the whole transcript is read when the model is called."""
    journal: Journal
    settings: ChatSettings
    resumed: bool
    """It goes on after an interruption that the model has not been told of yet."""
    fresh: bool
    """This claim began the session."""
    take: tuple[Position, ...] = ()
    """Rows that this turn takes once its calls are paired (`Step.consume`): the oldest message that waited
    when interrupted work was claimed, and one that set a question of this turn aside."""
    suspect: bool = False
    """It runs in the quarantine lane until it ends or is cleared."""
    longest_fatal: int = 0
    """Milliseconds of the session's longest run that ended in the death of its process."""
    partial: str = ""
    """The recorded part of the reply that an earlier run was writing when it was cut off."""


@dataclass(frozen=True, slots=True)
class Process:
    """A background process, known by pid and start time together."""

    id: ProcessId
    session: SessionId
    incarnation: int
    generation: int
    turn: TurnId
    pid: int
    started_ticks: int
    command: str
    log: str
    notify: bool
    patterns: tuple[str, ...]
    state: ProcessState
    exit_code: int | None
    consumed: bool
    matches: int
    started_at: int
    ended_at: int | None = None
    boot: str = ""
    """The boot of the machine that its pid and start time belong to."""
    watched: int = 0
    """How far its output was searched for matches that are recorded."""
    missed: int = 0
    """Matches that caused no wake-up since the agent last looked at it."""


@dataclass(frozen=True, slots=True)
class Goal:
    """What a session works towards by itself, turn after turn."""

    session: SessionId
    text: str
    state: GoalState
    budget: int
    """Turns it may take."""
    used: int
    """Turns that were queued for it so far."""
    set_at: int
    set_by: PersonId
    words: str = ""
    """What the agent reported at its end."""
    waits: bool = False
    """Its next turn is queued."""


@dataclass(frozen=True, slots=True)
class Grant:
    """Access for a person or a chat, given while the gateway ran; valid until it is revoked."""

    scope: GrantScope
    subject: str
    by: PersonId
    at: int


@dataclass(frozen=True, slots=True)
class PairingRequest:
    """A newcomer with a valid code that is not approved yet; only the newcomer knows the code."""

    person: PersonId
    chat: ChatAddress
    asked_at: int
    expires_at: int


@dataclass(frozen=True, slots=True)
class Request:
    """One request to the gateway: a restart, a stop, an end of safe mode."""

    id: int
    what: str
    dedupe: str
    asked_by: PersonId | None
    after_turn: TurnId | None
    asked_at: int
    done_at: int | None = None
    outcome: str | None = None
    instance: InstanceId | None = None
    """The run of the gateway that was asked; None in rows of older versions."""
