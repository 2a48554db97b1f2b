"""Bodies as JSON and back. Only content is kept as JSON; every value that a rule reads is a column."""

from __future__ import annotations

import json
import json.encoder
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any, TypeVar

from holdfast.model import (
    UNREADABLE,
    Attachment,
    Body,
    CallId,
    CallState,
    Noted,
    NoteKind,
    PersonId,
    Replied,
    Returned,
    Said,
    StopReason,
    Summed,
    ToolCall,
    Undone,
)
from holdfast.policy.consent.allowed_calls import Coverage

W = TypeVar("W", bound=StrEnum)

ERASED = "(erased)"
"""Replaces content that was erased on request; the row itself stays."""

# `JSONEncoder.encode` makes a new C encoder each time, which costs as much as a small body itself.
_make = json.encoder.c_make_encoder  # type: ignore[attr-defined]  # left out of the stubs
_chunks: Callable[[Any, int], Iterable[str]] = _make(
    None, json.JSONEncoder().default, json.encoder.encode_basestring, None, ":", ",", False, False, False
)


def encode(data: Any) -> str:
    """The data as JSON, without spaces."""
    return "".join(_chunks(data, 0))


def dump_list(items: tuple[str, ...]) -> str:
    return encode(items) if items else "[]"


def dump_offer(offer: Coverage | None) -> str | None:
    """The rule that a card offers, as JSON."""
    return None if offer is None else encode({"agent": offer.agent, "prefix": offer.prefix})


def load_list(text: str) -> tuple[str, ...]:
    """A list of words; damage reads as an empty list."""
    found = [] if text == "[]" else _parsed(text)
    return tuple(str(one) for one in found) if isinstance(found, list) else ()


def dump_files(files: tuple[Attachment, ...]) -> str:
    return encode(_rows(files)) if files else "[]"


def load_files(text: str) -> tuple[Attachment, ...]:
    """The files that are sent with a part; damage reads as no files."""
    return () if text == "[]" else _attachments({"files": _parsed(text)})


# The gateway's own JSON has no space around it: `json.loads` looks for some, at twice the cost.
_read = json.JSONDecoder().raw_decode


def _parsed(text: str | None) -> Any:
    # Damage below the schema may change the type of a value; a value that is no text is damaged.
    if not isinstance(text, str):
        return None
    try:
        found, end = _read(text)
    except ValueError:
        return None
    return found if end == len(text) else None


def dump_message(text: str, attachments: tuple[Attachment, ...]) -> str:
    """The content of a message, as the inbox keeps it."""
    return encode({"text": text, **_files(attachments)})


def load_message(body: str | None) -> tuple[str, tuple[Attachment, ...]]:
    data = _parse(body)
    return _text(data), _attachments(data)


def dump_body(body: Body) -> tuple[str, str | None, int | None, str]:
    """An entry's body as kind, call, count and JSON."""
    match body:
        case Returned():
            data = {"state": body.state, "text": body.text, **_files(body.files)}
            return "returned", body.call, None, encode(data)
        case Replied():
            return "replied", None, None, encode(_reply(body))
        case Said():
            data = {"text": body.text, "sender": body.sender, **_files(body.attachments)}
            data |= {"woken": True} if body.woken else {}
            return "said", None, None, encode(data)
        case Noted():
            return "noted", None, body.count, encode({"note": body.note, "text": body.text})
        case Undone():
            return "undone", None, None, encode({"first": body.first, "last": body.last})
        case Summed():
            return "summed", None, None, encode(_summary(body))


def load_body(kind: str, call: str | None, count: int | None, body: str | None) -> Body:
    """Read an entry's body back: erased content as `ERASED`, damaged content as `UNREADABLE`."""
    return _LOADERS.get(kind, _load_unknown)(call, count, _parse(body))


def _parse(body: str | None) -> dict[str, Any]:
    if body is None:
        return {"text": ERASED}
    found = _parsed(body)
    return found if isinstance(found, dict) else {}


