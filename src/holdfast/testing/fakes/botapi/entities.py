"""Formatted text: characters and their looks, measured as Telegram does in UTF-16 units."""

from __future__ import annotations

import re
from collections.abc import Iterable

from holdfast.records import dataclass

from .errors import ApiError, bad_request

Json = dict[str, object]

LONGEST_TEXT = 4096
LONGEST_CAPTION = 1024

SIMPLE = ("bold", "italic", "underline", "strikethrough", "spoiler", "code")
"""Kinds that need only a position."""
_ALONE = frozenset({"code", "pre"})
"""No other formatting is allowed inside of these."""
_KNOWN = frozenset(
    (
        *SIMPLE,
        *("pre", "text_link", "text_mention", "custom_emoji", "blockquote", "expandable_blockquote"),
        *("mention", "hashtag", "cashtag", "bot_command", "url", "email", "phone_number", "date_time"),
    )
)
_CONTROL = dict.fromkeys((*range(10), *range(11, 32)), " ")


@dataclass(frozen=True, slots=True)
class Entity:
    """A part of the text has this look."""

    kind: str
    offset: int
    length: int
    more: tuple[tuple[str, str], ...] = ()

    @property
    def end(self) -> int:
        return self.offset + self.length

    def payload(self) -> Json:
        return {"type": self.kind, "offset": self.offset, "length": self.length, **dict(self.more)}


@dataclass(frozen=True, slots=True)
class Formatted:
    """A text with its looks."""

    text: str
    entities: tuple[Entity, ...] = ()

    def under(self, entity: Entity) -> str:
        """The part of the text with this look."""
        return cut16(self.text, entity.offset, entity.end)


NOTHING = Formatted("")


def length16(text: str) -> int:
    """The length of a text as Telegram counts it."""
    return len(text) + sum(char > "\uffff" for char in text)


def cut16(text: str, start: int, end: int) -> str:
    """The part between two positions counted in UTF-16 units."""
    units = text.encode("utf-16-le", "surrogatepass")
    return units[2 * start : 2 * end].decode("utf-16-le", "replace")


def unreadable(words: str) -> ApiError:
    """The answer to every fault of formatting."""
    return bad_request(f"can't parse entities: {words}")


def cleaned(text: str) -> str:
    """The text without invisible characters: they become spaces."""
    return text.replace("\r", "").translate(_CONTROL)


def in_place(offset: int, source: str) -> str:
    """The position, as errors state it."""
    return f"at byte offset {len(source[:offset].encode('utf-8', 'surrogatepass'))}"


def given(text: str, entities: object) -> Formatted:
    """A text whose looks come as a list."""
    if not isinstance(entities, list):
        raise bad_request("can't parse entities JSON object")
    return Formatted(cleaned(text), tuple(_entity(each, length16(text)) for each in entities))


def _entity(given: object, longest: int) -> Entity:
    if not isinstance(given, dict):
        raise bad_request("can't parse MessageEntity: expected an Object")
    kind, offset, length = given.get("type"), given.get("offset"), given.get("length")
    if not isinstance(kind, str) or kind not in _KNOWN:
        raise bad_request("can't parse MessageEntity: unsupported type specified")
    if not isinstance(offset, int) or not isinstance(length, int):
        raise bad_request('can\'t parse MessageEntity: field "offset" must be of type Number')
    if offset < 0 or length < 0:
        raise unreadable("receive an entity with negative length")
    if offset + length > longest:
        raise unreadable("entity begins after the end of the text")
    more = tuple((key, given[key]) for key in ("url", "language", "custom_emoji_id") if key in given)
    return Entity(kind, offset, length, more)


def settled(formatted: Formatted) -> Formatted:
    """The text as it is kept: without space around it, its entities in order and none of them empty."""
    begins = length16(formatted.text) - length16(formatted.text.lstrip())
    text = formatted.text.strip()
    ends = length16(text)
    moved = (_clipped(entity, begins, ends) for entity in formatted.entities)
    ordered = sorted(
        (entity for entity in moved if entity.length > 0), key=lambda one: (one.offset, -one.length)
    )
    return Formatted(text, tuple(_not_inside_code(ordered)))


def _clipped(entity: Entity, begins: int, ends: int) -> Entity:
    start = min(max(entity.offset - begins, 0), ends)
    end = min(max(entity.end - begins, 0), ends)
    return Entity(entity.kind, start, end - start, entity.more)


def _not_inside_code(ordered: Iterable[Entity]) -> Iterable[Entity]:
    """Code removes every other entity inside or around it, except quotes."""
    all_of_them = list(ordered)
    code = [entity for entity in all_of_them if entity.kind in _ALONE]
    for entity in all_of_them:
        crossed = any(
            one is not entity and one.offset < entity.end and entity.offset < one.end for one in code
        )
        if entity in code or not crossed or entity.kind.endswith("blockquote"):
            yield entity


_COMMAND = re.compile(r"(?<![\w/])/[A-Za-z][A-Za-z0-9_]*(?:@\w+)?")


def commands_in(text: str) -> tuple[Entity, ...]:
    """The commands that a client marks by itself in what a person writes."""
    return tuple(
        Entity("bot_command", length16(text[: found.start()]), length16(found[0]))
        for found in _COMMAND.finditer(text)
    )
