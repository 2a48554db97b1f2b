"""What the gateway does with a row that arrives, and what it tells the sender.

`admit` decides about one row from what the ledger says of its conversation. The words (`ack`) are true only
once the decision is committed, so the gateway sends them after that commit and never before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType

from holdfast.model import (
    AskedBy,
    BusyMode,
    InboxKind,
    PersonId,
    QuestionId,
    QuestionKind,
    QuestionRecord,
    QuestionState,
    TurnState,
)
from holdfast.policy.ages import age
from holdfast.policy.consent.card import ALWAYS
from holdfast.policy.recovery.parks import ON_HOLD
from holdfast.policy.settings import HOUR, QueueSettings
from holdfast.policy.turn.calls import APPROVED, is_yes
from holdfast.records import dataclass

from .parse_input import APPROVED_ALWAYS, Command, parse_answer, parse_command


class Drain(StrEnum):
    """Why the gateway starts no new turn now."""

    RESTART = "restart"
    SHUTDOWN = "shutdown"


class Refusal(StrEnum):
    """Why the gateway does not take a row."""

    QUEUE_FULL = "queue_full"
    QUESTION_CLOSED = "question_closed"
    NOT_ASKED = "not_asked"
    """The question whose button was pressed is for another person."""
    NOT_SHOWN = "not_shown"
    """A part of the call that the answer would allow has not been delivered."""
    NOT_A_COMMAND = "not_a_command"
    TOO_LONG = "too_long"
    NOT_ALLOWED = "not_allowed"
    """At dispatch the sender was no longer allowed, or the gateway could not check it."""


@dataclass(frozen=True, slots=True)
class ArrivalFacts:
    """An arriving row of an allowed sender, and the state of its conversation."""

    kind: InboxKind
    sender: PersonId
    text: str
    sent_at: int | None
    """None when the platform does not say: the row counts as sent now."""
    turn: TurnState | None
    """The state of the session's open turn, if there is one."""
    busy: BusyMode
    waiting: int
    """How many rows of this conversation wait already."""
    question: QuestionRecord | None = None
    """The open question of that turn."""
    asked_at: int | None = None
    pressed: QuestionId | None = None
    """The question whose button the sender pressed, or to whose message they replied with an answer."""
    closed: QuestionState | None = None
    """How that question was closed; None while it is open, or when it is not for this person."""
    closed_of: AskedBy | None = None
    """Why the gateway asked that question, if it was the gateway's own about interrupted work."""
    draining: Drain | None = None
    safe_mode: bool = False
    on_hold: bool = False
    """The conversation was parked too often: its messages wait for an owner."""
    faulty: bool = False
    """An error stopped the last claim of this conversation."""
    joins: bool = False
    """The open turn was interrupted. It takes this message if it resumes: no other waits before it."""
    owner: bool = False
    """The sender is an owner."""
    unshown: bool = False
    """A part of the question's message has not been delivered."""


@dataclass(frozen=True, slots=True)
class Queue:
    """The row waits for its own turn, or for the resumed turn, which takes the oldest waiting message."""

    ack: str | None = None


@dataclass(frozen=True, slots=True)
class Collect:
    """The row waits, and the next turn takes it together with the other waiting rows."""

    ack: str


@dataclass(frozen=True, slots=True)
class Steer:
    """The running turn reads the row at its next step; if it ends first, the row starts the next turn."""

    ack: str


