"""`parse_mode: HTML`, with the tags and the faults that the documentation names."""

from __future__ import annotations

import re
from dataclasses import field

from holdfast.records import dataclass

from .entities import Entity, Formatted, cleaned, in_place, length16, unreadable

_KINDS = {
    **dict.fromkeys(("b", "strong"), "bold"),
    **dict.fromkeys(("i", "em"), "italic"),
    **dict.fromkeys(("u", "ins"), "underline"),
    **dict.fromkeys(("s", "strike", "del"), "strikethrough"),
    **dict.fromkeys(("span", "tg-spoiler"), "spoiler"),
    "a": "text_link",
    "tg-emoji": "custom_emoji",
    "tg-time": "date_time",
    "code": "code",
    "pre": "pre",
    "blockquote": "blockquote",
}
_NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"'}
_REFERENCE = re.compile(r"&(?:#x([0-9a-fA-F]+)|#([0-9]+)|([a-zA-Z]+));?")
_TAG_NAME = re.compile(r"[^\s>]*")
_SPACE = re.compile(r"\s*")
_ATTRIBUTE_NAME = re.compile(r"[^\s=>]*")
_TOKEN = re.compile(r"[A-Za-z0-9.-]+")
_PLAIN = re.compile(r"[^<&]+")
_LANGUAGE = "language-"


@dataclass(slots=True)
class _Open:
    """An open tag."""

    tag: str
    at: int
    """Where it begins in the text that people see."""
    attributes: dict[str, str] = field(default_factory=dict)


def parse_html(source: str) -> Formatted:
    """The text and its looks; raises the Bot API's answer if the markup is wrong."""
    return _Reader(source).read()


