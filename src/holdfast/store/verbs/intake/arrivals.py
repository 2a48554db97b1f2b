"""Arrivals: one commit keeps a message, decides how it is admitted and carries that out."""

from __future__ import annotations

from dataclasses import replace

from holdfast.model import (
    Accepted,
    AskedBy,
    Batch,
    Inbound,
    InboxKind,
    InboxState,
    Key,
    Owed,
    OwedKind,
    Position,
    QuestionId,
    QuestionRecord,
    QuestionState,
    SessionId,
    StopKind,
    TurnId,
    TurnState,
)
from holdfast.policy.intake.admission import (
    Admission,
    Answer,
    ArrivalFacts,
    DropWork,
    Interrupt,
    Offer,
    Refuse,
    SetAsideQuestion,
    admit,
    question_for,
)
from holdfast.policy.intake.parse_input import parse_answer, parse_command
from holdfast.store.contract import AS_CONFIGURED, ArrivalSettings
from holdfast.store.verbs import rows
from holdfast.store.verbs.codec import load_message
from holdfast.store.verbs.delivery.outbox_insert import owe_all
from holdfast.store.verbs.turn.endings import ask_to_stop
from holdfast.store.verbs.tx import Row, Tx

from .goal_turns import goal_was_interrupted
from .intake import accept_one, accept_rest, keep_row, line_up, settle_row
from .questions import answer, set_aside_by, set_question_aside

BACKLOG = "backlog"
"""The reason of an offered message: it is too old to be answered unless its person asks for it."""
_ENDS_TURNS = ("stop", "new")
_turn_state = rows.reader(TurnState)
_question_state = rows.reader(QuestionState)


def accept(tx: Tx, batch: Batch, settings: ArrivalSettings = AS_CONFIGURED) -> tuple[Accepted, ...]:
    accepted = [_take_in(tx, batch.account, message, settings) for message in batch.messages]
    accept_rest(tx, batch, settings.pairing)
    return tuple(each for each in accepted if each is not None)


def _take_in(tx: Tx, account: str, message: Inbound, settings: ArrivalSettings) -> Accepted | None:
    """Keep one row and, if it is a message or a command that is too long to be one, admit it."""
    longest = settings.queue.longest
    too_long = len(message.text) > longest
    if message.kind is not InboxKind.MESSAGE and not (message.kind is InboxKind.COMMAND and too_long):
        return accept_one(tx, account, message)
    conversation = tx.one("arrival", key=message.key, most=settings.queue.most, me=tx.instance)
    row = replace(message, text=message.text[:longest]) if too_long else message
    kept = keep_row(tx, account, row)
    if kept is None or not kept.fresh:
        return kept
    admission = admit(_facts(tx, message, conversation, settings), tx.now, settings.queue)
    if admission.ack is not None:
        kept = replace(kept, words=admission.ack)
        if not (isinstance(admission, Offer) and _told_of_the_backlog(tx, message.key, settings)):
            _owe_words(tx, message, kept)
    _carry_out(tx, message, kept.position, admission, conversation, settings)
    if conversation is not None and conversation[6] and not isinstance(admission, (Answer, Refuse, Offer)):
        goal_was_interrupted(tx, SessionId(conversation[5]), kept.position)
    return kept


def _told_of_the_backlog(tx: Tx, key: Key, settings: ArrivalSettings) -> bool:
    """Whether the chat was told of this backlog: its messages arrive together, and one notice is enough."""
    since = tx.now - settings.queue.backlog
    return tx.one("offered_since", key=key, reason=BACKLOG, since=since) is not None


def _owe_words(tx: Tx, message: Inbound, kept: Accepted) -> None:
    """Owe the words about the kept row."""
    words = (kept.words or "",)
    notice = Owed(message.place.address, f"ack:{kept.position}", words, OwedKind.NOTICE, message.message_id)
    owe_all(tx, (notice,))


