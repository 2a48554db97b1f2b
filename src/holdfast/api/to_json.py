"""The ledger's values as JSON: for the local API, for `--json`, for the page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Set
from dataclasses import asdict, is_dataclass
from enum import Enum
from typing import Any

from holdfast.model import Delivery, Entry, OwedKind
from holdfast.store import KeptReport

Json = dict[str, Any]


def shown(value: Any) -> Any:
    """Any value of the model as JSON: records become objects, enums their values."""
    if is_dataclass(value) and not isinstance(value, type):
        return shown(asdict(value))
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return shown(value._asdict())
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(name): shown(one) for name, one in value.items()}
    if isinstance(value, Set):
        return sorted(shown(one) for one in value)
    if isinstance(value, (list, tuple)):
        return [shown(one) for one in value]
    return value


def entry(found: Entry) -> Json:
    """One entry of a transcript: its place, its kind, and its body."""
    return {
        "seq": found.seq,
        "turn": found.turn,
        "at": found.at,
        "kind": type(found.body).__name__.lower(),
        **shown(found.body),
    }


def delivery(found: Delivery) -> Json:
    """One part that a chat is owed. Its number is the reader's cursor."""
    return {
        "id": found.id,
        "chat": found.chat,
        "number": found.order,
        "kind": found.kind.value,
        "text": found.text,
        "files": shown(found.files),
        "part": found.part,
        "parts": found.parts,
        "options": list(found.options),
        "question": found.dedupe if found.kind is OwedKind.QUESTION else None,
        "reply_to": found.reply_to,
        "state": found.state.value,
        "reason": found.reason,
        "attempts": found.attempts,
        "repeated": found.repeated,
        "stepped_aside_at": found.aside_at,
        "session": found.session,
        "turn": found.turn,
        "at": found.created_at,
        "claimed_at": found.claimed_at,
    }


def report(found: KeptReport) -> Json:
    """A continuity report with the run that made it. The lines of an unreadable report say so."""
    try:
        said = dict(json.loads(found.report))
    except (ValueError, TypeError):
        said = {"lines": ["This report cannot be read."]}
    return {**said, "instance": found.instance, "at": found.at}
