"""`parse_mode: MarkdownV2`, with its reserved characters and the faults the documentation names."""

from __future__ import annotations

import re

from holdfast.records import dataclass

from .entities import Entity, Formatted, cleaned, in_place, length16, unreadable

_RESERVED = frozenset("_*[]()~`>#+-=|{}.!")
_MARKS = {
    "*": "bold",
    "_": "italic",
    "__": "underline",
    "~": "strikethrough",
    "||": "spoiler",
    "`": "code",
    "```": "pre",
    "[": "text_link",
    "![": "custom_emoji",
}
_ENDS = {"[": "]", "![": "]"}
_LANGUAGE = re.compile(r"[^\s`]+(?=\n)")
_NAMES = {
    "text_link": "TextUrl",
    "pre": "PreCode",
    "custom_emoji": "CustomEmoji",
}
_EMOJI = re.compile(r"tg://emoji\?id=([0-9]+)")


@dataclass(slots=True)
class _Open:
    mark: str
    at: int
    byte: int
    language: str = ""

    @property
    def kind(self) -> str:
        return _MARKS[self.mark]

    @property
    def is_code(self) -> bool:
        return self.kind in ("code", "pre")


def parse_markdown(source: str) -> Formatted:
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
        self._quote: int | None = None
        self._expandable = False

    def read(self) -> Formatted:
        while self._at < len(self._source):
            self._step(self._source[self._at])
        if self._open:
            left = self._open[-1]
            name = _NAMES.get(left.kind, left.kind.title())
            raise unreadable(f"Can't find end of {name} entity at byte offset {left.byte}")
        self._end_quote()
        return Formatted("".join(self._text), tuple(self._found))

    def _step(self, char: str) -> None:
        following = self._source[self._at + 1 : self._at + 2]
        if char == "\\" and following and ord(following) <= 126:
            self._add(following, 2)
        elif self._in_code():
            self._in_code_step(char)
        elif char == "\n":
            self._add(char, 1)
            if self._quote is not None and not self._source.startswith(">", self._at):
                self._end_quote()
        elif char == ">" and self._begins_line():
            self._at += 1
            self._quote = self._length if self._quote is None else self._quote
        elif char in _RESERVED:
            self._mark(char)
        else:
            self._add(char, 1)

    def _in_code(self) -> bool:
        return bool(self._open) and self._open[-1].is_code

    def _in_code_step(self, char: str) -> None:
        mark = self._open[-1].mark
        if self._source.startswith(mark, self._at):
            self._at += len(mark)
            self._close()
        else:
            self._add(char, 1)

    def _begins_line(self) -> bool:
        return self._at == 0 or self._source[self._at - 1] == "\n"

    def _add(self, text: str, taken: int) -> None:
        seen = cleaned(text)
        self._text.append(seen)
        self._length += length16(seen)
        self._at += taken

    def _mark(self, char: str) -> None:
        if self._open and self._closes():
            return
        for mark in ("```", "__", "||", "![", "`", "_", "*", "~", "["):
            if self._source.startswith(mark, self._at):
                self._begin(mark)
                return
        raise unreadable(f"Character '{char}' is reserved and must be escaped with the preceding '\\'")

    def _closes(self) -> bool:
        mark = self._open[-1].mark
        end = _ENDS.get(mark, mark)
        if mark == "_" and self._source.startswith("__", self._at):
            return False
        if self._quote is not None and self._source.startswith("||", self._at) and mark != "||":
            return self._ends_quote()
        if not self._source.startswith(end, self._at):
            return False
        self._at += len(end)
        if end == "]":
            self._close_link()
        else:
            self._close()
        return True

    def _ends_quote(self) -> bool:
        after = self._source[self._at + 2 : self._at + 3]
        if after not in ("", "\n"):
            return False
        self._at += 2
        self._expandable = True
        return True

    def _begin(self, mark: str) -> None:
        if mark == "||" and self._quote is not None and self._ends_quote():
            return
        where = int(in_place(self._at, self._source).rpartition(" ")[2])
        opened = _Open(mark, self._length, where)
        self._at += len(mark)
        if mark == "```":
            language = _LANGUAGE.match(self._source, self._at)
            if language:
                opened.language = language[0]
                self._at = language.end()
            if self._source.startswith("\n", self._at):
                self._at += 1
        self._open.append(opened)

    def _close(self) -> None:
        opened = self._open.pop()
        more = (("language", opened.language),) if opened.language else ()
        self._found.append(Entity(opened.kind, opened.at, self._length - opened.at, more))

    def _close_link(self) -> None:
        opened = self._open.pop()
        url = ""
        if self._source.startswith("(", self._at):
            begins = self._at
            url, self._at = self._address(begins)
        elif opened.kind == "custom_emoji":
            raise unreadable("Custom emoji entity must contain a tg://emoji URL")
        length = self._length - opened.at
        if opened.kind == "custom_emoji":
            emoji = _EMOJI.fullmatch(url)
            if emoji is None:
                raise unreadable("Custom emoji URL must have an emoji identifier")
            self._found.append(Entity(opened.kind, opened.at, length, (("custom_emoji_id", emoji[1]),)))
        elif url and not re.search(r"\s", url):
            self._found.append(Entity(opened.kind, opened.at, length, (("url", url),)))

    def _address(self, begins: int) -> tuple[str, int]:
        url, at = "", begins + 1
        while at < len(self._source) and self._source[at] != ")":
            if self._source[at] == "\\" and self._source[at + 1 : at + 2] in ("\\", ")"):
                at += 1
            url += self._source[at]
            at += 1
        if at >= len(self._source):
            raise unreadable(f"Can't find end of a URL {in_place(begins, self._source)}")
        return url, at + 1

    def _end_quote(self) -> None:
        if self._quote is None:
            return
        kind = "expandable_blockquote" if self._expandable else "blockquote"
        self._found.append(Entity(kind, self._quote, self._length - self._quote))
        self._quote, self._expandable = None, False
