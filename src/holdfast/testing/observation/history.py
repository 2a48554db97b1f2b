"""What was seen from outside: plain records, in the order they came, for the checker to judge."""

from __future__ import annotations

from dataclasses import field
from typing import Any, NamedTuple

from holdfast.model import EffectClass
from holdfast.policy.turn.views import Message
from holdfast.records import dataclass

from .commits import Answered, Claim, Death, Left, PutAside, Woken, Write


class PlatformEvent(NamedTuple):
    """Something a platform holds for the gateway."""

    account: str
    event_id: str
    kind: str
    """`message`, `revision` or `junk`."""
    chat: str
    text: str
    person: str = ""
    message: str = ""
    """The id of the message, where it is one that can be replied to."""
    how: str = ""
    """`written` or `pressed`, where the platform of the simulator knows that."""


class Confirmed(NamedTuple):
    """The platform now considers an event received."""

    account: str
    event_id: str
    known: bool
    """Whether the ledger held it at that instant, or had carried it out if it changes something."""


class Shown(NamedTuple):
    """A message people see."""

    platform: str
    chat: str
    key: str
    order: int
    text: str
    marked: bool
    owed: int | None = 0
    """For how long the ledger had held it at that instant, in milliseconds; None if it did not."""
    files: tuple[str, ...] = ()
    """The files that came with it, by their hashes."""
    reply_to: str | None = None
    """The message that it was shown as a reply to."""
    at: float = 0.0
    """Seconds since the world began."""


class Tried(NamedTuple):
    """A message was handed to a platform."""

    platform: str
    chat: str
    key: str
    early: int = 0
    """Milliseconds before the end of a wait that the platform had asked for here, as the gateway knew."""


class Seen(NamedTuple):
    """Something people see of work in progress; never a delivery, but for the message itself."""

    platform: str
    chat: str
    what: str
    """`beside` the messages, the `message` about it, the same sent `again`, or an `edit` of it."""
    text: str
    turn: str
    generation: int
    current: int | None
    """The generation of the running turn in the ledger when it was asked for; None if it did not run."""
    message: str = ""
    marked: bool = False
    at: float = 0.0


class FeedRead(NamedTuple):
    """A reader of a chat's feed was given something."""

    chat: str
    what: str
    """A `delivery`, an `entry` of a transcript, or the `cursor` that a feed begins with."""
    number: int
    session: str = ""


class Ran(NamedTuple):
    """A tool did something in the world."""

    what: str
    """`begun` (asked to run), `happened` (its effect is in the world), `returned`, or `asked` about it."""
    tool: str
    effect: EffectClass
    key: str
    session: str
    turn: str
    arguments: str
    generation: int
    current: int | None
    """The session's generation in the ledger at that instant; None if the turn was not running."""
    barred: float = 0.0
    """Seconds for which whoever the turn is for had not been allowed to talk at that instant."""
    consented: bool = True
    """Whether the ledger held the consent it needs at that instant, if it needs any."""


class Worked(NamedTuple):
    """A background process did something in the world."""

    what: str
    """It `began`, has `put_out` a line, or is over: `ended` by itself, `killed`, `lost` with its machine."""
    process: str
    turn: str
    """Which started it."""
    command: str
    over: bool = False
    """Whether that turn had ended at that instant."""


class ModelCalled(NamedTuple):
    """A model was called."""

    request: str
    """The last thing a person said in what it was shown."""
    messages: tuple[Message, ...]
    running: bool
    """Whether the turn that holds that message was running at that instant."""
    turn: str = ""
    barred: float = 0.0
    """Seconds for which whoever the turn is for had not been allowed to talk at that instant."""


@dataclass(slots=True)
class Writing:
    """One call of a model, as it went on."""

    turn: str
    effects: bool = False
    """Its replies have effects of their own: one that was cut off must not be asked for again."""
    shown: list[tuple[float, str]] = field(default_factory=list)
    """What it had written, and when."""
    how: str = "died"
    """How it ended: it `replied`, `failed` by itself, was `cut` off, or `died` with its process."""
    ended_at: float | None = None
    interruptions: int = 0
    """How often its turn had been interrupted when it began."""


