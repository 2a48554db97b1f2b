"""Rows of the database as records of the model."""

from __future__ import annotations

from typing import Any

from holdfast.model import (
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
    place_at,
)

from .codec import load_body, load_list, load_message
from .commit import Row

LATEST_TIME = 253_402_300_799_999
"""The end of the year 9999: a time beyond it, or before 1970, is damage, not a time."""


def time_or_none(value: int | None) -> int | None:
    """A damaged optional time counts as absent."""
    return value if value is not None and 0 <= value <= LATEST_TIME else None


def entry(row: Row) -> Entry:
    seq, turn, at, kind, call, count, body = row
    return Entry(seq, TurnId(turn), at, load_body(kind, call, count, body))


def instance(row: Row) -> Instance:
    id_, host, pid, boot, version, started_at, heartbeat_at, stopped, stopped_at, led_to_park = row
    return Instance(
        InstanceId(id_),
        host,
        pid,
        boot,
        version,
        started_at,
        heartbeat_at,
        Stopped(stopped) if stopped else None,
        stopped_at,
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
        InboxKind(kind),
        text,
        attachments,
        message_id,
        time_or_none(sent_at),
        accepted_at,
        InboxState(state),
        TurnId(turn) if turn else None,
        QuestionId(question) if question else None,
        reason,
    )


def request(row: Row) -> Request:
    id_, what, dedupe, by, after_turn, asked_at, done_at, outcome = row
    return Request(id_, what, dedupe, by, after_turn, asked_at, done_at, outcome)


def session(row: Row) -> Session:
    id_, key, chat, began, began_at, generation, incarnation, strikes = row[:8]
    suspended_at, suspended_why, ended_at, ended_why, completed_at = row[8:13]
    return Session(
        SessionId(id_),
        Key(key),
        ChatAddress(chat),
        Began(began),
        began_at,
        generation,
        incarnation,
        strikes,
        suspended_at,
        suspended_why,
        ended_at,
        ended_why,
        time_or_none(completed_at),
    )


def turn(row: Row) -> Turn:
    id_, session_, cause, state, generation, attempt, owner, begun_at, claimed_at, progress_at = row[:10]
    tail, noted, interruptions, interrupted_at, interruption, stop, held, ended_at, why = row[10:19]
    return Turn(
        TurnId(id_),
        SessionId(session_),
        Position(cause),
        TurnState(state),
        generation,
        attempt,
        InstanceId(owner) if owner else None,
        begun_at,
        claimed_at,
        time_or_none(progress_at),
        Tail(tail),
        noted,
        interruptions,
        time_or_none(interrupted_at),
        interruption,
        StopKind(stop) if stop else None,
        held,
        ended_at,
        why,
    )


def chat_settings(busy: Any, on_interruption: Any, agent: Any, model: Any) -> ChatSettings:
    return ChatSettings(
        BusyMode(busy) if busy else None,
        OnInterruption(on_interruption) if on_interruption else None,
        agent,
        model,
    )


def call(row: Row) -> CallRecord:
    id_, name, arguments, effect, key, state, generation = row
    return CallRecord(
        CallId(id_), name, arguments or "", EffectClass(effect), key, CallState(state), generation
    )


def question(row: Row) -> QuestionRecord:
    id_, kind, call_, state, text, options, asked_of, expires_at, answer, call_hash = row
    return QuestionRecord(
        QuestionId(id_),
        QuestionKind(kind),
        CallId(call_) if call_ else None,
        QuestionState(state),
        text or "",
        load_list(options),
        PersonId(asked_of) if asked_of else None,
        expires_at,
        answer,
        call_hash,
    )


def delivery(row: Row) -> Delivery:
    id_, chat, number, kind, part, parts, body, options, reply_to, dedupe, state = row[:11]
    attempts, repeated, created_at, claimed_at, settled_at, platform_id, reason, session_, turn_ = row[11:20]
    return Delivery(
        DeliveryId(id_),
        ChatAddress(chat),
        number,
        OwedKind(kind),
        part,
        parts,
        body or "",
        load_list(options),
        reply_to,
        dedupe,
        DeliveryState(state),
        attempts,
        bool(repeated),
        created_at,
        claimed_at,
        settled_at,
        platform_id,
        reason,
        session_,
        turn_,
    )


def process(row: Row) -> Process:
    id_, session_, incarnation, generation, turn_, pid, ticks, command, log, notify, patterns = row[:11]
    state, exit_code, consumed, matches, started_at, ended_at = row[11:17]
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
    )
