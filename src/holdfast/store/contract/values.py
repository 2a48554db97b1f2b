"""What verbs take and give besides the records of the model."""

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
"""What one can wait for: something that this kind of work looks at has changed. See also `chat_topic`."""
_BELLS = 64


def chat_topic(chat: ChatAddress) -> str:
    """What to wait for who reads one chat: it is owed something new.

    A few chats may share one, so that their number is bounded and a crowd of readers is not woken for each.
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
    """For a question of recovery: why it asks."""
    of_owner: bool = False
    """Any owner is asked, in the chat of `owed`; that chat is made known if it is not."""
    offers: Coverage | None = None
    """The rule that the card offers to an owner."""


@dataclass(frozen=True, slots=True)
class Spawned:
    """A background process that a tool started, to be known from this commit on."""

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
    """What an agent says of the standing goal: it is reached, or it cannot be."""

    state: GoalState
    words: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """What happened and what begins next, as one commit: the record of one effect and the claim of the next.

    A `Returned` in `append` settles its call; `start` commits calls as started, before their effect.
    """

    append: tuple[Body, ...] = ()
    tail: Tail = Tail.WORK
    """How the transcript of the turn ends once `append` is appended; a consumed row makes it a message."""
    plan: tuple[PlannedCall, ...] = ()
    start: tuple[CallId, ...] = ()
    under: tuple[tuple[CallId, int], ...] = ()
    """Those of `start` that no person was asked about, each with the rule that it begins under."""
    consume: tuple[Position, ...] = ()
    """Rows to take into this turn: the store appends what each of them says now, after `append`."""
    ask: tuple[NewQuestion, ...] = ()
    owe: tuple[Owed, ...] = ()
    spawn: tuple[Spawned, ...] = ()
    looked_at: tuple[str, ...] = ()
    """Processes that this turn was shown: their matches are its own from here on."""
    consume_processes: tuple[str, ...] = ()
    goal: GoalReport | None = None
    usage: tuple[Usage, ...] = ()


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a step left: the entries as committed, and whether a stop was asked meanwhile."""

    entries: tuple[Entry, ...]
    stop: StopKind | None
    waiting: int
    """Rows that wait in this conversation: what `steer` looks at."""


def _everybody(person: PersonId) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class ClaimSettings:
    """What a claim follows besides the ledger."""

    reset: ResetSettings
    recovery: RecoverySettings
    busy: BusyMode = BusyMode.QUEUE
    resumes: bool = True
    """Whether interrupted work may be taken; False when resumes hold their share of the workers."""
    allowed: Callable[[PersonId], bool] = _everybody
    """Who may still talk; called inside the claim's transaction. Ask `allows`, which bears its faults."""

    def allows(self, person: PersonId) -> bool:
        """Whether this person is allowed now; who cannot be checked is not."""
        try:
            return self.allowed(person)
        except Exception:  # noqa: BLE001 - the boundary to whoever knows: an error lets nobody in
            return False


class InterruptedWork(NamedTuple):
    """How interrupted work stands: all that is decided on but whose it is and its times."""

    suspended: bool
    stop: StopKind | None
    tail: Tail
    question: QuestionState | None
    """How the last question of the turn stands, if it has one."""
    asked: QuestionKind | None
    """And of which kind that is."""
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
    """Interrupted work as recovery sees it, with what its write-back is guarded by.

    Tuples, because a boot may read ten thousand of them; most of those stand alike.
    """

    turn: TurnId
    session: SessionId
    key: Key
    chat: ChatAddress
    generation: int
    incarnation: int
    sender: PersonId
    waiting_sender: PersonId | None
    """Sender of the oldest message that waits behind it, if any."""
    message_id: str | None
    """The platform's id of the message that began it, for the reply."""
    progress_at: int | None
    progress_mark: str | None
    """The same moment on the clock of the machine, as `clock.mark` writes it."""
    quarantined: int
    """Time spent waiting for the quarantine lane or held by safe mode."""
    silent_since: int | None
    """When the question that is all the turn waits for expired, or will; None without one."""
    stands: InterruptedWork


Judge = Callable[[StaleTurn, int], Decision]
"""What becomes of interrupted work now; called inside the claim's transaction with its time."""


KeepPartial = Callable[[str], tuple[Owed, ...]]
"""What a chat is owed of a reply that was cut off, from what was written of it; asked within the commit."""


def keep_nothing(text: str) -> tuple[Owed, ...]:
    """The chat is not given it."""
    return ()