class Span(NamedTuple):
    """Something was held by one holder from one step of the loop to another."""

    what: str
    holder: str
    begun: int
    ended: int | None


class Waited(NamedTuple):
    """Interrupted work that a worker took up, with how long it stood in line and how long it may, in ms."""

    turn: str
    waited: int
    most: int


class Size(NamedTuple):
    """How much a ledger holds, and what it holds it for."""

    rows: int
    messages: int
    boots: int


class Windows(NamedTuple):
    """How old something may be, in milliseconds, before nobody runs or sends it by itself; 0 is no limit."""

    resume: int = 0
    backlog: int = 0
    delivery: int = 0
    aside: int = 0
    """Milliseconds a part may fail, while others do not, before its chat goes on without it."""
    repeats: int = 0
    """How often a part may be repeated."""


class InboxLine(NamedTuple):
    position: int
    account: str
    event_id: str
    key: str
    kind: str
    text: str
    state: str
    turn: str | None
    question: str | None
    reason: str | None
    late: int = 0
    """Milliseconds between its sending and its arrival."""
    sender: str = ""
    """Whose it is; of a wake-up, for whom the conversation works."""
    message: str | None = None


class TurnLine(NamedTuple):
    id: str
    session: str
    key: str
    cause: int
    state: str
    generation: int
    held: str | None
    why: str | None
    interruptions: int = 0
    ended_at: int | None = None


class EntryLine(NamedTuple):
    session: str
    seq: int
    turn: str
    kind: str
    call: str | None
    number: int | None
    body: str | None
    at: int


class CallLine(NamedTuple):
    turn: str
    id: str
    name: str
    arguments: str
    effect: str
    state: str


class QuestionLine(NamedTuple):
    id: str
    kind: str
    turn: str
    call: str | None
    state: str
    answer: str | None
    by: int | None
    """The inbox row that answered it."""
    asked_of: str | None = None
    of_owner: int = 0


class RuleLine(NamedTuple):
    """A rule that stands for consent in a chat, revoked or not."""

    id: int
    by: str
    """Who gave it."""
    answers: int = 1
    """It came with the answer `always` to a question."""


class ProcessLine(NamedTuple):
    id: str
    session: str
    turn: str
    state: str
    notify: int
    consumed: int
    left: int = 0
    """Its conversation was ended, parked or erased since: nobody is told of it any more."""
    matches: int = 0
    remembered: int = 0
    """Its conversation was erased, and it runs or its command is known."""


class GoalLine(NamedTuple):
    session: str
    state: str
    budget: int
    used: int


class OutboxLine(NamedTuple):
    id: int
    chat: str
    number: int
    turn: str | None
    kind: str
    dedupe: str
    part: int
    text: str
    state: str
    reason: str | None
    age: int = 0
    """Milliseconds from being owed to being settled."""
    reply_to: str | None = None


@dataclass(frozen=True, slots=True)
class Ledger:
    """The rows that invariants speak of, as a reader of its own found them."""

    inbox: tuple[InboxLine, ...] = ()
    turns: tuple[TurnLine, ...] = ()
    entries: tuple[EntryLine, ...] = ()
    calls: tuple[CallLine, ...] = ()
    outbox: tuple[OutboxLine, ...] = ()
    set_aside: frozenset[tuple[str, str]] = frozenset()
    refused: frozenset[tuple[str, str]] = frozenset()
    open_questions: frozenset[str] = frozenset()
    """Turns that wait for a person."""
    decided: frozenset[str] = frozenset()
    """The rows of recovery's table that have decided about a turn, by name."""
    cut: frozenset[str] = frozenset()
    """Turns that a process cut off itself, because it was to end."""
    questions: tuple[QuestionLine, ...] = ()
    processes: tuple[ProcessLine, ...] = ()
    goals: tuple[GoalLine, ...] = ()
    ended: frozenset[str] = frozenset()
    """Sessions that are over."""
    paused: frozenset[str] = frozenset()
    """Turns that safe mode held at some time."""
    rules: tuple[RuleLine, ...] = ()