def _facts(tx: Tx, message: Inbound, conversation: Row | None, settings: ArrivalSettings) -> ArrivalFacts:
    nothing = (None, None, None, 0, False, 0, 0, 0)
    busy, turn, state, waiting, asks, *_, faulty, resumes, on_hold = conversation or nothing
    question: QuestionRecord | None = None
    owner = settings.is_owner(message.sender)
    pressed = message.pressed or _replied(tx, message)
    if pressed is not None:
        question = _pressed(tx, message, pressed, owner)
    elif asks and turn is not None:
        question = _open_question(tx, TurnId(turn), message)
    return ArrivalFacts(
        message.kind,
        message.sender,
        message.text,
        rows.time_or_none(message.sent_at),
        _turn_state(state),
        rows.busy_or_none(busy) or settings.busy,
        waiting,
        question,
        question.asked_at if question else None,
        pressed,
        *(_how_closed(tx, message, pressed, owner) if pressed and question is None else (None, None)),
        settings.draining,
        settings.safe_mode,
        on_hold=bool(on_hold),
        faulty=bool(faulty),
        joins=bool(resumes) and not waiting,
        owner=owner,
        unshown=question is not None and _is_unshown(tx, question, message.pressed is not None),
    )


def _replied(tx: Tx, message: Inbound) -> QuestionId | None:
    """The question to whose message this one replies; None unless the text can be an answer to it."""
    if message.replies_to is None:
        return None
    row = tx.one("replied_question", chat=message.place.address, message=message.replies_to)
    question = rows.question(row) if row else None
    return question.id if question is not None and parse_answer(question, message.text) is not None else None


def _is_unshown(tx: Tx, question: QuestionRecord, pressed: bool) -> bool:
    return tx.one("unshown_parts", id=question.id, pressed=pressed) is not None


def _pressed(tx: Tx, message: Inbound, question: QuestionId, owner: bool) -> QuestionRecord | None:
    chat = message.place.address
    row = tx.one("pressed_question", id=question, chat=chat, person=message.sender, owner=owner, now=tx.now)
    return rows.question(row) if row else None


def _how_closed(
    tx: Tx, message: Inbound, question: QuestionId, owner: bool
) -> tuple[QuestionState | None, AskedBy | None]:
    """How a question closed that a person answers too late; if it is still open past its time, it expired."""
    chat = message.place.address
    row = tx.one("pressed_late", id=question, chat=chat, person=message.sender, owner=owner)
    if row is None:
        return None, None
    state = _question_state(row[0])
    asked_by = rows.asked_by_or_none(row[1])
    return (QuestionState.EXPIRED if state is QuestionState.OPEN else state), asked_by


def _open_question(tx: Tx, turn: TurnId, message: Inbound) -> QuestionRecord | None:
    if _is_ending(tx, message.key):
        return None
    found = rows.readable(rows.question, tx.all("open_questions", turn=turn, now=tx.now))
    return question_for(found, message.sender, message.text)


def _is_ending(tx: Tx, key: Key) -> bool:
    """Whether a waiting `/stop` or `/new` is about to end the turn that asks: then this is no answer."""
    pending = (parse_command(load_message(body)[0]) for (body,) in tx.all("commands_pending", key=key))
    return any(command is not None and command.name in _ENDS_TURNS for command in pending)


def _carry_out(
    tx: Tx,
    message: Inbound,
    position: Position,
    admission: Admission,
    conversation: Row | None,
    settings: ArrivalSettings,
) -> None:
    match admission:
        case Answer(question, value):
            owner = settings.is_owner(message.sender)
            answer(tx, question, position, value, message.sender, longest=settings.longest, owner=owner)
            return
        case Refuse(reason):
            settle_row(tx, position, InboxState.REFUSED, reason)
            return
        case Offer():
            settle_row(tx, position, InboxState.OFFERED, BACKLOG)
            return
        case SetAsideQuestion(question):
            set_aside_by(tx, question, position, message.sender)
        case DropWork(question):
            set_question_aside(tx, question, settings.longest)
        case Interrupt() if conversation is not None:
            ask_to_stop(tx, TurnId(conversation[1]), StopKind.INTERRUPT)
        case _:
            pass
    line_up(tx, message.key)