class _Reader:
    def __init__(self, source: str) -> None:
        self._source = source
        self._at = 0
        self._text: list[str] = []
        self._length = 0
        self._open: list[_Open] = []
        self._found: list[Entity] = []

    def read(self) -> Formatted:
        while self._at < len(self._source):
            if self._source[self._at] == "<":
                self._tag()
            else:
                plain = _PLAIN.match(self._source, self._at)
                self._add(self._take(_PLAIN) if plain else self._character())
        if self._open:
            tag = self._open[-1].tag
            raise unreadable(f'Can\'t find end tag corresponding to start tag "{tag}"')
        return Formatted("".join(self._text), tuple(self._found))

    def _add(self, text: str) -> None:
        seen = cleaned(text)
        self._text.append(seen)
        self._length += length16(seen)

    def _take(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._source, self._at)
        assert found is not None
        self._at = found.end()
        return found[0]

    def _next(self) -> str:
        return self._source[self._at : self._at + 1]

    def _character(self) -> str:
        """The character of a reference; any other text stays as it is."""
        found = _REFERENCE.match(self._source, self._at)
        meant = _meant(found) if found else None
        if found is None or meant is None:
            self._at += 1
            return "&"
        self._at = found.end()
        return meant

    def _tag(self) -> None:
        begins = self._at
        self._at += 1
        if self._next() == "/":
            self._end_tag(begins)
            return
        tag = self._take(_TAG_NAME).lower()
        if not self._next():
            raise self._unclosed(begins)
        if tag not in _KINDS:
            raise unreadable(f'Unsupported start tag "{tag}" {in_place(begins, self._source)}')
        opened = _Open(tag, self._length, self._attributes(tag, begins))
        if tag == "span" and opened.attributes.get("class") != "tg-spoiler":
            where = in_place(begins, self._source)
            raise unreadable(f'Tag "span" must have class "tg-spoiler" {where}')
        self._open.append(opened)

    def _attributes(self, tag: str, begins: int) -> dict[str, str]:
        attributes: dict[str, str] = {}
        while True:
            self._take(_SPACE)
            if self._next() == ">":
                self._at += 1
                return attributes
            name = self._take(_ATTRIBUTE_NAME).lower()
            if not name:
                where = in_place(begins, self._source)
                raise (
                    self._unclosed(begins)
                    if not self._next()
                    else unreadable(f'Empty attribute name in the tag "{tag}" {where}')
                )
            self._take(_SPACE)
            attributes[name] = self._value(tag, name, begins)

    def _value(self, tag: str, name: str, begins: int) -> str:
        if self._next() != "=":
            if (tag, name) == ("blockquote", "expandable") and self._next():
                return ""
            where = in_place(begins, self._source)
            raise (
                self._unclosed(begins)
                if not self._next()
                else unreadable(
                    f'Expected equal sign in declaration of an attribute of the tag "{tag}" {where}'
                )
            )
        self._at += 1
        self._take(_SPACE)
        quote = self._next()
        return self._quoted(quote, begins) if quote in ("'", '"') else self._bare(begins)

    def _bare(self, begins: int) -> str:
        found = _TOKEN.match(self._source, self._at)
        self._at = found.end() if found else self._at
        if not self._next():
            raise self._unclosed(begins)
        if found is None or not (self._next().isspace() or self._next() == ">"):
            raise unreadable(f"Unexpected end of name token {in_place(begins, self._source)}")
        return found[0].lower()

    def _quoted(self, quote: str, begins: int) -> str:
        self._at += 1
        value: list[str] = []
        while self._next() != quote:
            if not self._next():
                raise self._unclosed(begins)
            if self._next() == "&":
                value.append(self._character())
            else:
                value.append(self._next())
                self._at += 1
        self._at += 1
        return "".join(value)

    def _end_tag(self, begins: int) -> None:
        where = in_place(begins, self._source)
        if not self._open:
            raise unreadable(f"Unexpected end tag {where}")
        self._at += 1
        tag = self._take(_TAG_NAME).lower()
        opened = self._open.pop()
        if tag not in ("", opened.tag):
            raise unreadable(f'Unmatched end tag {where}, expected "</{opened.tag}>", found "</{tag}>"')
        self._take(_SPACE)
        if self._next() != ">":
            raise unreadable(f"Unclosed end tag {where}")
        self._at += 1
        self._close(opened)

    def _close(self, opened: _Open) -> None:
        kind, length, more = _KINDS[opened.tag], self._length - opened.at, _more(opened, self._under(opened))
        if kind in ("text_link", "custom_emoji") and not more:
            return
        if opened.tag == "pre" and self._found:
            inner = self._found[-1]
            if (inner.kind, inner.offset, inner.length) == ("code", opened.at, length):
                self._found.pop()
                more = inner.more
        if kind == "blockquote" and "expandable" in opened.attributes:
            kind = "expandable_blockquote"
        in_pre = any(outer.tag == "pre" and outer.at == opened.at for outer in self._open)
        self._found.append(Entity(kind, opened.at, length, more if kind != "code" or in_pre else ()))

    def _under(self, opened: _Open) -> str:
        return "".join(self._text).encode("utf-16-le")[2 * opened.at :].decode("utf-16-le", "replace")

    def _unclosed(self, begins: int) -> Exception:
        return unreadable(f"Unclosed start tag {in_place(begins, self._source)}")


def _meant(found: re.Match[str]) -> str | None:
    hexadecimal, decimal, name = found.groups()
    if name:
        return _NAMED.get(name)
    if len(found[0]) > 10:
        return None
    code = int(hexadecimal, 16) if hexadecimal else int(decimal)
    return chr(code) if 0 < code < 0x10FFFF and not 0xD800 <= code < 0xE000 else None


def _more(opened: _Open, under: str) -> tuple[tuple[str, str], ...]:
    attributes = opened.attributes
    if opened.tag == "a":
        url = attributes.get("href") or under
        return (("url", url),) if url and not re.search(r"\s", url) else ()
    if opened.tag == "tg-emoji":
        return (("custom_emoji_id", attributes["emoji-id"]),) if attributes.get("emoji-id") else ()
    language = attributes.get("class", "")
    if opened.tag == "code" and language.startswith(_LANGUAGE):
        return (("language", language.removeprefix(_LANGUAGE)),)
    return ()