@dataclass(slots=True)
class History:
    """Everything observed of one world."""

    events: list[PlatformEvent] = field(default_factory=list)
    confirmed: list[Confirmed] = field(default_factory=list)
    shown: list[Shown] = field(default_factory=list)
    tried: list[Tried] = field(default_factory=list)
    """Every send, whatever came of it."""
    looked_for: int = 0
    """How often a platform was asked whether it has something."""
    seen: list[Seen] = field(default_factory=list)
    """What was to be seen of work in progress, in order."""
    read: list[FeedRead] = field(default_factory=list)
    """What readers of feeds were given, in order."""
    cut_readers: int = 0
    """How often one of them lost the connection."""
    last_looks: dict[str, dict[str, Any]] = field(default_factory=dict)
    """How each chat stands, as a page that watches it was told last."""
    editing: frozenset[str] = frozenset()
    """Platforms on which a message of ours can be changed."""
    ran: list[Ran] = field(default_factory=list)
    worked: list[Worked] = field(default_factory=list)
    wakeups: int = 0
    """How often the output of one process may wake somebody."""
    asked: list[ModelCalled] = field(default_factory=list)
    writings: list[Writing] = field(default_factory=list)
    """What models wrote, call by call."""
    summing: list[bool] = field(default_factory=list)
    """Each time a model was asked to sum up: whether any turn was running."""
    spans: list[Span] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)
    waited: list[Waited] = field(default_factory=list)
    answers: list[Answered] = field(default_factory=list)
    put_aside: list[PutAside] = field(default_factory=list)
    woken: list[Woken] = field(default_factory=list)
    vanished: list[str] = field(default_factory=list)
    """What the ledger held at one instant and no more at a later one."""
    kept_waiting: list[str] = field(default_factory=list)
    """Messages that did not release the work before them which safe mode held."""
    deaths: list[Death] = field(default_factory=list)
    stops: int = 0
    """How often somebody outside asked a process to stop."""
    ends: int = 0
    """Processes that ended in order."""
    barred: set[str] = field(default_factory=set)
    """Everybody who was not allowed to talk at some time."""
    owners: frozenset[str] = frozenset()
    """People who own the gateway."""
    gone: set[tuple[str, str]] = field(default_factory=set)
    """Platforms and messages there that their senders have taken back."""
    forgotten: set[tuple[str, str]] = field(default_factory=set)
    """Events that a platform has given up, because nobody fetched them in time."""
    rendering: frozenset[str] = frozenset()
    """Platforms that show a text in their own way."""
    troubles: frozenset[str] = frozenset()
    """The faults of chance that happened."""
    quarantined: set[frozenset[str]] = field(default_factory=set)
    """Turns of suspects that ran at the same time."""
    busy: str = "queue"
    """What becomes of messages that come during a turn, unless a chat chose otherwise."""
    exposed: list[str] = field(default_factory=list)
    """Where a secret was seen that belongs nowhere."""
    sizes: list[Size] = field(default_factory=list)
    deaf: list[str] = field(default_factory=list)
    """Platforms that could be reached at rest, and were not listened to."""
    windows: Windows = Windows()
    damage: list[str] = field(default_factory=list)
    """What integrity checks said after a crash."""
    lost_files: list[str] = field(default_factory=list)
    """Files that the ledger named after a crash or at the end, and that were not there."""
    copies: int = 0
    """Backups that were taken and restored."""
    bad_copies: list[str] = field(default_factory=list)
    """What was wrong with them."""
    boots: list[tuple[dict[str, list[tuple[object, ...]]], dict[str, list[tuple[object, ...]]]]] = field(
        default_factory=list
    )
    """The ledger at rest before and after another boot."""
    idempotent: frozenset[str] = frozenset()
    """Platforms on which a repeated send with the same key shows once."""
    longest: dict[str, int] = field(default_factory=dict)
    """Characters a message may have, by platform."""
    ledger: Ledger = Ledger()
    """As it stands at the end."""
