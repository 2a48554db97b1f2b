"""What verbs take and return besides the records of the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple
from zlib import crc32

from holdfast.model import (
    AskedBy,
    Attachment,
    Body,
    BusyMode,
    CallId,
    ChatAddress,
    Entry,
    GoalState,
    InstanceId,
    Key,
    OnInterruption,
    Owed,
    PersonId,
    PlannedCall,
    Position,
    QuestionId,
    QuestionKind,
    QuestionState,
    SessionId,
    StopKind,
    StrikeRecord,
    Tail,
    TurnId,
    TurnState,
    Usage,
)
from holdfast.policy.consent.allowed_calls import Coverage
from holdfast.policy.recovery.outcome import Decision, Outcome
from holdfast.policy.settings import DAY, RecoverySettings, ResetSettings
from holdfast.records import dataclass

TOPICS = (
    "inbox",
    "turns",
    "stops",
    "steps",
    "outbox",
    "doubts",
    "failing",
    "notices",
    "questions",
    "recovery",
    "requests",
    "processes",
    "access",
)
"""What a reader can wait for: each topic changes when its kind of work has changed. See also `chat_topic`."""
_BELLS = 64


def chat_topic(chat: ChatAddress) -> str:
    """The topic that changes when this chat is owed something new.

    Several chats may share one: so the number of topics is bounded, and few readers are woken for one chat.
    """
    return f"chat:{crc32(chat.encode()) % _BELLS}"


@dataclass(frozen=True, slots=True)
class NewQuestion:
    """A question to open: its row and the message that carries it are written in the same commit."""

    id: QuestionId
    kind: QuestionKind
    call: CallId | None
    text: str
    expires_at: int
    owed: Owed
    asked_of: PersonId | None = None
    options: tuple[str, ...] = ()
    call_hash: str | None = None
    asked_by: AskedBy | None = None
    """Why recovery asks; None for other questions."""
    of_owner: bool = False
    """Any owner may answer, in the chat of `owed`; the commit makes that chat known if it is not."""
    offers: Coverage | None = None
    """The rule that the card offers to an owner."""


@dataclass(frozen=True, slots=True)
class Spawned:
    """A background process that a tool started; the ledger knows it from this commit on."""

    id: str
    pid: int
    started_ticks: int
    command: str
    log: str
    notify: bool = False
    patterns: tuple[str, ...] = ()
    boot: str = ""


@dataclass(frozen=True, slots=True)
class GoalReport:
    """What an agent reports about the goal: it is reached, or it cannot be reached."""

    state: GoalState
    words: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """What happened and what begins next, as one commit: the record of one effect and the claim of the next.

    A `Returned` in `append` settles its call; `start` commits calls as started, before their effect.
    """

    append: tuple[Body, ...] = ()
    tail: Tail = Tail.WORK
    """How the turn's transcript ends after `append`; with a consumed row it ends in a message."""
    plan: tuple[PlannedCall, ...] = ()
    start: tuple[CallId, ...] = ()
    under: tuple[tuple[CallId, int], ...] = ()
    """The calls of `start` that run without a question, each with the rule that allows it."""
    consume: tuple[Position, ...] = ()
    """Rows to take into this turn: the store appends the current text of each, after `append`."""
    ask: tuple[NewQuestion, ...] = ()
    owe: tuple[Owed, ...] = ()
    spawn: tuple[Spawned, ...] = ()
    looked_at: tuple[str, ...] = ()
    """Processes whose output this turn has seen: from here on only new matches count."""
    consume_processes: tuple[str, ...] = ()
    goal: GoalReport | None = None
    usage: tuple[Usage, ...] = ()


@dataclass(frozen=True, slots=True)
class Recorded:
    """The result of a step: the entries as committed, and whether a person asked for a stop meanwhile."""

    entries: tuple[Entry, ...]
    stop: StopKind | None
    waiting: int
    """How many rows wait in this conversation; the mode `steer` needs it."""


