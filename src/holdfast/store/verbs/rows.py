"""Rows of the database as records of the model."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from enum import StrEnum
from typing import Any, TypeVar

from holdfast.model import (
    AskedBy,
    Began,
    BusyMode,
    CallId,
    CallRecord,
    CallState,
    ChatAddress,
    ChatSettings,
    Delivery,
    DeliveryId,
    DeliveryState,
    EffectClass,
    Entry,
    Goal,
    GoalState,
    InboxKind,
    InboxRow,
    InboxState,
    Instance,
    InstanceId,
    Key,
    OnInterruption,
    OwedKind,
    PersonId,
    Position,
    Process,
    ProcessId,
    ProcessState,
    QuestionId,
    QuestionKind,
    QuestionRecord,
    QuestionState,
    Request,
    Session,
    SessionId,
    StopKind,
    Stopped,
    Tail,
    Turn,
    TurnId,
    TurnState,
    call_key,
    place_at,
)

from .codec import ERASED, load_body, load_files, load_list, load_message
from .tx import Row

LATEST_TIME = 253_402_300_799_999
"""The end of the year 9999: a time beyond it, or before 1970, is damage, not a time."""


T = TypeVar("T")
W = TypeVar("W", bound=StrEnum)


def time_or_none(value: int | None) -> int | None:
    """A damaged optional time counts as absent."""
    return value if isinstance(value, int) and 0 <= value <= LATEST_TIME else None


def reader(words: type[W]) -> Callable[[str | None], W | None]:
    """Make a reader of an optional word; a damaged word, or one of a newer version, counts as absent."""
    known: dict[str | None, W] = {word.value: word for word in words}
    return known.get


class _Known(dict[str, W]):
    """The words of a set by their text; any other text is damage."""

    def __missing__(self, text: str) -> W:
        raise ValueError(f"the ledger does not know the word {text!r}")


def strict(words: type[W]) -> Callable[[str], W]:
    """Make a reader of a required word; it costs a fraction of a call of the enum class."""
    return _Known({word.value: word for word in words}).__getitem__


_inbox_kind, _inbox_state, _turn_state = strict(InboxKind), strict(InboxState), strict(TurnState)
_owed_kind, _delivery_state = strict(OwedKind), strict(DeliveryState)
_effect, _call_state = strict(EffectClass), strict(CallState)
_began, _stopped = reader(Began), reader(Stopped)
busy_or_none = reader(BusyMode)
on_interruption_or_none = reader(OnInterruption)
_tail, _stop = reader(Tail), reader(StopKind)


def tail(value: str) -> Tail:
    """How a transcript ends; damage reads as unfinished work."""
    return _tail(value) or Tail.WORK


def stop(value: str | None) -> StopKind | None:
    """The kind of stop that was asked; a damaged kind reads as `stop`."""
    return None if value is None else _stop(value) or StopKind.STOP


def readable(make: Callable[[Row], T], found: Iterable[Row]) -> tuple[T, ...]:
    """The rows that can be read. The others are left out; `verify` names them."""
    made: list[T] = []
    for row in found:
        with suppress(ValueError):
            made.append(make(row))
    return tuple(made)


def entry(row: Row) -> Entry:
    seq, turn, at, kind, call, count, body = row
    return Entry(seq, TurnId(turn), time_or_none(at) or 0, load_body(kind, call, count, body))


def instance(row: Row) -> Instance:
    id_, host, pid, boot, version, started_at, heartbeat_at, stopped, stopped_at, led_to_park = row
    began, beat = time_or_none(started_at), time_or_none(heartbeat_at)
    return Instance(
        InstanceId(id_),
        host,
        pid,
        boot,
        version,
        # If only one of the two times can be read, it is used for both.
        began or beat or 0,
        beat or began or 0,
        _stopped(stopped),
        time_or_none(stopped_at),
        bool(led_to_park),
    )


def inbox_row(row: Row) -> InboxRow:
    position, account, event_id, key, chat, sender, kind, body = row[:8]
    message_id, sent_at, accepted_at, state, turn, question, reason = row[8:15]
    text, attachments = load_message(body)
    return InboxRow(
        Position(position),
        account,
        event_id,
        Key(key),
        place_at(ChatAddress(chat)),
        PersonId(sender),
        _inbox_kind(kind),
        text,
        attachments,
        message_id,
        time_or_none(sent_at),
        accepted_at,
        _inbox_state(state),
        TurnId(turn) if turn else None,
        QuestionId(question) if question else None,
        reason,
    )


def request(row: Row) -> Request:
    id_, what, dedupe, asked_by, after_turn, asked_at, done_at, outcome, instance_ = row
    return Request(
        id_,
        what,
        dedupe,
        asked_by,
        after_turn,
        time_or_none(asked_at) or 0,
        time_or_none(done_at),
        outcome,
        instance_,
    )


def session(row: Row) -> Session:
    """A row as a session; the columns are its fields in order, and those that may be damaged are checked."""
    values = list(row)
    values[3] = _began(row[3]) or Began.FIRST
    values[12] = time_or_none(row[12])
    return Session._make(values)


def turn(row: Row) -> Turn:
    """A row as a turn, read like a session."""
    values = list(row)
    values[3] = _turn_state(row[3])
    values[9] = time_or_none(row[9])
    values[10] = tail(row[10])
    values[13] = time_or_none(row[13])
    values[15] = stop(row[15])
    values[17] = time_or_none(row[17])
    return Turn._make(values)


def chat_settings(busy: Any, on_interruption: Any, agent: Any, model: Any) -> ChatSettings:
    return ChatSettings(
        busy_or_none(busy),
        on_interruption_or_none(on_interruption),
        _text_or_none(agent),
        _text_or_none(model),
    )


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def call(turn: TurnId, row: Row) -> CallRecord:
    id_, name, arguments, effect, state, generation, output = row
    return CallRecord(
        CallId(id_),
        name,
        arguments or "",
        _effect(effect),
        call_key(turn, id_),
        _call_state(state),
        generation,
        output,
    )


asked_by_or_none = reader(AskedBy)


def question(row: Row) -> QuestionRecord:
    id_, kind, call_, state, text, options, asked_of, expires_at, answer, call_hash, asked_at = row[:11]
    closed_at, answered_by, asked_by, of_owner = row[11:15]
    return QuestionRecord(
        QuestionId(id_),
        QuestionKind(kind),
        CallId(call_) if call_ else None,
        QuestionState(state),
        ERASED if text is None else text,
        load_list(options),
        PersonId(asked_of) if asked_of else None,
        expires_at,
        answer,
        call_hash,
        asked_at,
        closed_at,
        PersonId(answered_by) if answered_by else None,
        asked_by_or_none(asked_by),
        bool(of_owner),
    )


def delivery(row: Row) -> Delivery:
    id_, chat, number, kind, part, parts, body, options, files, reply_to, dedupe, state = row[:12]
    attempts, repeated, created_at, claimed_at, settled_at, platform_id, reason = row[12:19]
    session_, turn_, tried, repeats, failing_since, overtaken_at, aside_at = row[19:26]
    return Delivery(
        DeliveryId(id_),
        ChatAddress(chat),
        number,
        _owed_kind(kind),
        part,
        parts,
        ERASED if body is None else body,
        load_list(options),
        reply_to,
        dedupe,
        _delivery_state(state),
        attempts,
        bool(repeated),
        created_at,
        claimed_at,
        settled_at,
        platform_id,
        reason,
        session_,
        turn_,
        tried,
        load_files(files),
        repeats,
        time_or_none(failing_since),
        time_or_none(overtaken_at),
        time_or_none(aside_at),
    )


def process(row: Row) -> Process:
    id_, session_, incarnation, generation, turn_, pid, ticks, command, log, notify, patterns = row[:11]
    state, exit_code, consumed, matches, started_at, ended_at, boot, watched, missed = row[11:20]
    return Process(
        ProcessId(id_),
        SessionId(session_),
        incarnation,
        generation,
        TurnId(turn_),
        pid,
        ticks,
        command or "",
        log,
        bool(notify),
        load_list(patterns),
        ProcessState(state),
        exit_code,
        bool(consumed),
        matches,
        started_at,
        ended_at,
        boot,
        watched,
        missed,
    )


def goal(row: Row) -> Goal:
    session_, text, state, budget, used, set_at, set_by, words, waits = row
    return Goal(
        SessionId(session_),
        text or "",
        GoalState(state),
        budget,
        used,
        set_at,
        PersonId(set_by),
        words or "",
        bool(waits),
    )