def is_damaged(kind: str, body: str | None) -> bool:
    """Whether the content of an entry cannot be read or its kind is unknown."""
    if kind not in _LOADERS:
        return True
    if body is None:
        return False
    found = _parsed(body)
    return not isinstance(found, dict) or (kind != "undone" and not isinstance(found.get("text"), str))


def _reply(body: Replied) -> dict[str, Any]:
    data: dict[str, Any] = {"text": body.text, "finish": body.finish}
    if body.calls:
        data["calls"] = [(call.id, call.name, call.arguments) for call in body.calls]
    if body.opaque is not None:
        data["opaque"] = body.opaque
    return data


def _summary(body: Summed) -> dict[str, Any]:
    return {"first": body.first, "last": body.last, "text": body.text, "stands_for_at": body.stands_for_at}


def _files(attachments: tuple[Attachment, ...]) -> dict[str, Any]:
    return {"files": _rows(attachments)} if attachments else {}


def _rows(attachments: tuple[Attachment, ...]) -> list[tuple[str, str, str, int]]:
    return [(file.digest, file.name, file.media_type, file.size) for file in attachments]


def _attachments(data: dict[str, Any]) -> tuple[Attachment, ...]:
    return tuple(Attachment(*file) for file in _tuples(data, "files", 4))


def _tuples(data: dict[str, Any], name: str, width: int) -> list[list[Any]]:
    """The rows of a list that have the right shape; damaged ones are left out."""
    found = data.get(name)
    rows = found if isinstance(found, list) else []
    return [row for row in rows if isinstance(row, list) and len(row) == width]


def _text(data: dict[str, Any]) -> str:
    found = data.get("text")
    return found if isinstance(found, str) else UNREADABLE


def _word(data: dict[str, Any], name: str, words: type[W], gone: W, damaged: W) -> W:
    """A word of a fixed set: `gone` if its content was erased, `damaged` if the set does not have it."""
    found = data.get(name)
    if found is None:
        return gone
    return words(found) if found in words._value2member_map_ else damaged


def _number(data: dict[str, Any], name: str) -> int:
    found = data.get(name)
    return found if isinstance(found, int) else 0


def _load_said(_call: str | None, _count: int | None, data: dict[str, Any]) -> Body:
    sender = PersonId(str(data.get("sender", "")))
    return Said(_text(data), sender, _attachments(data), data.get("woken") is True)


def _load_replied(_call: str | None, _count: int | None, data: dict[str, Any]) -> Body:
    calls = tuple(
        ToolCall(CallId(str(id_)), str(name), str(arguments))
        for id_, name, arguments in _tuples(data, "calls", 3)
    )
    finish = _word(data, "finish", StopReason, StopReason.COMPLETE, StopReason.CUT)
    return Replied(_text(data), finish, calls, data.get("opaque"))


def _load_returned(call: str | None, _count: int | None, data: dict[str, Any]) -> Body:
    state = _word(data, "state", CallState, CallState.DONE, CallState.UNKNOWN)
    return Returned(CallId(call or ""), state, _text(data), _attachments(data))


def _load_noted(_call: str | None, count: int | None, data: dict[str, Any]) -> Body:
    return Noted(_word(data, "note", NoteKind, NoteKind.GENERAL, NoteKind.GENERAL), count or 0, _text(data))


def _load_undone(_call: str | None, _count: int | None, data: dict[str, Any]) -> Body:
    return Undone(_number(data, "first"), _number(data, "last"))


def _load_summed(_call: str | None, _count: int | None, data: dict[str, Any]) -> Body:
    return Summed(_number(data, "first"), _number(data, "last"), _text(data), _number(data, "stands_for_at"))


def _load_unknown(_call: str | None, count: int | None, data: dict[str, Any]) -> Body:
    return Noted(NoteKind.GENERAL, count or 0, UNREADABLE)


_LOADERS = {
    "said": _load_said,
    "replied": _load_replied,
    "returned": _load_returned,
    "noted": _load_noted,
    "undone": _load_undone,
    "summed": _load_summed,
}