def _all_allowed(person: PersonId) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class ClaimSettings:
    """The settings that decide about a claim, besides the ledger."""

    reset: ResetSettings
    recovery: RecoverySettings
    busy: BusyMode = BusyMode.QUEUE
    resumes: bool = True
    """Whether the claim may take interrupted work; False when resumes use their share of the workers."""
    allowed: Callable[[PersonId], bool] = _all_allowed
    """Says who may still write, inside the transaction. Call `allows` instead: it catches its errors."""

    def allows(self, person: PersonId) -> bool:
        """Whether this person is allowed now; False when the check fails."""
        try:
            return self.allowed(person)
        except Exception:  # noqa: BLE001 - boundary to the access list: an error lets no person in
            return False


class InterruptedWork(NamedTuple):
    """The condition of interrupted work: all facts that decide about it, except its owner and its times."""

    suspended: bool
    stop: StopKind | None
    tail: Tail
    question: QuestionState | None
    """The state of the turn's last question, if it has one."""
    asked: QuestionKind | None
    """The kind of that question."""
    noted: int
    strikes: int
    interruptions: int
    interruption: str | None
    last_owner: InstanceId | None
    held: str | None
    on_interruption: OnInterruption | None
    consented: bool
    record: StrikeRecord = StrikeRecord()


class StaleTurn(NamedTuple):
    """An interrupted turn as recovery sees it, with the values that guard the write of a decision.

    It is a tuple, because a boot may read ten thousand of them, and most share one condition (`stands`).
    """

    turn: TurnId
    session: SessionId
    key: Key
    chat: ChatAddress
    generation: int
    incarnation: int
    sender: PersonId
    waiting_sender: PersonId | None
    """The sender of the oldest message that waits behind the turn, if any."""
    message_id: str | None
    """The platform's id of the message that began the turn, for the reply."""
    progress_at: int | None
    progress_mark: str | None
    """The same moment on the machine's own clock, as `clock.mark` writes it."""
    quarantined: int
    """The time that it waited for the lane or was held by safe mode."""
    silent_since: int | None
    """When the question that the turn waits for expired, or will; None when it waits for none."""
    stands: InterruptedWork


Judge = Callable[[StaleTurn, int], Decision]
"""Decides about one interrupted turn; called inside the claim's transaction with its time."""


KeepPartial = Callable[[str], tuple[Owed, ...]]
"""Turns the text of a reply that was cut off into what the chat is owed; called inside the commit."""


def keep_nothing(text: str) -> tuple[Owed, ...]:
    """Owes the chat nothing of the reply."""
    return ()


class Verdict(NamedTuple):
    """A decision about one interrupted turn, with what the commit owes and asks."""

    stale: StaleTurn
    decision: Decision
    owe: tuple[Owed, ...] = ()
    ask: NewQuestion | None = None
    keep: KeepPartial = keep_nothing


class Judged(NamedTuple):
    """The decisions about a page of interrupted turns. A turn that is in neither field stays as it is."""

    go_on: Sequence[StaleTurn] = ()
    """Turns to resume without a word to their chats; there may be many."""
    others: Sequence[Verdict] = ()


EntriesOf = Callable[[TurnId], tuple[Entry, ...]]
"""Gives the transcript entries of a turn of the page, in order; only for a turn whose tail is an answer."""

JudgePage = Callable[[Sequence[StaleTurn], int, EntriesOf], Judged]
"""Decides about a page of interrupted turns; called inside the transaction that carries the decisions out."""

Settled = Mapping[Outcome, tuple[TurnId, ...]]
"""The settled turns by outcome. A turn that another writer has queued meanwhile counts as resumed."""


class ExpiredQuestion(NamedTuple):
    """A question whose time is up, and the state of its turn since then."""

    question: QuestionId
    turn: TurnId
    state: TurnState
    why: str | None


