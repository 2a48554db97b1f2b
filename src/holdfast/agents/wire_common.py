"""Shared by both protocols: notes, arguments, names, files and a reply's private data. Pure."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from holdfast.model import Attachment
from holdfast.policy.turn.views import Message, Role
from holdfast.records import dataclass

Json = dict[str, Any]

PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
LARGEST_PICTURE = 5_000_000
MOST_PICTURES = 20
"""A model sees the newest pictures, at most this many; older ones are only named."""
NO_OUTPUT = "(no output)"
NOTE = "[A note from the gateway, not from the person]"
END_OF_NOTE = "[End of the note]"
_MARKS = re.compile("|".join(map(re.escape, (NOTE, END_OF_NOTE))), re.IGNORECASE)
_DEEPEST = 64
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")


@dataclass(frozen=True, slots=True)
class ProviderTurn:
    """Messages that go to a provider as one: it requires that user and assistant alternate."""

    role: Role
    """`user` for people and notes together; the message's own role otherwise."""
    messages: tuple[Message, ...]


def in_turns(messages: Iterable[Message], together: frozenset[Role]) -> Iterator[ProviderTurn]:
    """The messages in order; neighbours with these roles form one turn."""
    waiting: list[Message] = []
    for message in messages:
        if message.role in together:
            waiting.append(message)
            continue
        if waiting:
            yield ProviderTurn(Role.USER, tuple(waiting))
            waiting = []
        yield ProviderTurn(message.role, (message,))
    if waiting:
        yield ProviderTurn(Role.USER, tuple(waiting))


def note_text(text: str) -> str:
    """A note of the gateway as marked text: no provider has a role for it that all its models accept.

    A note may quote the output of a process: no text in it can end the note early or begin another one.
    """
    return f"{NOTE}\n{_MARKS.sub(_harmless, text)}\n{END_OF_NOTE}"


def _harmless(mark: re.Match[str]) -> str:
    return f"({mark[0][1:-1]})"


def arguments_object(text: str) -> Json:
    """The arguments of a call as an object, which providers require; malformed ones as text inside one."""
    try:
        found = json.loads(text or "{}")
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) and _is_flat(found) else {"malformed_arguments": text}


def _is_flat(value: Any) -> bool:
    """Whether it is nested no deeper than every JSON writer supports."""
    layer = [value]
    for _ in range(_DEEPEST):
        layer = [one for each in layer for one in _inside(each)]
        if not layer:
            return True
    return False


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def whole_text(text: str) -> str:
    """The text as valid Unicode: two surrogates become one character, a single one is replaced.

    Names of files and pieces of streams can have surrogates; no provider accepts them.
    """
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def sendable(value: Any) -> Any:
    """The same request, with all text in it valid Unicode."""
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, dict):
        return {whole_text(name): sendable(one) for name, one in value.items()}
    return [sendable(one) for one in value] if isinstance(value, (list, tuple)) else value


def call_name(name: str) -> str:
    """A tool's name as providers accept it; a model may have invented a name that they refuse."""
    return name if _NAME.fullmatch(name) else _NOT_IN_NAMES.sub("_", name)[:64] or "_"


def pictures_in(messages: Sequence[Message]) -> tuple[Attachment, ...]:
    """The pictures that a model sees, oldest first, each once."""
    found = {
        file.digest: file
        for message in messages
        for file in message.attachments
        if file.media_type in PICTURES and file.size <= LARGEST_PICTURE
    }
    return tuple(found.values())[-MOST_PICTURES:]


def files_in(message: Message, pictures: Collection[str]) -> Iterator[tuple[Attachment, str]]:
    """Each file of a message with a line for the model; the line may be empty for a picture that it sees."""
    for number, file in enumerate(message.attachments):
        told = message.files[number] if number < len(message.files) else ""
        named = f"[A file came with this: {file.name}, {file.media_type}, {file.size} bytes]"
        yield file, told or ("" if file.digest in pictures else named)


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def pack(maker: str, kept: Json) -> str | None:
    """A reply's private data for its maker, for `Replied.opaque`; None if there is none."""
    return json.dumps({"by": maker, **kept}) if kept else None


def unpack(maker: str, opaque: str | None) -> Mapping[str, Any]:
    """The private data for its maker; empty for another model, or if it cannot be read."""
    if opaque is None:
        return {}
    try:
        found = json.loads(opaque)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) and found.get("by") == maker else {}
