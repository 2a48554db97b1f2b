"""What both protocols share: notes, arguments, names, files, and what only its maker may see. Pure."""

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
"""The newest so many are shown; older ones are named."""
NO_OUTPUT = "(no output)"
NOTE = "[A note from the gateway, not from the person]"
END_OF_NOTE = "[End of the note]"
_MARKS = re.compile("|".join(map(re.escape, (NOTE, END_OF_NOTE))), re.IGNORECASE)
_DEEPEST = 64
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")


@dataclass(frozen=True, slots=True)
class ProviderTurn:
    """Messages that go to a provider as one: it wants its own and the others' to take turns."""

    role: Role
    """`user` for people and notes together, else as it is."""
    messages: tuple[Message, ...]


def in_turns(messages: Iterable[Message], together: frozenset[Role]) -> Iterator[ProviderTurn]:
    """The messages, neighbours of those roles together."""
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
    """A word of the gateway. No provider has a role for it that all models accept in every place.

    A note may quote what a process put out: nothing in it ends the note early or begins another.
    """
    return f"{NOTE}\n{_MARKS.sub(_harmless, text)}\n{END_OF_NOTE}"


def _harmless(mark: re.Match[str]) -> str:
    return f"({mark[0][1:-1]})"


def arguments_object(text: str) -> Json:
    """The arguments of a call as an object, which providers insist on; what is none is shown as text."""
    try:
        found = json.loads(text or "{}")
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) and _is_flat(found) else {"malformed_arguments": text}


def _is_flat(value: Any) -> bool:
    """Whether nothing in it lies deeper than everybody who writes JSON can go."""
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
    """The text as it can be sent: halves of characters are put together, one alone is replaced.

    Names of files and pieces of streams have them; no provider takes them.
    """
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def sendable(value: Any) -> Any:
    """The same request with nothing but whole text in it."""
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, dict):
        return {whole_text(name): sendable(one) for name, one in value.items()}
    return [sendable(one) for one in value] if isinstance(value, (list, tuple)) else value


def call_name(name: str) -> str:
    """A tool's name as providers accept it; a model may have made up any other."""
    return name if _NAME.fullmatch(name) else _NOT_IN_NAMES.sub("_", name)[:64] or "_"


def pictures_in(messages: Sequence[Message]) -> tuple[Attachment, ...]:
    """Those pictures that a model is shown, oldest first, each once."""
    found = {
        file.digest: file
        for message in messages
        for file in message.attachments
        if file.media_type in PICTURES and file.size <= LARGEST_PICTURE
    }
    return tuple(found.values())[-MOST_PICTURES:]


def files_in(message: Message, pictures: Collection[str]) -> Iterator[tuple[Attachment, str]]:
    """Each file of a message with what a model is told of it, which may be nothing for a picture it sees."""
    for number, file in enumerate(message.attachments):
        told = message.files[number] if number < len(message.files) else ""
        named = f"[A file came with this: {file.name}, {file.media_type}, {file.size} bytes]"
        yield file, told or ("" if file.digest in pictures else named)


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def pack(maker: str, kept: Json) -> str | None:
    """What a reply left for its maker, for `Replied.opaque`; None when it left nothing."""
    return json.dumps({"by": maker, **kept}) if kept else None


def unpack(maker: str, opaque: str | None) -> Mapping[str, Any]:
    """The same, when asked by its maker; nothing for anybody else, or when it cannot be read."""
    if opaque is None:
        return {}
    try:
        found = json.loads(opaque)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) and found.get("by") == maker else {}