class StopOutcome(StrEnum):
    """What a stop did."""

    NOTHING = "nothing"
    """No unfinished turn."""
    ENDED = "ended"
    """The turn was ended in this commit."""
    ASKED = "asked"
    """The turn runs; the process that runs it will end it."""


@dataclass(frozen=True, slots=True)
class StopResult:
    """What `/stop` or `/new` did."""

    outcome: StopOutcome
    turn: TurnId | None = None
    session: SessionId | None = None
    withdrawn: tuple[str, ...] = ()
    """The texts of the waiting messages that this stop withdrew."""
    kept: int = 0
    """How many messages from before the stop still wait."""
    goal: bool = False
    """Whether the stop also ended a goal."""
    partial: str = ""
    """What the ended turn had written of its reply."""
    reply_to: str | None = None
    """The message that this reply answers."""


Telling = Callable[[StopResult], tuple[Owed, ...]]
"""Gives the words about a stop from what it did; called inside its commit, so that the words are true."""


def untold(stop: StopResult) -> tuple[Owed, ...]:
    """Tells no chat about the stop."""
    return ()


class Remembered(NamedTuple):
    """An entry of a conversation, with its session."""

    session: SessionId
    entry: Entry


class HeldItem(NamedTuple):
    """Work that waits for the operator: open in the backup this ledger was restored from, or on hold."""

    kind: str
    """`turn`, `part` (an owed part), `message` (not yet taken) or `conversation` (on hold)."""
    id: str
    chat: ChatAddress
    since: int
    session: SessionId | None
    text: str
    """Its first words, so that people recognise it."""

    @property
    def name(self) -> str:
        """The name by which the operator releases it."""
        return f"{self.kind}:{self.id}"


class OnHold(NamedTuple):
    """A conversation whose messages wait for an owner, because it was parked too often."""

    key: Key
    chat: ChatAddress
    since: int
    session: SessionId | None
    """Its live session, which is parked."""
    waiting: int
    """How many messages wait in it."""


@dataclass(frozen=True, slots=True)
class SessionLine:
    """One line of a list of sessions."""

    id: SessionId
    key: Key
    began: str
    began_at: int
    ended_at: int | None
    suspended: bool
    strikes: int
    turn: TurnId | None
    state: TurnState | None
    held: str | None
    completed_at: int | None
    on_hold: bool = False
    """The messages of its conversation wait for an owner."""


@dataclass(frozen=True, slots=True)
class ChatLine:
    """One line of a list of chats: a chat with its live session."""

    chat: ChatAddress
    session: SessionId
    turn: TurnId
    """The session's last turn, by which the list is sorted."""
    last_at: int
    state: TurnState | None
    """The state of that turn."""
    first: str
    """The first words of the session."""


@dataclass(frozen=True, slots=True)
class Happening:
    """One event of a trace."""

    at: int
    what: str
    subject: str
    instance: InstanceId | None
    detail: str | None


@dataclass(frozen=True, slots=True)
class Continuity:
    """The counts and rows that a boot found, for the continuity report."""

    previous_ended: str
    previous_started_at: int | None
    previous_seen_at: int | None
    open_turns: tuple[tuple[TurnId, TurnState, str | None], ...]
    owed: int
    unknown: int
    waiting: int


@dataclass(frozen=True, slots=True)
class KeptReport:
    """A stored continuity report: the process run that wrote it, when, and its text, which is JSON."""

    instance: InstanceId
    at: int
    report: str


@dataclass(frozen=True, slots=True)
class Edit:
    """A person's change or withdrawal of a message that still waits."""

    chat: ChatAddress
    message_id: str
    text: str | None
    attachments: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True)
class Keep:
    """How long finished rows are kept, in milliseconds; the store never removes unfinished ones."""

    events: int = 90 * DAY
    set_aside: int = 30 * DAY
    instances: int = 30 * DAY
