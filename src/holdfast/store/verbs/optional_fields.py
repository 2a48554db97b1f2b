"""The fields of the ledger that the gateway can do without, each with its value if it is damaged."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from holdfast.model import (
    CALL,
    DELIVERY,
    INBOX,
    QUESTION,
    TURN,
    UNREADABLE,
    EffectClass,
    InboxKind,
    OwedKind,
    QuestionKind,
    StateTable,
)

from .codec import encode
from .tx import Value


class OptionalField(NamedTuple):
    """One column: its type unless it is null, and the value that replaces a damaged one."""

    kind: type
    absent: Value = None
    """The replacement. If it is null but the column is not nullable, the write derives it from the row."""
    words: frozenset[str] = frozenset()
    """The words that the schema allows; empty if it allows any."""

    def holds(self, value: object) -> bool:
        """Whether the value can be read."""
        return value is None or (type(value) is self.kind and (not self.words or value in self.words))


_Fields = Mapping[str, OptionalField]


class Table(NamedTuple):
    """The optional fields of a table that claims, senders and recovery read, and the queries to mend them."""

    fields: _Fields
    read: str
    write: str
    machine: StateTable | None = None
    """The table of its states. A row in no state of this table ends as the table says."""
    key: frozenset[str] = frozenset()
    """Fields that say what the row is. The row ends if one of them is damaged."""


_TEXT, _TIME = OptionalField(str), OptionalField(int)
_EMPTY, _LIST, _NONE = OptionalField(str, ""), OptionalField(str, "[]"), OptionalField(int, 0)

_TURN: _Fields = MappingProxyType(
    {
        "owner": _TEXT,
        "last_owner": _TEXT,
        "attempt": OptionalField(int, 1),
        "suspect": _NONE,
        "productive": _NONE,
        "begun_at": _NONE,
        "claimed_at": _NONE,
        "progress_at": _TIME,
        "progress_mark": _TEXT,
        "tail": OptionalField(str, "work"),
        "noted": _NONE,
        "interruptions": OptionalField(int, 1),
        "interrupted_at": _TIME,
        "interruption": _TEXT,
        "held": _TEXT,
        "held_since": _TIME,
        "quarantined": _NONE,
        "consented": _NONE,
        # A person asked for a stop; its kind is lost.
        "stop": OptionalField(str, "stop"),
        "stop_at": _TIME,
        "why": _TEXT,
        "deaths": _NONE,
    }
)
_SESSION: _Fields = MappingProxyType(
    {
        "began": OptionalField(str, "first"),
        "began_at": _NONE,
        "strikes": _NONE,
        "longest_fatal": _NONE,
        "completed_at": _TIME,
        # The session was parked; when is lost.
        "suspended_at": _NONE,
        "suspended_why": _TEXT,
        "deaths": _NONE,
        "cuts": _NONE,
        "follows_park": _NONE,
    }
)
_CHAT: _Fields = MappingProxyType(
    {
        "busy": _TEXT,
        "on_interruption": _TEXT,
        "agent": _TEXT,
        "model": _TEXT,
        "throttled_until": _NONE,
        "last_number": _TIME,
        "send_at": _TIME,
    }
)
_CONVERSATION: _Fields = MappingProxyType(
    {
        "ready_at": _TIME,
        "resume": _NONE,
        "fault": _TEXT,
        # An owner has to release it; since when is lost.
        "held_at": _NONE,
    }
)
_INBOX: _Fields = MappingProxyType(
    {
        "account": _EMPTY,
        "event_id": _TEXT,
        # A person without an id is allowed nothing.
        "sender": _EMPTY,
        "kind": OptionalField(str, InboxKind.MESSAGE.value, frozenset(InboxKind)),
        # Not null: null means that the content was erased on request.
        "body": OptionalField(str, encode("")),
        "message_id": _TEXT,
        "sent_at": _TIME,
        "accepted_at": _NONE,
        "incarnation": _TIME,
        "turn": _TEXT,
        "question": _TEXT,
        "reason": _TEXT,
    }
)
_CALL: _Fields = MappingProxyType(
    {
        "place": _NONE,
        "name": OptionalField(str, "unreadable"),
        "arguments": _EMPTY,
        # The most careful class: the call is not repeated.
        "effect": OptionalField(str, EffectClass.EFFECT.value, frozenset(EffectClass)),
        "generation": _NONE,
        "runs": OptionalField(int, 1),
        "planned_at": _NONE,
        "started_at": _TIME,
        "result": _TIME,
    }
)
_QUESTION: _Fields = MappingProxyType(
    {
        # An incarnation that no session has: no person can answer the question, and it expires.
        "incarnation": OptionalField(int, -1),
        "call": _TEXT,
        "kind": OptionalField(str, QuestionKind.CLARIFY.value, frozenset(QuestionKind)),
        "call_hash": _TEXT,
        "asked_of": _EMPTY,
        "text": OptionalField(str, UNREADABLE),
        "options": _LIST,
        "asked_at": _NONE,
        "expires_at": _NONE,
        "answer": _TEXT,
        "answered_by": _TIME,
        "shown_closed": _NONE,
        "asked_by": _TEXT,
        "of_owner": OptionalField(int, 1),
        "offers": _TEXT,
    }
)
_PART: _Fields = MappingProxyType(
    {
        "number": _TIME,
        "session": _TEXT,
        "turn": _TEXT,
        "kind": OptionalField(str, OwedKind.NOTICE.value, frozenset(OwedKind)),
        "dedupe": _TEXT,
        "part": OptionalField(int, 1),
        "parts": OptionalField(int, 1),
        "body": OptionalField(str, UNREADABLE),
        "reply_to": _TEXT,
        "options": _LIST,
        "attempts": _NONE,
        # The part may have been sent before: the mark tells the person that they may see it twice.
        "repeated": OptionalField(int, 1),
        "not_before": _NONE,
        "owner": _TEXT,
        "created_at": _TIME,
        "claimed_at": _TIME,
        "platform_id": _TEXT,
        "reason": _TEXT,
        "tried": _TEXT,
        "files": _LIST,
        "repeats": _NONE,
        "failing_since": _TIME,
        "overtaken_at": _TIME,
        "aside_at": _TIME,
    }
)
_INSTANCE: _Fields = MappingProxyType(
    {
        "host": _EMPTY,
        "pid": _NONE,
        "boot": _EMPTY,
        "version": _EMPTY,
        "started_at": _TIME,
        "heartbeat_at": _TIME,
        "stopped": _TEXT,
        "stopped_at": _TIME,
        "led_to_park": _NONE,
    }
)
_REQUEST: _Fields = MappingProxyType(
    {
        "what": _EMPTY,
        "dedupe": _TEXT,
        "asked_by": _TEXT,
        "after_turn": _TEXT,
        "asked_at": _NONE,
        "outcome": _TEXT,
        "instance": _TEXT,
    }
)

OPTIONAL: Mapping[str, Table] = MappingProxyType(
    {
        "turns": Table(_TURN, "fields_of_turns", "mend_turns", TURN),
        "sessions": Table(_SESSION, "fields_of_sessions", "mend_sessions"),
        "chats": Table(_CHAT, "fields_of_chats", "mend_chats"),
        "conversations": Table(_CONVERSATION, "fields_of_conversations", "mend_conversations"),
        "inbox": Table(_INBOX, "fields_of_inbox", "mend_inbox", INBOX),
        "tool_calls": Table(_CALL, "fields_of_tool_calls", "mend_tool_calls", CALL),
        "questions": Table(_QUESTION, "fields_of_questions", "mend_questions", QUESTION, frozenset({"kind"})),
        "outbox": Table(
            _PART, "fields_of_outbox", "mend_outbox", DELIVERY, frozenset({"dedupe", "part", "parts"})
        ),
        "instances": Table(_INSTANCE, "fields_of_instances", "mend_instances"),
        "requests": Table(_REQUEST, "fields_of_requests", "mend_requests"),
    }
)