@dataclass(frozen=True, slots=True)
class Interrupt:
    """The gateway stops the running turn, and this row starts the next one."""

    ack: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The row answers the open question with `value`."""

    question: QuestionId
    value: str
    ack: str | None = None


@dataclass(frozen=True, slots=True)
class SetAsideQuestion:
    """The question closes as set aside; the model sees that and the message, in the same turn.

    The turn's other questions to the same person close in the same way.
    """

    question: QuestionId
    ack: str | None = None


@dataclass(frozen=True, slots=True)
class DropWork:
    """The row is no answer to "continue or drop?": the old work ends, and the row starts the next turn."""

    question: QuestionId
    ack: str


@dataclass(frozen=True, slots=True)
class Offer:
    """The row is too old to run by itself; the gateway tells the person once per chat and backlog."""

    ack: str


@dataclass(frozen=True, slots=True)
class Refuse:
    """The gateway does not take the row, and tells the sender why."""

    reason: Refusal
    ack: str


@dataclass(frozen=True, slots=True)
class Execute:
    """The row is a command: the gateway carries it out at once, past the queue, with its own reply."""

    command: Command
    ack: str | None = None


Admission = (
    Queue | Collect | Steer | Interrupt | Answer | SetAsideQuestion | DropWork | Offer | Refuse | Execute
)

_AFTER_DRAIN: Mapping[Drain, str] = MappingProxyType(
    {
        Drain.RESTART: "The gateway is restarting. This is kept; I go on with it after the restart.",
        Drain.SHUTDOWN: "The gateway is shutting down. This is kept; I go on with it when the gateway runs "
        "again.",
    }
)
_STEERED_IN_DRAIN: Mapping[Drain, str] = MappingProxyType(
    {
        Drain.RESTART: "The gateway is restarting. This is kept: I read it at the next step of the current "
        "task, or after the restart.",
        Drain.SHUTDOWN: "The gateway is shutting down. This is kept: I read it at the next step of the "
        "current task, or when the gateway runs again.",
    }
)
_CLOSED: Mapping[QuestionState | None, str] = MappingProxyType(
    {
        QuestionState.ANSWERED: "That question already has an answer",
        QuestionState.EXPIRED: "That question has expired",
        QuestionState.SET_ASIDE: "Another message set that question aside",
        QuestionState.CANCELLED: "The work that asked this was stopped",
    }
)
_FAULTY = (
    "Kept, but I may not be able to answer: the last time I worked in this chat, an error stopped me. I try "
    "again now. If that fails too, I tell the operator, and your message waits until they have fixed it."
)
_JOINS_RESUMED = "Kept. I am resuming the interrupted work here, and answer this in the same turn."
_JOINS_IF_RESUMED = (
    "Kept. The work here was interrupted. If it resumes, I answer this in the same turn; if not, right "
    "after it."
)
_NOT_SHOWN = (
    "Not allowed yet: a part of the call has not been delivered here. Answer again when all of its parts "
    "have arrived. Until then I accept only a no."
)
_ONCE = "I take this as a yes to this one call. I stored no rule:"
_NOT_AN_OWNER = f"{_ONCE} only an owner can allow a call always."
_NOT_OFFERED = f"{_ONCE} this card does not offer one."
_SHOWN_OF_QUESTION = 200


def admit(facts: ArrivalFacts, now: int, settings: QueueSettings) -> Admission:
    """Decide what the gateway does with the row. Access was checked before; the ledger drops duplicates."""
    if facts.kind in (InboxKind.WAKEUP, InboxKind.OPERATOR):
        # No person sent it: there is no sender to tell, no limit of age or number, and no run to interrupt.
        return Queue()
    if len(facts.text) > settings.longest:
        return _too_long(facts, settings)
    question = _open_question(facts, now)
    if facts.pressed is not None:
        return _press(facts, question)
    if facts.sent_at is not None and age(now, facts.sent_at) > settings.backlog:
        return Offer(_offer_words(settings))
    if facts.kind is InboxKind.COMMAND:
        command = parse_command(facts.text)
        return Execute(command) if command else Refuse(Refusal.NOT_A_COMMAND, "I cannot read that command.")
    if question is not None and _is_about(facts, question, settings):
        return _reply_to(facts, question, settings)
    return _wait(facts, question, settings)


def question_for(questions: Sequence[QuestionRecord], sender: PersonId, text: str) -> QuestionRecord | None:
    """The open question of a turn that a message is about: the gateway's own, or one that the text answers.

    A text that answers none is about the first question to its sender. Other people only learn what the turn
    waits for.
    """
    asked = [one for one in questions if not one.of_owner and one.asked_of in (None, sender)]
    own = [one for one in asked if one.kind is QuestionKind.CONTINUE]
    fitting = [one for one in asked if parse_answer(one, text) is not None]
    return next(iter((*own, *fitting, *asked, *questions)), None)


def _open_question(facts: ArrivalFacts, now: int) -> QuestionRecord | None:
    """The question that a person can still answer; an expired one is closed, even if no row says so yet."""
    question = facts.question
    if question is None or question.state is not QuestionState.OPEN:
        return None
    return None if question.expires_at and now >= question.expires_at else question


def _is_asked(facts: ArrivalFacts, question: QuestionRecord) -> bool:
    """Whether the sender may answer: a question to an owner only by its button or by a reply to it."""
    if question.of_owner:
        return facts.owner and facts.pressed == question.id
    return question.asked_of in (None, facts.sender)


def _is_about(facts: ArrivalFacts, question: QuestionRecord, settings: QueueSettings) -> bool:
    """Whether a message can be about the question: its sender was asked, and sent it after the question."""
    if not _is_asked(facts, question):
        return False
    if facts.sent_at is None or facts.asked_at is None:
        return True
    return facts.sent_at + settings.skew >= facts.asked_at


def _press(facts: ArrivalFacts, question: QuestionRecord | None) -> Admission:
    if question is None or question.id != facts.pressed:
        closed = _CLOSED.get(facts.closed, "That question is closed")
        if facts.closed is QuestionState.EXPIRED and facts.closed_of is AskedBy.SAFE_MODE:
            closed = "Safe mode is over and that work goes on by itself"
        return Refuse(Refusal.QUESTION_CLOSED, f"{closed}, so I did nothing with this answer.")
    if not _is_asked(facts, question):
        return Refuse(Refusal.NOT_ASKED, "That question is for another person.")
    value = parse_answer(question, facts.text)
    if value is None:
        return Refuse(Refusal.QUESTION_CLOSED, "That answer does not fit the question any more.")
    return _answer(facts, question, value)


def _answer(facts: ArrivalFacts, question: QuestionRecord, value: str) -> Answer | Refuse:
    """Take the answer, but a yes to a call only when all parts of the card have been delivered."""
    if facts.unshown and question.kind is QuestionKind.APPROVAL and is_yes(value):
        return Refuse(Refusal.NOT_SHOWN, _NOT_SHOWN)
    if value == APPROVED_ALWAYS and not (facts.owner and ALWAYS in question.options):
        # They may allow this one call, so their answer counts for that.
        words = (_NOT_OFFERED if facts.owner else _NOT_AN_OWNER, _drain_words(facts))
        return Answer(question.id, APPROVED, " ".join(filter(None, words)))
    return Answer(question.id, value, _drain_words(facts))


def _reply_to(facts: ArrivalFacts, question: QuestionRecord, settings: QueueSettings) -> Admission:
    value = parse_answer(question, facts.text)
    if value is not None:
        return _answer(facts, question, value)
    if question.kind is not QuestionKind.CONTINUE:
        return SetAsideQuestion(question.id, _drain_words(facts))
    if _keeps_work(facts, question):
        return _wait(facts, question, settings)
    if facts.waiting >= settings.most:
        return _full(settings)
    dropped = "I dropped the work that I asked about."
    return DropWork(question.id, f"{dropped} {_drain_words(facts) or 'Your message is next.'}")


def _keeps_work(facts: ArrivalFacts, question: QuestionRecord) -> bool:
    """Whether safe mode holds the work that this question is about: then another message does not drop it."""
    asks = question.asked_by
    return asks is AskedBy.SAFE_MODE or (asks is AskedBy.CHAT and facts.safe_mode)


def _wait(facts: ArrivalFacts, question: QuestionRecord | None, settings: QueueSettings) -> Admission:
    if facts.waiting >= settings.most:
        return _full(settings)
    if facts.on_hold:
        return Queue(f"Kept. {ON_HOLD}")
    runs = question is None and facts.turn is TurnState.RUNNING
    if facts.draining is not None:
        # The running turn may finish, and still reads messages in `steer` mode.
        steers = runs and facts.busy is BusyMode.STEER
        return Steer(_STEERED_IN_DRAIN[facts.draining]) if steers else Queue(_drain_words(facts))
    if facts.faulty:
        return Queue(_FAULTY)
    if facts.turn is None:
        return Queue()
    if runs:
        return _while_running(facts.busy)
    if facts.joins and question is None:
        return Queue(_JOINS_RESUMED if facts.turn is TurnState.QUEUED else _JOINS_IF_RESUMED)
    # No run could be steered or stopped: the open turn comes first.
    words = "Queued. Earlier work in this chat comes first."
    if question is not None:
        words = f"Queued. First I wait for {_awaited(question)}"
    return Collect(words) if facts.busy is BusyMode.COLLECT else Queue(words)


def _while_running(busy: BusyMode) -> Admission:
    if busy is BusyMode.COLLECT:
        return Collect("Queued. I'll answer it together with the other messages that wait.")
    if busy is BusyMode.STEER:
        return Steer("Kept. I'll read it at the next step of the current task, or right after the task.")
    if busy is BusyMode.INTERRUPT:
        return Interrupt("I stop the current task. Your message is next.")
    return Queue("Queued. I'll answer it when I finish the current task.")


def refuse_edit(text: str, settings: QueueSettings) -> Refuse | None:
    """Say why the gateway does not change a waiting message into this text; None when it does."""
    if len(text) <= settings.longest:
        return None
    words = (
        f"Not changed: this has {len(text)} characters now, and I take {settings.longest} at most. "
        "I keep what you wrote before."
    )
    return Refuse(Refusal.TOO_LONG, words)


def _full(settings: QueueSettings) -> Refuse:
    words = f"Not taken: {settings.most} messages wait here already. Send it again when I have answered some."
    return Refuse(Refusal.QUEUE_FULL, words)


def _too_long(facts: ArrivalFacts, settings: QueueSettings) -> Refuse:
    words = (
        f"Not taken: this has {len(facts.text)} characters, and I take {settings.longest} at most. "
        "Send it in parts, or as a file."
    )
    return Refuse(Refusal.TOO_LONG, words)


def _drain_words(facts: ArrivalFacts) -> str | None:
    return _AFTER_DRAIN[facts.draining] if facts.draining else None


def _offer_words(settings: QueueSettings) -> str:
    return (
        f"You wrote this more than {settings.backlog // HOUR} hours before it reached me, so I have not "
        "started on it or on your other messages of that age. Send it again if you still want it."
    )


def _awaited(question: QuestionRecord) -> str:
    if question.of_owner:
        return "an owner's permission for the current task."
    return f"an answer to: {_shown(question.text)}"


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN_OF_QUESTION else f"{text[:_SHOWN_OF_QUESTION]}…"
