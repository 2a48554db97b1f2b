"""Bodies as JSON and back. Content is the only thing kept as JSON; what a rule looks at is a column."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from holdfast.model import (
    Attachment,
    Body,
    CallId,
    CallState,
    Finish,
    Noted,
    NoteKind,
    PersonId,
    Replied,
    Returned,
    Said,
    Summed,
    ToolCall,
    Undone,
)

ERASED = "(erased)"
"""Stands for content that was forgotten on request, or cannot be read; the skeleton stays."""

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def dump_list(items: tuple[str, ...]) -> str:
    return _encode(items) if items else "[]"


def load_list(text: str) -> tuple[str, ...]:
    return () if text == "[]" else tuple(json.loads(text))


def dump_message(text: str, attachments: tuple[Attachment, ...]) -> str:
    """What a person sent, as kept in the inbox."""
    return _encode({"text": text, **_files(attachments)})


def load_message(body: str | None) -> tuple[str, tuple[Attachment, ...]]:
    data = _parse(body)
    return data.get("text", ERASED), _attachments(data)


def dump_body(body: Body) -> tuple[str, str | None, int | None, str]:
    """An entry's body as kind, call, count and JSON."""
    match body:
        case Said():
            data = {"text": body.text, "sender": body.sender, **_files(body.attachments)}
            return "said", None, None, _encode(data)
        case Replied():
            return "replied", None, None, _encode(_reply(body))
        case Returned():
            return "returned", body.call, None, _encode({"state": body.state, "text": body.text})
        case Noted():
            return "noted", None, body.count, _encode({"note": body.note, "text": body.text})
        case Undone():
            return "undone", None, None, _encode({"first": body.first, "last": body.last})
        case Summed():
            return "summed", None, None, _encode(_summary(body))


def load_body(kind: str, call: str | None, count: int | None, body: str | None) -> Body:
    """Read an entry's body back; erased content reads as `ERASED` with the skeleton intact."""
    return _LOADERS[kind](call, count, _parse(body))


def _parse(body: str | None) -> dict[str, Any]:
    """Content that is gone or damaged is as good as erased; `verify` tells the one from the other."""
    with suppress(ValueError):
        data = json.loads(body) if body is not None else None
        if isinstance(data, dict):
            return data
    return {}


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
    if not attachments:
        return {}
    return {"files": [(file.digest, file.name, file.media_type, file.size) for file in attachments]}


def _attachments(data: dict[str, Any]) -> tuple[Attachment, ...]:
    return tuple(Attachment(*file) for file in data.get("files", ()))


def _load_said(_call: str | None, _count: int | None, data: dict[str, Any]) -> Body:
    return Said(data.get("text", ERASED), PersonId(data.get("sender", "")), _attachments(data))


def _load_replied(_call: str | None, _count: int | None, data: dict[str, Any]) -> Body:
    calls = tuple(ToolCall(CallId(id_), name, arguments) for id_, name, arguments in data.get("calls", ()))
    finish = Finish(data.get("finish", Finish.COMPLETE))
    return Replied(data.get("text", ERASED), finish, calls, data.get("opaque"))


def _load_returned(call: str | None, _count: int | None, data: dict[str, Any]) -> Body:
    state = CallState(data.get("state", CallState.DONE))
    return Returned(CallId(call or ""), state, data.get("text", ERASED))


def _load_noted(_call: str | None, count: int | None, data: dict[str, Any]) -> Body:
    return Noted(NoteKind(data.get("note", NoteKind.GENERAL)), count or 0, data.get("text", ERASED))


def _load_undone(_call: str | None, _count: int | None, data: dict[str, Any]) -> Body:
    return Undone(data.get("first", 0), data.get("last", 0))


def _load_summed(_call: str | None, _count: int | None, data: dict[str, Any]) -> Body:
    return Summed(
        data.get("first", 0), data.get("last", 0), data.get("text", ERASED), data.get("stands_for_at", 0)
    )


_LOADERS = {
    "said": _load_said,
    "replied": _load_replied,
    "returned": _load_returned,
    "noted": _load_noted,
    "undone": _load_undone,
    "summed": _load_summed,
}