class Verdict(NamedTuple):
    """A decision to carry out, on the turn it was made about."""

    stale: StaleTurn
    decision: Decision
    owe: tuple[Owed, ...] = ()
    ask: NewQuestion | None = None
    keep: KeepPartial = keep_nothing


class Judged(NamedTuple):
    """What is to become of a page of interrupted work. What is in neither is left alone."""

    go_on: Sequence[StaleTurn] = ()
    """Nothing is told or asked about these; there may be many."""
    others: Sequence[Verdict] = ()


EntriesOf = Callable[[TurnId], tuple[Entry, ...]]
"""What a turn of the page whose tail is an answer has in the transcript, in order."""

JudgePage = Callable[[Sequence[StaleTurn], int, EntriesOf], Judged]
"""What becomes of interrupted work now; called inside the transaction that carries it out."""

Settled = Mapping[Outcome, tuple[TurnId, ...]]
"""The turns that were settled, by what became of them; what somebody else has put in line goes on as well."""


class ExpiredQuestion(NamedTuple):
    """A question whose time was up, and how its turn stands since then."""

    question: QuestionId
    turn: TurnId
    state: TurnState
    why: str | None


class StopOutcome(StrEnum):
    """What a stop found."""

    NOTHING = "nothing"
    """No unfinished turn."""
    ENDED = "ended"
    """The turn was ended in this commit."""
    ASKED = "asked"
    """It runs; its owner will end it."""


@dataclass(frozen=True, slots=True)
class StopResult:
    """What a stop or a new beginning did."""

    outcome: StopOutcome
    turn: TurnId | None = None
    session: SessionId | None = None
    withdrawn: tuple[str, ...] = ()
    """Texts of the messages that were waiting and are no longer."""
    kept: int = 0
    """How many messages that came before it still wait."""
    goal: bool = False
    """A standing goal was stopped with it."""
    partial: str = ""
    """What the turn that was ended here had written of its reply."""
    reply_to: str | None = None
    """The message which that reply answers."""


Telling = Callable[[StopResult], tuple[Owed, ...]]
"""What to say of a stop, from what it did: asked within the commit that does it, so that it is true."""


def untold(stop: StopResult) -> tuple[Owed, ...]:
    """Nobody is told."""
    return ()


class Remembered(NamedTuple):
    """Something that was said in a conversation, and in which of its sessions."""

    session: SessionId
    entry: Entry


class HeldItem(NamedTuple):
    """Something that waits for the operator: open in the backup this ledger was restored from, or on hold."""

    kind: str
    """`turn`, `part` (of what a chat is owed), `message` (not yet taken) or `conversation` (on hold)."""
    id: str
    chat: ChatAddress
    since: int
    session: SessionId | None
    text: str
    """How it begins, for people to tell it by."""

    @property
    def name(self) -> str:
        """What it is released by."""
        return f"{self.kind}:{self.id}"


class OnHold(NamedTuple):
    """A conversation whose messages wait for an owner, because it was parked too often."""

    key: Key
    chat: ChatAddress
    since: int
    session: SessionId | None
    """Its live session, which is parked."""
    waiting: int
    """Messages that wait in it."""


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
    """One line of a list of chats: the conversation it would go on in."""

    chat: ChatAddress
    session: SessionId
    turn: TurnId
    """Its last one: the place of this line in the list."""
    last_at: int
    state: TurnState | None
    """Of its last turn."""
    first: str
    """The first thing that was said in the session."""


@dataclass(frozen=True, slots=True)
class Happening:
    """One line of a trace."""

    at: int
    what: str
    subject: str
    instance: InstanceId | None
    detail: str | None


@dataclass(frozen=True, slots=True)
class Continuity:
    """What a boot found, in numbers and rows, for the continuity report."""

    previous_ended: str
    previous_started_at: int | None
    previous_seen_at: int | None
    open_turns: tuple[tuple[TurnId, TurnState, str | None], ...]
    owed: int
    unknown: int
    waiting: int


@dataclass(frozen=True, slots=True)
class KeptReport:
    """A continuity report as it was kept: by whom, when, and its text, which is JSON."""

    instance: InstanceId
    at: int
    report: str


@dataclass(frozen=True, slots=True)
class Edit:
    """A message changed or taken back by its sender while it still waits."""

    chat: ChatAddress
    message_id: str
    text: str | None
    attachments: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True)
class Keep:
    """How long what is finished is kept, in milliseconds; nothing unfinished is ever removed."""

    events: int = 90 * DAY
    set_aside: int = 30 * DAY
    instances: int = 30 * DAY
